"""Jobs that leave a trace outside of the cluster, so that it can be told what became of each.

The ledger is a file on this machine to which a job appends its number as its last act. Before that it waits
for the test to release it: however slow or fast the machine is, jobs run and wait when a fault comes.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.harness import ControlPlane, until
from tests.kubernetes.live import Live

SECONDS = 240.0  # all jobs take some 15 s, on a machine that does nothing else
JOB = (
    'sleep "$1"; until test -e /ledger/released && ! test -e "/ledger/held-$0"; do sleep 0.2; done;'
    ' echo "$0" >>/ledger/done'
)
DURATIONS = (2, 3, 2, 2, 2, 2, 6, 2, 3)  # where four brokers run one each, five wait
NONE: Mapping[str, str] = MappingProxyType({})
WAITING = 5  # jobs, at least, when a fault comes


@dataclass(frozen=True, slots=True)
class Ledger:
    """The jobs that were sent to a MiniCluster, numbered from 0: `ids` are theirs."""

    live: Live
    folder: Path
    minicluster: CommandLine
    ids: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, live: Live, nodes: ControlPlane, folder: Path) -> "Ledger":
        """Prepare one for a MiniCluster that is still to be created."""
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        return cls(live, folder, CommandLine(nodes.kubeconfig, live.namespace))

    @classmethod
    def created(cls, live: Live, nodes: ControlPlane, folder: Path, **spec: Any) -> "Ledger":
        """Create a MiniCluster that waits for work, with a ledger; return that once all have joined."""
        found = cls.of(live, nodes, folder)
        live.create(found.container(), interactive=True, **spec).joined()
        return found

    def container(self) -> dict[str, Any]:
        """Return what the brokers' container needs: the ledger, and one core, so that each runs one job."""
        volume = {"hostPath": str(self.folder), "path": "/ledger"}
        return {"volumes": {"ledger": volume}, "resources": {"requests": {"cpu": "1"}}}

    def submit(self, durations: Iterable[int] = DURATIONS) -> None:
        """Send jobs of so many seconds."""
        for seconds in durations:
            words = ("--", "sh", "-c", JOB, len(self.ids), seconds)
            done = self.minicluster("submit", self.live.name, *words)
            assert done.returncode == 0, done.stderr
            self.ids.append(done.stdout.strip())

    def begin(self, rank: int) -> str:
        """Send the jobs, wait until one runs on a rank, one elsewhere, and enough wait; return the first."""
        self.submit()

        def look() -> str:
            running = self.running()
            enough = len(running) > 1 and len(self.listed("SCHED")) >= WAITING
            return running.get(rank, "") if enough else ""

        return until(look, f"jobs on rank {rank} and elsewhere", SECONDS)

    def running(self) -> dict[int, str]:
        """Return which job runs on each rank."""
        return {int(row["ranks"]): row["id"] for row in self.listed("RUN")}

    def listed(self, *states: str) -> list[dict[str, Any]]:
        """List jobs, those in these states."""
        done = self.minicluster("jobs", self.live.name, "--all", "--output", "json")
        rows = json.loads(done.stdout) if done.returncode == 0 else []
        return [row for row in rows if not states or row["state"] in states]

    def release(self) -> None:
        """Let the jobs end once their time is over."""
        (self.folder / "released").touch()

    def hold(self, job: str) -> Path:
        """Keep a job from ending for as long as the file is there that is returned."""
        held = self.folder / f"held-{self.ids.index(job)}"
        held.touch()
        return held

    def restarted(self) -> dict[str, str]:
        """Wait until it is told that lost jobs were started again; return their new ids by the old ones."""
        self.live.until(BrokersReady=("False", "JobsRestarted"))
        told = self.live.message("BrokersReady").partition("started again: ")[2].partition(";")[0]
        return dict(each.split(" as ") for each in told.split(", "))

    def balance(self, restarted: Mapping[str, str] = NONE) -> dict[str, str]:
        """Let the jobs end; each has completed, once, or is said to have failed: return these, and why.

        Nobody knows of a job that was not sent, none that was sent is forgotten, and none ran twice. Those
        that were `restarted` have another id as well, under which they may have completed.
        """
        self.release()
        ids = {*self.ids, *restarted.values()}
        try:
            until(lambda: self.have_ended(ids), "all jobs to end", SECONDS)
        except TimeoutError as error:
            raise AssertionError(
                f"{error}: {self.listed()}\n{self.live.status}\n{self.live.logs()}"
            ) from error
        rows = {row["id"]: row for row in self.listed()}
        assert rows.keys() == ids
        last = [restarted.get(job, job) for job in self.ids]
        completed = {number for number, job in enumerate(last) if rows[job]["state"] == "COMPLETED"}
        written = self.written()
        assert {number: written[number] for number in completed} == dict.fromkeys(completed, 1), rows
        assert max(written.values(), default=0) <= 1, written
        failed = {job: str(row["exception"]) for job, row in rows.items() if row["state"] != "COMPLETED"}
        assert all(failed.values()), rows
        return failed

    def never_ended(self, jobs: Iterable[str]) -> bool:
        """Say that none of these jobs has got as far as the ledger."""
        return not any(self.written()[self.ids.index(job)] for job in jobs)

    def have_ended(self, ids: set[str]) -> bool:
        """Say whether these jobs are known, and have ended."""
        ended = self.listed("COMPLETED", "FAILED", "CANCELED", "TIMEOUT")
        return {row["id"] for row in ended} >= ids

    def written(self) -> Counter[int]:
        """Read the ledger: how often each number is there."""
        file = self.folder / "done"
        return Counter(map(int, file.read_text().split())) if file.exists() else Counter()
