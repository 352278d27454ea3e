"""The engines that a benchmark measures, instances of them, and the one JSON line it prints."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.embedded.broker.launcher import write_bin
from minicluster.instance.connection import is_flux_core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

BIN = Path(sys.executable).parent
MINICLUSTER = BIN / "minicluster"
DEADLINE = 120.0


@dataclass(frozen=True, slots=True)
class Engine:
    """One implementation of the `flux` command."""

    name: str
    flux: Path

    def environment(self) -> dict[str, str]:
        """Return this process's environment with the engine's `flux` first on PATH."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("FLUX_")}
        return env | {"PATH": f"{self.flux.parent}{os.pathsep}{env['PATH']}"}


def parser(description: str, **runs: int) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--real-flux", action="store_true", help="measure the flux on PATH as well, in turn")
    made.add_argument(
        "--runs", type=int, default=runs.get("runs", 5), help="runs of each (default %(default)s)"
    )
    return made


def picture(name: str) -> Path:
    """Read the file of `--plot`, for argparse; refuse it now if nothing could draw it in the end."""
    if importlib.util.find_spec("matplotlib") is None:
        raise argparse.ArgumentTypeError("needs matplotlib: pip install matplotlib")
    return Path(name)


@contextlib.contextmanager
def engines(real_flux: bool) -> Iterator[list[Engine]]:
    """Yield the embedded engine and, where asked for, the real Flux found on PATH."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        found = [Engine("embedded", write_bin(Path(directory)))]
        if real_flux:
            path = shutil.which("flux")
            if path is None or not is_flux_core(path):
                raise SystemExit("--real-flux: there is no flux-core `flux` on PATH")
            found.append(Engine("flux", Path(path)))
        yield found


@dataclass(frozen=True, slots=True)
class Instance:
    """A running instance: where it listens, and the processes of its brokers, lead first."""

    uri: str
    environment: dict[str, str]
    brokers: tuple[int, ...]

    def flux(self, *args: str) -> str:
        """Run a flux command against this instance and return what it printed."""
        done = subprocess.run(
            ["flux", *args], env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"flux {' '.join(args)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout


@contextlib.contextmanager
def instance(engine: Engine, size: int) -> Iterator[Instance]:
    """Bring up an instance of `size` brokers on this machine, and end it afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        note = Path(directory) / "uri"
        # The program ends when this end of the pipe closes, be it by this process's end: a signal would not
        # reach it in a process group of its own.
        pipe = Path(directory) / "pipe"
        os.mkfifo(pipe)
        descriptor = os.open(pipe, os.O_RDWR)
        program = f'exec 3< {pipe}; echo "$FLUX_URI" > {note}.new && mv {note}.new {note}; read _ <&3; exit 0'
        command = ["flux", "start", f"-s{size}", "sh", "-c", program]
        env = engine.environment()
        log = Path(directory) / "log"
        with log.open("wb") as errors:
            starter = subprocess.Popen(command, env=env, stderr=errors, process_group=0)
        try:
            if not wait_for(note.exists):
                raise SystemExit(f"{engine.name}: no instance of {size} brokers came up\n{log.read_text()}")
            uri = note.read_text().strip()
            yield Instance(uri, env | {"FLUX_URI": uri}, _brokers(starter.pid))
        finally:
            os.close(descriptor)
            with contextlib.suppress(subprocess.TimeoutExpired):
                starter.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(starter.pid, signal.SIGKILL)
            starter.wait()


def wait_for(condition: Callable[[], bool]) -> bool:
    """Wait until `condition()` is true, two minutes at most; return whether it is."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def resident(pid: int) -> float:
    """Return a process's resident memory, in MB (10^6 bytes)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemExit(f"process {pid} has ended")


def _brokers(starter: int) -> tuple[int, ...]:
    """Return the broker processes below `starter`, oldest (the lead) first."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return tuple(sorted(pid for pid in parents if _below(pid, starter, parents) and _is_broker(pid)))


def _below(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        pid = parents.get(pid, 0)
        if pid == ancestor:
            return True
    return False


def _is_broker(pid: int) -> bool:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        return any(Path(word).name in {"flux-broker", "broker"} for word in words)
    return False


def summary(values: Sequence[float], digits: int = 3) -> dict[str, float]:
    """Return the least, the median and the greatest of some measurements."""
    return {
        "min": round(min(values), digits),
        "median": round(statistics.median(values), digits),
        "max": round(max(values), digits),
    }


def report(figure: str, unit: str, results: Mapping[str, object]) -> None:
    """Print the benchmark's one JSON line: the figure, its unit, the machine and the results by engine."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}
    print(json.dumps({"figure": figure, "unit": unit, "machine": machine, **results}))
