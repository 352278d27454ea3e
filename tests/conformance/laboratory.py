"""An instance of two brokers of either engine, started as the start script starts them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_config import curve
from minicluster import flux_zips
from minicluster.instance.connection import connect
from minicluster.instance.errors import InstanceError
from minicluster.instance.links.embedded import EmbeddedLink
from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.links.process_channel import ProcessChannel
from minicluster.instance.rpc_instance import RpcInstance
from minicluster.lead_client.purpose_keys import JOBS
from tests.conformance.bindings import HandleEndpoint
from tests.conformance.lead_api import LeadApi
from tests.devcluster.waiting import until
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.broker_link.link import LeadLink
    from minicluster.instance.port import Instance

HOSTS = ("mc-0", "mc-1")
BY_LEAD = ("lead", "lead-handle")
DEADLINE = 60.0
SORTED_JSON = Path(__file__).with_name("sorted_json.py")
R: dict[str, Any] = {
    "version": 1,
    "execution": {
        "R_lite": [{"rank": "0-1", "children": {"core": "0-1", "gpu": "0"}}],
        "starttime": 0,
        "expiration": 0,
        "nodelist": ["mc-[0-1]"],
    },
}
TOML = """\
[access]
allow-guest-user = true
allow-root-owner = true
{access}
[bootstrap]
curve_cert = "{folder}/curve.cert"
hosts = [{{host="mc-0", bind="{lead}", connect="{lead}"}}, {{host="{others}"}}]
[resource]
noverify = true
path = "{folder}/R"
{extra}
"""


def eventually(fact: Callable[[], object], what: str, deadline: float = DEADLINE) -> None:
    """Wait until `fact()` is true."""
    until(fact, what, deadline)


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The output and exit code of a command line."""

    stdout: str
    stderr: str
    code: int


@dataclass
class Laboratory:
    """Two brokers, mc-0 and mc-1, with two cores and a GPU each; `flux` is the folder of its command.

    The port reaches them by the adapter of `reached`: "embedded", "relay", "flux" (its helper), "handle"; by
    "lead" and "lead-handle" through the lead's API in front of the embedded broker, or of such a handle.
    `access` is more of that table of the configuration, `extra` more of any; FOLDER in it is the instance's.
    `properties` are those of R. `absent` hosts are declared as well, and never come.
    """

    engine: str
    flux: Path
    folder: Path
    extra: str = ""
    access: str = ""
    reached: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    brokers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    lead_api: LeadApi | None = None
    purpose: str = JOBS
    """Of the keys for the lead's API."""

    @property
    def uri(self) -> str:
        return f"local://{self.folder}/0/local"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of brokers and commands: nothing of the caller's but what every program needs."""
        return {
            "PATH": f"{self.flux}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "FLUX_URI": self.uri,
            "JSON": f"{sys.executable} {SORTED_JSON}",
        }

    def start(self, *options: str) -> None:
        """Start both brokers and wait until the instance can run jobs on both."""
        self.folder.mkdir(parents=True, exist_ok=True)
        certificate = self.folder / "curve.cert"
        if not certificate.exists():
            certificate.write_text(curve.render("mc", curve.generate()))
            certificate.chmod(0o400)
        self._configure()
        for rank in range(len(HOSTS)):
            self.start_broker(rank, *options)
        with self.connect() as instance:
            eventually(lambda: instance.nodes.resources().up.nodes == len(HOSTS), "both brokers are up")

    def _configure(self) -> None:
        execution = {**R["execution"]}
        if self.properties:
            execution["properties"] = dict(self.properties)
        if self.absent:
            ranks = f"0-{len(HOSTS) + len(self.absent) - 1}"
            execution["R_lite"] = [{**R["execution"]["R_lite"][0], "rank": ranks}]
            execution["nodelist"] = [*R["execution"]["nodelist"], *self.absent]
        (self.folder / "R").write_text(json.dumps({**R, "execution": execution}))
        extra = self.extra.replace("FOLDER", str(self.folder))
        if flux_zips.BURST_FILE in extra:
            (self.folder / flux_zips.ZIP).write_bytes(flux_zips.pack())
            for name, text in flux_zips.burst_files().items():
                (self.folder / name).write_text(text)
        others = ",".join([HOSTS[1], *self.absent])
        toml = TOML.format(
            folder=self.folder,
            lead=f"tcp://127.0.0.1:{free_port()}",
            extra=extra,
            access=self.access,
            others=others,
        )
        (self.folder / "broker.toml").write_text(toml)

    def start_broker(self, rank: int, *options: str, config: str = "broker.toml", apart: str = "") -> None:
        """Start one broker, by this file, in a folder `apart` where its rank has one already."""
        own = self.folder / (apart or str(rank))
        own.mkdir(mode=0o700, exist_ok=True)
        command = [
            str(self.flux / "flux"), "broker", "-c", f"{self.folder}/{config}", f"-Srundir={own}",
            f"-Slocal-uri=local://{own}/local", f"-Shostname={HOSTS[rank]}", "-Slog-stderr-mode=local",
            "-Slog-stderr-level=4", "-Sbroker.rc2_none", *options,
        ]  # fmt: skip
        environment = {**self.environment}
        del environment["FLUX_URI"]
        with (own / "stderr").open("ab") as log:
            self.brokers[rank] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=self.folder
            )

    def connect(self) -> Instance:
        """Connect to the lead once it answers."""
        end = time.monotonic() + DEADLINE
        while True:
            self._check_alive()
            try:
                instance = self._connect()
            except InstanceError:
                assert time.monotonic() < end, f"no broker answers: {self.log(0)}"
                time.sleep(0.02)
                continue
            with contextlib.suppress(InstanceError):
                instance.nodes.resources()
                return instance
            instance.close()
            assert time.monotonic() < end, f"the lead does not serve: {self.log(0)}"
            time.sleep(0.02)

    def _connect(self) -> Instance:
        if self.reached in BY_LEAD:
            self.lead_api = self.lead_api or LeadApi(self._lead_link, self.uri, self.purpose)
            return self.lead_api.open()
        if self.reached == "handle":
            return RpcInstance(HandleEndpoint(self.uri))
        if self.reached == "relay":
            words = [f"{self.flux}/flux", "minicluster-relay", self.uri]
            return RpcInstance(LinesEndpoint(self.uri, ProcessChannel(words, "the relay")))
        return connect(self.uri, "flux" if self.engine == "flux" else "embedded")

    def _lead_link(self) -> LeadLink:
        return HandleEndpoint(self.uri).link() if self.engine == "flux" else EmbeddedLink(self.uri)

    def _check_alive(self) -> None:
        for rank, broker in self.brokers.items():
            assert broker.poll() is None, f"broker {rank} ended with {broker.returncode}: {self.log(rank)}"

    def log(self, rank: int) -> str:
        """What a broker wrote to its standard output and error."""
        return (self.folder / str(rank) / "stderr").read_text(errors="replace")

    def run_line(self, line: str, variables: Mapping[str, str] | None = None) -> CommandOutput:
        """Run one shell line against the lead."""
        ended = subprocess.run(
            ["sh", "-c", line],
            env={**self.environment, **(variables or {})},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return CommandOutput(_text(ended.stdout), _text(ended.stderr), ended.returncode)

    def kill_broker(self, rank: int) -> None:
        """End a broker as a crash does."""
        broker = self.brokers.pop(rank)
        broker.send_signal(signal.SIGKILL)
        broker.wait()

    def stop(self) -> None:
        """End the instance, by force where it must be."""
        if self.lead_api is not None:
            self.lead_api.close()
            self.lead_api = None
        for rank in sorted(self.brokers):
            self.brokers[rank].terminate()
        for broker in self.brokers.values():
            try:
                broker.wait(10)
            except subprocess.TimeoutExpired:
                broker.kill()
                broker.wait()
        self.brokers.clear()


def _text(data: bytes) -> str:
    return data.decode(errors="backslashreplace")


def own_environment(lab: Laboratory) -> dict[str, str]:
    """The environment for jobs: small, so that their jobspecs can be compared."""
    return {"PATH": os.defpath, "GREETING": "hello", "LANG": lab.environment["LANG"]}
