"""Instances of real broker processes, for tests that need them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_config import curve
from minicluster.embedded.broker import launcher
from minicluster.embedded.client import BrokerClient
from minicluster.embedded.errors import EmbeddedError
from tests.devcluster.waiting import until
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DEADLINE = 60.0


def wait_for(condition: Callable[[], object], what: str, deadline: float = DEADLINE) -> object:
    """Return the condition's first true value."""
    return until(condition, what, deadline)


class Instance:
    """Brokers mc-0 … of one configuration, each with its own rundir; logs go to <host>.log."""

    def __init__(self, directory: Path, size: int, cores: str = "0-1") -> None:
        self.directory = directory
        self.size = size
        self.bin = launcher.write_bin(directory / "bin").parent
        self.env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        for name in ("FLUX_URI", "PMI_FD", "PMI_RANK", "PMI_SIZE", "FLUX_JOB_ID"):
            self.env.pop(name, None)
        self.certificate = directory / "curve.cert"
        self.certificate.write_text(curve.render("mc", curve.generate()))
        self.certificate.chmod(0o600)
        self.port = free_port()
        self.config = directory / "broker.toml"
        self.config.write_text(self.toml(self.certificate))
        ranks = f"0-{max(1, size - 1)}"
        execution = {"R_lite": [{"rank": ranks, "children": {"core": cores}}], "nodelist": [f"mc-[{ranks}]"]}
        execution |= {"starttime": 0, "expiration": 0}
        (directory / "R").write_text(json.dumps({"version": 1, "execution": execution}))
        self.brokers: dict[int, subprocess.Popen[bytes]] = {}
        self.uri = f"local://{directory}/0/local-0"

    def toml(self, certificate: Path) -> str:
        endpoint = f"tcp://127.0.0.1:{self.port}"
        others = f"mc-[1-{max(1, self.size - 1)}]"
        return (
            f'[bootstrap]\ncurve_cert = "{certificate}"\n'
            f'hosts = [{{host="mc-0", bind="{endpoint}", connect="{endpoint}"}}, {{host="{others}"}}]\n'
            f'[resource]\nnoverify = true\npath = "{self.directory}/R"\n'
            "[exec]\nkill-timeout = 0.5\n"
        )

    def start(
        self, rank: int, *arguments: str, config: Path | None = None, cpus: Iterable[int] = ()
    ) -> subprocess.Popen[bytes]:
        """Start a broker, on these CPUs alone if there are any."""
        command = ["flux", "broker", "-c", str(config or self.config), f"-Shostname=mc-{rank}"]
        command += [f"-Srundir={self.directory}/{rank}", "-Slog-stderr-level=6", *arguments]
        with self.log(rank).open("ab") as log:
            if cpus:
                command = ["taskset", "-c", ",".join(map(str, cpus)), *command]
            broker = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=log)
        self.brokers[rank] = broker
        return broker

    def up(self, *lead_arguments: str, cpus: Sequence[Iterable[int]] = ()) -> Instance:
        """Start all brokers, on these CPUs by rank if any are given; the lead stays until it is ended."""
        self.start(0, "-Sbroker.rc2_none", *lead_arguments, cpus=cpus[0] if cpus else ())
        for rank in range(1, self.size):
            self.start(rank, cpus=cpus[rank] if cpus else ())
        self.wait(lambda: self.online() == self.size, f"{self.size} brokers online")
        return self

    def wait(self, condition: Callable[[], object], what: str) -> object:
        """Wait for a condition; a failure shows the brokers' logs."""
        try:
            return wait_for(condition, what)
        except AssertionError as error:
            codes = {rank: broker.poll() for rank, broker in self.brokers.items()}
            logs = "\n".join(log.read_text()[-1000:] for log in sorted(self.directory.glob("*.log")))
            raise AssertionError(f"{error}; exit codes {codes}; logs:\n{logs}") from None

    def has_logged(self, rank: int, text: str) -> bool:
        """Wait until the broker's log holds `text`."""
        return bool(
            wait_for(lambda: text in self.log(rank).read_text(), f"{text!r} in {self.log(rank).name}")
        )

    def log(self, rank: int) -> Path:
        return self.directory / f"mc-{rank}.log"

    def rpc(self, topic: str, payload: dict[str, object] | None = None, rank: int = 0) -> dict[str, object]:
        with BrokerClient(f"local://{self.directory}/{rank}/local-{rank}") as client:
            return client.rpc(topic, payload or {}, timeout=DEADLINE)

    def online(self) -> int:
        try:
            return int(self.rpc("overlay.stats-get")["child-connected"]) + 1
        except EmbeddedError:
            return 0

    def flux(self, *arguments: str, rank: int = 0, **options: object) -> subprocess.CompletedProcess[str]:
        env = {**self.env, "FLUX_URI": f"local://{self.directory}/{rank}/local-{rank}"}
        options = {"capture_output": True, "text": True, "timeout": 60, "cwd": self.directory, **options}
        return subprocess.run(["flux", *arguments], env=env, check=False, **options)

    def end(self, rank: int, signum: int = signal.SIGTERM) -> int:
        """Signal a broker and return its exit code."""
        self.brokers[rank].send_signal(signum)
        return self.code(rank)

    def code(self, rank: int) -> int:
        broker = self.brokers.pop(rank)
        with broker:
            return broker.wait(DEADLINE)

    def close(self) -> None:
        for rank in sorted(self.brokers, reverse=True):
            broker = self.brokers.pop(rank)
            with broker:
                broker.terminate()
                try:
                    broker.wait(DEADLINE)
                except subprocess.TimeoutExpired:
                    broker.kill()


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A directory whose path leaves room for a UNIX socket's name."""
    directory = Path(tempfile.mkdtemp(prefix="mc-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def make_instance(short_dir: Path) -> Iterator[Callable[..., Instance]]:
    made: list[Instance] = []

    def make(size: int, cores: str = "0-1") -> Instance:
        made.append(Instance(short_dir, size, cores))
        return made[-1]

    yield make
    for instance in made:
        instance.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Instance]:
    """Four brokers for a whole module of tests that leave them as they were."""
    with tempfile.TemporaryDirectory(prefix="mc-") as directory:
        instance = Instance(Path(directory), 4).up()
        yield instance
        instance.close()
