"""Real flux-core, where it is on PATH, and clusters of brokers started from rendered files here."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from broker_config import broker_toml, curve, instance_resources, start_script
from broker_config.scheduler_settings import SchedulerSettings
from broker_config.settings import BrokerEndpoint, BrokerSettings, NetworkSettings, NodeResources
from minicluster import flux_zips
from tests.flux.placed import PlacedInstance
from tests.lead.pods import Pods
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DEADLINE = 60


@pytest.fixture(scope="session")
def real_flux() -> Path:
    """The `flux` of flux-core; a test that asks for it is skipped where there is none."""
    found = shutil.which("flux")
    if found is None:
        pytest.skip("no flux on PATH")
    done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30, check=False)
    if "libflux-core" not in done.stdout or "embedded" in done.stdout:
        pytest.skip(f"{found} is not flux-core's flux: {(done.stdout or done.stderr).strip()[:80]!r}")
    return Path(found)


class Cluster:
    """Brokers on this machine, one start script each, as the pods of a MiniCluster would run them."""

    def __init__(self, directory: Path, runs: Path, settings: BrokerSettings) -> None:
        self.directory = directory
        self.runs = runs
        self.processes: dict[int, subprocess.Popen] = {}
        endpoints = tuple(
            BrokerEndpoint(host, uri, uri)
            for host, uri in [(settings.hosts[0], f"tcp://127.0.0.1:{free_port()}")]
        )
        settings = replace(
            settings,
            config_dir=str(directory / "config"),
            curve_path=str(directory / "curve.cert"),
            logs=str(directory / "logs"),
            network=NetworkSettings(endpoints=endpoints),
        )
        self.settings = settings
        (directory / "config").mkdir(parents=True, exist_ok=True)
        files = {
            "broker.toml": broker_toml.render(settings),
            "R": instance_resources.render(settings),
            "start.sh": start_script.render(settings),
            **start_script.companion_files(settings),
        }
        for name, text in files.items():
            (directory / "config" / name).write_bytes(text.encode(errors="surrogateescape"))
        (directory / "config" / flux_zips.ZIP).write_bytes(flux_zips.pack())
        certificate = Path(settings.curve_path)
        if not certificate.exists():
            certificate.touch(mode=0o400)
            with certificate.open("w") as file:
                file.write(curve.render(settings.name, curve.generate()))

    def start(self, *ranks: int) -> Cluster:
        for rank in ranks or range(self.settings.size):
            with self.log(rank).open("ab") as log:
                self.processes[rank] = subprocess.Popen(
                    ["sh", self.directory / "config" / "start.sh"],
                    env={**os.environ, **self.environment(rank)},
                    cwd=self.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        return self

    def environment(self, rank: int) -> dict[str, str]:
        return {
            "MINICLUSTER_CONFIG": str(self.directory / "config"),
            "MINICLUSTER_CURVE": self.settings.curve_path,
            "MINICLUSTER_RUN": str(self.run(rank)),
            "MINICLUSTER_TERMINATION_LOG": str(self.directory / f"termination-{rank}"),
            "JOB_COMPLETION_INDEX": str(rank),
        }

    def run(self, rank: int) -> Path:
        return self.runs / str(rank)

    def log(self, rank: int) -> Path:
        return self.directory / f"log-{rank}"

    def output(self, rank: int = 0) -> str:
        return self.log(rank).read_text(errors="surrogateescape")

    def flux(self, *words: str, timeout: float = 30) -> str:
        """Runs a flux command against the lead; its output."""
        done = subprocess.run(
            ["flux", *words],
            env={**os.environ, "FLUX_URI": f"local://{self.run(0)}/local"},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return done.stdout

    def wait(self, rank: int = 0) -> int:
        return self.processes[rank].wait(DEADLINE)

    def codes(self) -> dict[int, int]:
        return {rank: self.wait(rank) for rank in sorted(self.processes)}

    def until(self, condition: Callable[[], object], what: str) -> object:
        """Waits for the condition's first true value, and returns it."""
        deadline = time.monotonic() + DEADLINE
        while not (value := condition()):
            if time.monotonic() > deadline:
                logs = "\n".join(f"--- {rank}\n{self.output(rank)}" for rank in sorted(self.processes))
                pytest.fail(f"{what}: not within {DEADLINE} s\n{logs}")
            time.sleep(0.05)
        return value

    def online(self, count: int) -> None:
        """Waits until that many brokers can be given jobs."""
        self.until(
            lambda: self.flux("resource", "list", "-s", "up", "-n", "-o", "{nnodes}").strip() == str(count),
            f"{count} brokers up",
        )

    def broker(self, rank: int) -> int:
        """The process id of the broker itself, below its start script."""
        script = self.processes[rank].pid
        children = Path(f"/proc/{script}/task/{script}/children").read_text().split()
        return next(
            pid for pid in map(int, children) if "flux-broker" in Path(f"/proc/{pid}/comm").read_text()
        )

    def end(self) -> None:
        for process in self.processes.values():
            for pid in _session(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait(10)


def _session(leader: int) -> list[int]:
    """Every process of the session that `leader` began."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            found.append(int(stat.parent.name))
    return found


@pytest.fixture
def cluster(real_flux, tmp_path) -> Iterator[Callable[..., Cluster]]:
    """Makes clusters; whatever still runs of them at the end is killed."""
    made: list[Cluster] = []

    def make(settings: BrokerSettings, name: str = "a b") -> Cluster:
        # A UNIX socket's path is short, and flux batch breaks at a space in it.
        runs = Path(tempfile.mkdtemp(prefix="mc-"))
        made.append(Cluster(tmp_path / name, runs, settings))
        return made[-1]

    yield make
    for each in made:
        each.end()
        shutil.rmtree(each.runs, ignore_errors=True)


@pytest.fixture(scope="module")
def brokers(real_flux: Path) -> Iterator[Callable[..., PlacedInstance]]:
    """Start brokers with a placement, each on one of the CPUs if any are given; they end with this file."""
    made: list[Pods] = []

    def start(
        size: int,
        cores: int,
        placement: str,
        environment: dict[str, str],
        cpus: Sequence[int] = (),
        **more: Any,
    ) -> Any:
        directory = Path(tempfile.mkdtemp(prefix="mc-"))
        scheduler = SchedulerSettings("easy", placement=placement, **more)
        settings = BrokerSettings("mc", size=size, quorum=1, node=NodeResources(cores), scheduler=scheduler)
        made.append(Pods(real_flux.parent, directory, settings))
        for rank in range(size):
            made[-1].wrapper = ["taskset", "-c", str(cpus[rank])] if cpus else []
            made[-1].start(rank, **environment)
        return PlacedInstance(made[-1], size)

    yield start
    for each in made:
        each.close()
        shutil.rmtree(each.directory, ignore_errors=True)
