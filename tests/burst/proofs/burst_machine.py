"""A MiniCluster with a slot on this machine, services as processes, and jobs that write where they run."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.burst.proofs.burst_services import BurstServices
from tests.burst.proofs.task_lines import TaskLines
from tests.local.local_machine import Machine, document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

JOB = """\
at=${FLUX_URI#local://}
printf '%s %s begin %s %s\\n' "$NAME" "$FLUX_TASK_RANK" "$at" "$(date +%s.%N)" >>"$LINES"
eval "$1"
printf '%s %s end %s %s\\n' "$NAME" "$FLUX_TASK_RANK" "$at" "$(date +%s.%N)" >>"$LINES"
"""
SETTINGS = "providers: [{name: local, kind: local, settings: {most: 8, cores: 2}}]"
BURSTING = {
    "dryRun": False,
    "idleSeconds": 1,
    "verifySeconds": 1,
    "drainTimeoutSeconds": 5,
    "select": {"afterSeconds": 0},
}


@dataclass(frozen=True)
class BurstMachine:
    """Two own brokers of one core each, a slot, services with their ledger, and a file of JobLines."""

    folder: Path
    machine: Machine
    services: BurstServices
    tasks: TaskLines

    @property
    def cluster(self) -> Path:
        """The MiniCluster's directory."""
        return self.folder / "m" / "mc"

    def up(self, hosts: int, bursting: Mapping[str, Any] = BURSTING, cores: int = 1, **spec: Any) -> None:
        """Start the MiniCluster with a slot of so many hosts."""
        slot = {"name": "burst-0", "size": hosts, "cores": cores}
        flux = {"bursting": {"clusters": [slot] if hosts else []}, **spec.pop("flux", {})}
        wanted = {"interactive": True, "flux": flux, "bursting": dict(bursting), **spec}
        limits = {"limits": {"cpu": str(cores)}}
        done = self.machine.up(document(self.folder, spec=wanted, resources=limits))
        assert done.returncode == 0, done.stderr
        self.services.state.mkdir(mode=0o700)
        (self.services.state / "burst.yaml").write_text(SETTINGS)

    def submit(self, name: str, script: str, nodes: int, *options: str) -> str:
        """Submit a job that writes a line when it begins, and one when it ends; return its id."""
        words = (f"-N{nodes}", f"-n{nodes}", "-x", "-t10m", f"--job-name={name}")
        variables = (f"--env=NAME={name}", f"--env=LINES={self.tasks.lines_file}")
        program = ("--", "sh", "-c", JOB, "sh", script)
        return self.machine.good("submit", "mc", *words, *options, *variables, *program).stdout.strip()

    def wait_for_file(self, name: str) -> str:
        """Return a script that waits for a file of this folder."""
        return f"until test -e {self.folder / name}; do sleep 0.05; done"

    def touch(self, name: str) -> None:
        (self.folder / name).touch()

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Return the rows of all jobs by name, of several the last."""
        return {row["name"]: row for row in self.machine.rows("jobs", "mc", "--all")}

    def flux(self, *words: str) -> str:
        """Run a flux command at the lead."""
        return self.machine.good("shell", "mc", "--", "flux", *words).stdout

    def queue_is_started(self, queue: str = "burst-0") -> bool:
        rows = self.flux("queue", "list", "-n", "-o", "{queue} {started}").splitlines()
        return dict(map(str.split, rows))[queue] in {"y", "✔"}

    def drained(self) -> str:
        """Return the hosts that are drained, with the reason."""
        return self.flux("resource", "drain", "-n", "-o", "{nodelist} {reason}").strip()

    def remote(self) -> set[str]:
        """Return the jobs of which a task began on a burst's broker."""
        return {each.name for each in self.tasks.lines() if each.at.startswith(f"{self.services.state}/")}


@contextlib.contextmanager
def burst_machine(engine: str = "embedded") -> Iterator[BurstMachine]:
    """Give one; at the end nothing of it may be left."""
    folder = Path(tempfile.mkdtemp(prefix="mcp-", dir="/tmp"))  # short: it has sockets
    machine = Machine(folder / "m", engine)
    made = BurstMachine(folder, machine, BurstServices(folder, machine), TaskLines(folder))
    try:
        yield made
    finally:
        made.services.end(signal.SIGKILL)
        if made.cluster.exists():
            made.machine.call("down", "mc")
        for pid in made.services.running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert made.machine.left() == ([], [])
        shutil.rmtree(folder)
