"""Services of bursting that are processes, and what bursts leave on this machine."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicluster.local import processes
from tests import inside
from tests.devcluster.waiting import until
from tests.local.local_machine import PROGRAM, Machine

if TYPE_CHECKING:
    from collections.abc import Callable

QUICK = (sys.executable, "-m", "tests.burst.proofs.quick_service")
SERVED = b" are served; "
ROOT = Path(__file__).parents[3]
SECONDS = 300.0
"""For what takes a few."""


@dataclass
class BurstServices:
    """A folder with that of their state, and the services that use it."""

    folder: Path
    machine: Machine
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def state(self) -> Path:
        """Of the ledger, and of the provider."""
        return self.folder / "s"

    def serve(self, *, quick: bool = True, number: int = 0, **environment: str) -> subprocess.Popen[bytes]:
        """Start a service, and wait until it serves."""
        program = QUICK if quick else (*PROGRAM, "burst")
        variables = {**self.machine._environment(), **environment}
        log = self.folder / f"service-{number}"
        before = log.read_bytes().count(SERVED) if log.exists() else 0
        with log.open("ab") as file:
            made = subprocess.Popen(
                [*program, "serve", "--state", str(self.state)],
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                cwd=ROOT,
            )
        self.processes.append(made)
        until(
            lambda: log.read_bytes().count(SERVED) > before or made.poll() is not None,
            "a service",
            SECONDS,
        )
        assert made.poll() is None, log.read_text()
        return made

    def end(self, signum: int = signal.SIGTERM) -> list[int]:
        """End the services; return their exit codes."""
        for each in self.processes:
            with contextlib.suppress(ProcessLookupError):
                each.send_signal(signum)
        codes = [each.wait(60) for each in self.processes]
        self.processes.clear()
        return codes

    def burst(self, *words: str, state: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run `minicluster burst` to its end, in this process."""
        where = ("--state", str(state or self.state))
        return inside.completed(["burst", *words, *where], self.machine._environment())

    def rows(self, *words: str, state: Path | None = None) -> list[dict[str, Any]]:
        """Return what it prints, from its JSON."""
        done = self.burst(*words, "--output", "json", state=state)
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def bursts(self) -> list[dict[str, Any]]:
        """Return the rows of all bursts."""
        return self.rows("list", "--all")

    def until_no_burst(self) -> list[dict[str, Any]]:
        """Wait until there is no open burst, and there was one; return all."""

        def over() -> list[dict[str, Any]] | None:
            found = self.bursts()
            return found if found and all(each["is_final"] for each in found) else None

        return self.until(over, "the end of the bursts")

    def until(self, probe: Callable[[], Any], what: str) -> Any:
        """Wait for a fact; without it show what services wrote."""
        try:
            return until(probe, what, SECONDS)
        except TimeoutError as error:
            logs = "\n".join(each.read_text()[-3000:] for each in sorted(self.folder.glob("service-*")))
            raise AssertionError(f"{error}\n{json.dumps(self.bursts(), indent=1)}\n{logs}") from error

    def running(self) -> set[int]:
        """Return the processes of bursts: supervisors, brokers, and tasks of jobs."""
        here = str(self.state / "local-bursts")
        marked = {
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and here.encode() in _read(entry / "environ") + _read(entry / "cmdline")
        }
        return {pid for pid in marked if processes.start_time(pid)}

    def files(self) -> list[str]:
        """Return what the provider has left."""
        return sorted(each.name for each in (self.state / "local-bursts").glob("*"))

    def left(self) -> tuple[set[int], list[str]]:
        """Return the processes and the files that bursts have left, once what ends has ended."""
        with contextlib.suppress(TimeoutError):
            until(lambda: not self.running(), "the end of their processes", 10)
        return self.running(), self.files()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
