"""Jobs that leave a trace outside of the cluster, from which a test sees what became of each.

The ledger is a file on this machine to which a job appends its number as its last act. Before that it waits
for the test to release it: however slow or fast the machine is, jobs run and wait when a fault comes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from broker_config.formats.jobid import f58
from minicluster.instance.port import Instance
from minicluster.instance.records import Job, JobRequest
from tests.devcluster import ControlPlane, until
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.kept_instance import GONE, KeptInstance
from tests.kubernetes.live import Live

SECONDS = 240.0  # all jobs take some 5 s, on a machine that does nothing else
JOB = (
    'sleep "$1"; until test -e /ledger/released && ! test -e "/ledger/held-$0"; do sleep 0.2; done;'
    ' echo "$0" >>/ledger/done'
)
SHORT = (0.2,) * 9
"""Durations of jobs, in seconds: where four brokers run one each, five wait."""
LONG = (2, 3, 2, 2, 2, 2, 6, 2, 3)
"""Of jobs that are released before what is to come: some still run then, and some wait."""
NONE: Mapping[str, str] = MappingProxyType({})
ENDS = frozenset({"COMPLETED", "FAILED", "CANCELED", "TIMEOUT"})
WAITING = 5  # jobs, at least, when a fault comes


def commands(first: int, durations: Iterable[float]) -> list[tuple[str, ...]]:
    """Return what jobs of so many seconds run, numbered from the first one's."""
    return [("sh", "-c", JOB, str(number), str(seconds)) for number, seconds in enumerate(durations, first)]


def entry(job: Job) -> dict[str, Any]:
    """Return the fields of a job that tests check, named as in `minicluster jobs --output json`."""
    why = (job.exception.note or job.exception.type) if job.exception else ""
    state = job.result.name if job.result else job.state.name
    return {"id": f58(job.id), "state": state, "ranks": job.ranks, "exception": why}


@dataclass(frozen=True, slots=True)
class Ledger:
    """The jobs that were sent to a MiniCluster, numbered from 0: `ids` are theirs."""

    live: Live
    folder: Path
    minicluster: CommandLine
    instance: KeptInstance
    ids: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, live: Live, nodes: ControlPlane, folder: Path) -> "Ledger":
        """Prepare one for a MiniCluster that is still to be created."""
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
        return cls(live, folder, CommandLine(nodes.kubeconfig, live.namespace), instance)

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

    def submit(self, durations: Iterable[float] = SHORT) -> None:
        """Send jobs of so many seconds."""
        wanted = commands(len(self.ids), durations)

        def send(instance: Instance) -> list[str]:
            return [f58(instance.jobs.submit(JobRequest(command))) for command in wanted]

        self.ids.extend(self.instance.ask_anew(send))

    def submit_by_command(self, durations: Iterable[float]) -> None:
        """Submit jobs of so many seconds as a user does, one after the other."""
        for command in commands(len(self.ids), durations):
            done = self.minicluster("submit", self.live.name, "--", *command)
            assert done.returncode == 0, done.stderr
            self.ids.append(done.stdout.strip())

    def begin(self, rank: int, durations: Iterable[float] = SHORT) -> str:
        """Send the jobs, wait until one runs on a rank, one elsewhere, and enough wait; return the first."""
        self.submit(durations)

        def poll() -> str:
            running = self.running()
            enough = len(running) > 1 and len(self.listed("SCHED")) >= WAITING
            return running.get(rank, "") if enough else ""

        return until(poll, f"jobs on rank {rank} and elsewhere", SECONDS)

    def running(self) -> dict[int, str]:
        """Return which job runs on each rank."""
        return {int(row["ranks"]): row["id"] for row in self.listed("RUN")}

    def listed(self, *states: str) -> list[dict[str, Any]]:
        """List jobs, those in these states; none where there is no instance now."""
        try:
            found = self.instance.ask(lambda instance: instance.jobs.find(limit=0))
        except GONE:
            return []
        return [line for line in map(entry, found) if not states or line["state"] in states]

    def release(self) -> None:
        """Let the jobs end once their time is over."""
        (self.folder / "released").touch()

    def hold(self, job: str) -> Path:
        """Keep a job from ending for as long as the file is there that is returned."""
        hold_file = self.folder / f"held-{self.ids.index(job)}"
        hold_file.touch()
        return hold_file

    def restarted(self) -> dict[str, str]:
        """Wait until the status reports lost jobs as started again; return their new ids by the old ones."""
        self.live.until(BrokersReady=("False", "JobsRestarted"))
        restarts = self.live.message("BrokersReady").partition("started again: ")[2].partition(";")[0]
        return dict(each.split(" as ") for each in restarts.split(", "))

    def balance(self, restarted: Mapping[str, str] = NONE) -> dict[str, str]:
        """Let the jobs end; each has completed, once, or is listed as failed: return these, and why.

        No job is listed that was not submitted, none that was submitted is forgotten, and none ran twice.
        Those that were `restarted` have another id as well, under which they may have completed.
        """
        self.release()
        ids = {*self.ids, *restarted.values()}
        try:
            rows = until(lambda: self.ended(ids), "all jobs to end", SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.listed()}\n{self.live.picture()}") from error
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
        """Return whether none of these jobs has got as far as the ledger."""
        return not any(self.written()[self.ids.index(job)] for job in jobs)

    def ended(self, ids: set[str]) -> dict[str, dict[str, Any]]:
        """Return all jobs that are known by their ids, once these have ended; none before."""
        rows = {row["id"]: row for row in self.listed()}
        return rows if all(rows.get(job, {}).get("state") in ENDS for job in ids) else {}

    def written(self) -> Counter[int]:
        """Read the ledger: how often each number is there."""
        file = self.folder / "done"
        return Counter(map(int, file.read_text().split())) if file.exists() else Counter()
