"""A lead and one follower of a burst's slot on this machine, with a link between them that can be silent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from broker_config import broker_toml, curve, instance_resources, start_script
from broker_config.settings import (
    BrokerEndpoint,
    BrokerSettings,
    BurstCluster,
    BurstingSettings,
    NetworkSettings,
    RunMode,
)
from minicluster import flux_zips
from minicluster.local import processes
from tests.devcluster.waiting import until
from tests.fence.silent_proxy import SilentProxy
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

MARKER = "TEST_NEAR_AND_FAR"
FAR = 1
"""The follower's rank."""


@dataclass
class NearAndFar:
    """near-0 is the lead; burst-0-0 follows it through the proxy."""

    directory: Path
    programs: Path
    """The directory of `flux`."""
    engine: str
    processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        port = free_port()
        self.link = SilentProxy(port)
        here, there = f"tcp://127.0.0.1:{port}", f"tcp://127.0.0.1:{self.link.port}"
        settings = BrokerSettings(
            "near",
            size=1,
            mode=RunMode.INTERACTIVE,
            bursting=BurstingSettings(clusters=(BurstCluster("burst-0", 1),)),
        )
        network = NetworkSettings(
            endpoints=(BrokerEndpoint("near-0", here, there), BrokerEndpoint("burst-0-0", there, there))
        )
        config = self.directory / "config"
        config.mkdir(parents=True)
        settings = replace(
            settings, config_dir=str(config), curve_path=str(self.directory / "curve.cert"), network=network
        )
        for name, text in {
            "broker.toml": broker_toml.render(settings),
            "R": instance_resources.render(settings),
            "start.sh": start_script.render(settings),
        }.items():
            (config / name).write_text(text)
        (config / flux_zips.ZIP).write_bytes(flux_zips.pack())
        certificate = self.directory / "curve.cert"
        certificate.touch(mode=0o400)
        certificate.write_text(curve.render("near", curve.generate()))

    def start(self, rank: int, *before: str, **variables: str) -> None:
        """Start a start script, by the words `before` where there are some."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("FLUX_")}
        with self.log(rank).open("ab") as log:
            self.processes[rank] = subprocess.Popen(
                [*before, "sh", self.directory / "config" / "start.sh"],
                env={
                    **kept,
                    "PATH": f"{self.programs}:{kept['PATH']}",
                    "MINICLUSTER_CONFIG": str(self.directory / "config"),
                    "MINICLUSTER_CURVE": str(self.directory / "curve.cert"),
                    "MINICLUSTER_RUN": str(self.run(rank)),
                    "MINICLUSTER_HOST": ("near-0", "burst-0-0")[rank],
                    "MINICLUSTER_TERMINATION_LOG": str(self.directory / f"end-{rank}"),
                    "JOB_COMPLETION_INDEX": str(rank),
                    MARKER: str(self.directory),
                    **variables,
                },
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self, rank: int) -> Path:
        return self.directory / "r" / str(rank)

    def log(self, rank: int) -> Path:
        return self.directory / f"log-{rank}"

    def output(self, rank: int) -> str:
        return self.log(rank).read_text(errors="replace")

    def flux(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a flux command against the lead."""
        return subprocess.run(
            [self.programs / "flux", *words],
            env={**os.environ, "FLUX_URI": f"local://{self.run(0)}/local"},
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def slot_options(self) -> tuple[str, ...]:
        """What sends a job to the slot: its queue, where there are queues, which is started."""
        tables = tomllib.loads((self.directory / "config" / "broker.toml").read_text())
        if "burst-0" not in tables.get("queues", {}):
            return ("--requires=host:burst-0-0",)
        self.flux("queue", "start", "burst-0")
        return ("--queue=burst-0",)

    def await_online(self, count: int) -> None:
        """Wait until so many brokers can be given jobs."""

        def up() -> bool:
            done = self.flux("resource", "list", "-s", "up", "-no", "{nnodes}")
            return done.stdout.strip() == str(count)

        self.until(up, f"{count} brokers")

    def until(self, probe: Callable[[], object], what: str) -> None:
        """Wait for a fact, and show the logs where it does not become one."""
        try:
            until(probe, what, 60)
        except TimeoutError as error:
            logs = "\n".join(f"--- {rank}\n{self.output(rank)}" for rank in sorted(self.processes))
            raise AssertionError(f"{error}\n{logs}") from error

    def broker(self, rank: int) -> int:
        """The broker's process id."""
        found: list[int] = []

        def running() -> bool:
            found[:] = [pid for pid in self.of(rank) if _is_broker(pid)]
            return len(found) == 1

        self.until(running, f"the broker of rank {rank}")
        return found[0]

    def of(self, rank: int) -> set[int]:
        """Every process below the start script of a rank."""
        return processes.descendants(self.processes[rank].pid)

    def left(self) -> dict[int, str]:
        """What still runs of anything that was started here."""
        found = processes.with_variable(f"{MARKER}={self.directory}")
        return {pid: _command(pid) for pid in found}

    def end(self) -> None:
        """End whatever is left."""
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        processes.sweep(lambda: processes.with_variable(f"{MARKER}={self.directory}"))
        for process in self.processes.values():
            process.wait(10)
        self.link.close()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""  # it has ended


def _is_broker(pid: int) -> bool:
    command = _command(pid)
    return "-Srundir=" in command and not command.startswith("sh ")
