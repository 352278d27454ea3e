"""A lead over the port of its instance.

A slot's queue is started while its ranks are tried, as a job runs in no other one there; what waited in it
until then is moved away before. Jobs that try ranks are known by their names: another process finds them.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar

from burst.errors import LeadAway
from burst.leads.lost_jobs import conclude
from burst.leads.restartable_jobs import RestartableSlotJobs
from burst.lifecycle.records import PREFIX, ProbeResult, SlotView
from minicluster.burst_routing.routing import PROBE
from minicluster.instance.errors import InstanceError, JobInactive, JobNotFound, RequestRefused
from minicluster.instance.records import JobFilter, JobRequest, JobState
from minicluster.save_restore.restarts import restart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from burst.leads.slot_ranks import SlotRanks
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

T = TypeVar("T")
DRAINED = "minicluster: burst "
"""How the reasons of drains begin that are undrained for the next burst."""
TOO_FEW_CORES = 99
"""The exit code of a job that finds fewer cores than its slot promises."""
PROBE_SECONDS = 60.0
"""The time limit of a job that tries a rank."""
_SCRIPT = 'test "$(nproc)" -ge "$0" || exit 99'


class InstanceLead:
    """An instance, with the slots of its MiniCluster and the queue of jobs that run on its own nodes."""

    def __init__(
        self,
        instance: Instance,
        slots: Mapping[str, SlotRanks],
        home: str = "default",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._instance = instance
        self._slots = slots
        self._home = home
        self._now = now
        self._absent: dict[tuple[str, int], float] = {}
        """Since when a rank of a slot has not been there, as far as it was seen here."""
        self._returned: set[tuple[str, int]] = set()
        """Ranks that are there again: what tried them before counts no longer."""
        self._outdated: dict[tuple[str, int], int] = {}
        """The last job that tried a rank before it was away."""

    async def view(self, slot: str, label: str) -> SlotView:
        """Return what it reports of a slot."""
        return await _asked(self._view, slot, label)

    async def probe(self, slot: str, label: str, ranks: Iterable[int]) -> None:
        """Undrain ranks, and try a job on each that was not tried yet."""
        await _asked(self._probe, slot, label, tuple(ranks))

    async def move(self, jobs: Iterable[int], queue: str) -> Mapping[int, str]:
        """Move jobs into a queue."""
        return await _asked(lambda: {job: self._move(job, queue) for job in jobs})

    async def start_queue(self, queue: str) -> None:
        """Have jobs of a queue start."""
        await _asked(self._instance.queues.start, queue)

    async def close(self, slot: str, nodes: int, reason: str) -> None:
        """Stop a slot's queue, and drain so many of its ranks."""
        await _asked(self._close, slot, nodes, reason)

    async def restart(self, jobs: Iterable[int]) -> None:
        """Have running jobs begin anew on the MiniCluster's own nodes."""
        there = RestartableSlotJobs(self._instance, self._home)
        await _asked(restart, there, tuple(jobs), "its burst is over")

    async def conclude(self, slot: str, jobs: Iterable[int], since: float) -> Mapping[int, str]:
        """Return what became of jobs; those that were lost with their nodes begin anew."""
        ranks = self._slots[slot]
        return await _asked(conclude, self._instance, ranks, self._home, tuple(jobs), since)

    # -- in a thread -------------------------------------------------------------------------------------

    def _view(self, slot: str, label: str) -> SlotView:
        ranks, status = self._slots[slot], self._instance.links.rpc("resource.status", {})
        online = ranks.within(status["online"])
        pending = self._waiting(slot, label)
        every = self._instance.jobs.find(JobFilter(states=JobState.RUNNING), limit=0)
        running = [job.id for job in every if ranks.within(job.ranks) and not _tries(job, label)]
        started = {queue.name: queue.started for queue in self._instance.queues.all()}
        return SlotView(
            instance=instance_id(self._instance),
            online=online,
            unresponsive=self._unresponsive(slot, online - ranks.within(status.get("torpid", ""))),
            drained=ranks.within(*status["drain"]),
            started=started.get(slot, False),
            pending=frozenset(pending),
            running=frozenset(running),
            probes=self._probes(slot, label),
        )

    def _unresponsive(self, slot: str, there: frozenset[int]) -> dict[int, float]:
        """Return since when ranks of a slot do not answer: as it was seen here for the first time."""
        now = self._now()
        for rank in range(self._slots[slot].size):
            if rank in there:
                if self._absent.pop((slot, rank), None) is not None:
                    self._returned.add((slot, rank))
            else:
                self._absent.setdefault((slot, rank), now)
        return {rank: since for (name, rank), since in self._absent.items() if name == slot}

    def _waiting(self, slot: str, label: str) -> list[int]:
        """Return the jobs that wait in a slot's queue, but those that try its ranks."""
        waiting = JobFilter(states=JobState.PENDING, queue=slot)
        return [job.id for job in self._instance.jobs.find(waiting, limit=0) if not _tries(job, label)]

    def _probes(self, slot: str, label: str) -> dict[int, ProbeResult]:
        """Return what came of the jobs that tried ranks, of each the latest one since the rank is there."""
        found: dict[int, ProbeResult] = {}
        ranks = self._slots[slot]
        for rank in range(ranks.size):
            named = JobFilter(name=_probe_name(label, rank))
            for job in self._instance.jobs.find(named, limit=1):
                if (slot, rank) in self._returned:
                    self._outdated[slot, rank] = job.id
                if job.id > self._outdated.get((slot, rank), 0):
                    found[rank] = _result(self._instance, job, ranks)
            self._returned.discard((slot, rank))
        return found

    def _probe(self, slot: str, label: str, wanted: tuple[int, ...]) -> None:
        ranks = self._slots[slot]
        drains = self._instance.nodes.resources().drains
        drained = [drain.ranks for drain in drains if drain.reason.startswith(DRAINED)]
        for text in drained:
            if mine := ranks.within(text) & set(wanted):
                self._instance.nodes.undrain(ranks.encode(mine))
        untried = set(wanted) - self._probes(slot, label).keys()
        if untried:
            for job in self._waiting(slot, label):
                self._move(job, self._home)
            self._instance.queues.start(slot)
        for rank in sorted(untried):
            self._instance.jobs.submit(_probe_request(slot, label, rank, ranks))

    def _move(self, job: int, queue: str) -> str:
        """Move a job; return why it was not moved, empty where it is there now."""
        try:
            self._instance.queues.update(job, queue=queue)
        except JobInactive:
            return "it has ended"
        except JobNotFound:
            return "the instance does not know it"
        except RequestRefused as refusal:
            return "" if "already set to" in refusal.text else refusal.text
        return ""

    def _close(self, slot: str, nodes: int, reason: str) -> None:
        self._instance.queues.stop(slot, reason)
        ranks, status = self._slots[slot], self._instance.links.rpc("resource.status", {})
        drained = ranks.within(*status["drain"])
        if wanted := (ranks.within(status["online"]) & frozenset(range(nodes))) - drained:
            self._instance.nodes.drain(ranks.encode(wanted), reason)


def instance_id(instance: Instance) -> str:
    """Return what tells an instance from one that takes its place. Raises InstanceError."""
    return str(instance.links.rpc("attr.get", {"name": "broker.starttime"})["value"])


def _probe_name(label: str, rank: int | str) -> str:
    return f"{PREFIX}{label}-probe-{rank}"


def _tries(job: Job, label: str) -> bool:
    return job.name.startswith(_probe_name(label, ""))


def _probe_request(slot: str, label: str, rank: int, ranks: SlotRanks) -> JobRequest:
    """Return a job that takes a whole node of a slot, and looks whether it has its cores."""
    constraints: Mapping[str, Any] = {"ranks": [str(ranks.first + rank)]}
    return JobRequest(
        ("sh", "-c", _SCRIPT, str(ranks.cores)),
        nodes=1,
        exclusive=True,
        duration=PROBE_SECONDS,
        environment={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        cwd="/",
        name=_probe_name(label, rank),
        urgency=31,
        queue=slot,
        system={"constraints": constraints, PROBE: label},
    )


def _result(instance: Instance, job: Job, ranks: SlotRanks) -> ProbeResult:
    if job.state is not JobState.INACTIVE:
        return ProbeResult(done=False)
    if job.returncode == 0:
        return ProbeResult(done=True)
    if job.returncode == TOO_FEW_CORES:
        return ProbeResult(True, f"it has fewer cores than the slot's {ranks.cores}")
    if job.exception:
        return ProbeResult(True, job.exception.note)
    found = _shell_error(instance, job)
    return ProbeResult(True, f"exit code {job.returncode}{f': {found}' if found else ''}")


def _shell_error(instance: Instance, job: Job) -> str:
    """Return what a job's shell wrote first: one of another user's ends with nothing else."""
    with instance.jobs.output(job.id) as chunks:
        return next(
            (each.data.decode(errors="replace").strip() for each in chunks if each.stream == "log"), ""
        )


async def _asked(function: Callable[..., T], *arguments: object) -> T:
    """Return what a call to the instance returns. Raises LeadAway."""
    try:
        return await asyncio.to_thread(function, *arguments)
    except InstanceError as error:
        raise LeadAway(str(error)) from error
