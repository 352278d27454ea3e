"""The lead of a rehearsed instance: what bursting asks of a lead, and what a plan needs of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.burst_names import BURST, DEFAULT_QUEUE
from burst.leads.waiting_jobs import WaitingJob
from burst.lifecycle.records import BEGUN_ANEW, ProbeResult, SlotView
from burst.planning.records import BurstableJob
from burst.rehearsal.jobs import JobPhase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from burst.leads.layout import LeadLayout
    from burst.rehearsal.instance import RehearsedInstance
    from burst.rehearsal.jobs import RehearsedJob

_OUTCOMES = {JobPhase.DONE: "completed", JobPhase.LOST: BEGUN_ANEW}


class RehearsedLead:
    """See `burst.leads.lead.BurstLead`, and `burst.planner.PlannedLead`."""

    def __init__(self, instance: RehearsedInstance) -> None:
        self.instance = instance
        self.wrong: dict[int, str] = {}
        """By rank: why jobs do not run there."""
        self.unresponsive: dict[int, float] = {}
        """Since when ranks that are up do not answer."""
        self._absent: dict[tuple[str, int], float] = {}
        """Since when a rank of a slot has not been there, as far as it was seen."""
        self._probes: dict[str, dict[int, ProbeResult]] = {}

    @property
    def identity(self) -> str:
        """The id of the instance."""
        return self.instance.identity

    @property
    def layout(self) -> LeadLayout:
        """Who has which ranks."""
        return self.instance.layout

    @property
    def waiting(self) -> RehearsedLead:
        """What reads the jobs that wait: it does itself."""
        return self

    def read(self) -> list[WaitingJob]:
        """Return the burstable jobs that wait in no slot's queue, in the order of their submission."""
        fits = self.layout.fits_here
        return [
            WaitingJob(_burstable(job, fits_here=job.queue != BURST and fits(job.request)), job.queue)
            for job in self.instance.jobs.values()
            if job.is_pending and job.wish is not None and job.queue in {DEFAULT_QUEUE, BURST}
        ]

    async def view(self, slot: str, label: str) -> SlotView:
        """Return what it reports of a slot."""
        online = self.instance.online(slot)
        return SlotView(
            instance=self.identity,
            online=online,
            unresponsive={**self._away(slot, online), **self.unresponsive},
            drained=frozenset(self.instance.drained[slot]),
            started=self.instance.started[slot],
            pending=self.instance.in_slot(slot, JobPhase.PENDING),
            running=self.instance.in_slot(slot, JobPhase.RUNNING),
            probes=dict(self._probes.get(label, {})),
        )

    def _away(self, slot: str, online: frozenset[int]) -> dict[int, float]:
        """Return since when ranks are not there; what tried one before it was away counts no longer."""
        for rank in range(self.instance.slots[slot].size):
            if rank not in online:
                self._absent.setdefault((slot, rank), self.instance.now)
                for known in self._probes.values():
                    known.pop(rank, None)
            else:
                self._absent.pop((slot, rank), None)
        return {rank: since for (name, rank), since in self._absent.items() if name == slot}

    async def probe(self, slot: str, label: str, ranks: Iterable[int]) -> None:
        """Undrain ranks, and try a job on each that was not tried yet: it ends at once."""
        known = self._probes.setdefault(label, {})
        for rank in ranks:
            self.instance.drained[slot].discard(rank)
            known.setdefault(rank, ProbeResult(True, self.wrong.get(rank, "")))

    async def move(self, jobs: Iterable[int], queue: str) -> Mapping[int, str]:
        """Move jobs into a queue, in Flux's words where they cannot be."""
        found = {}
        for number in jobs:
            job, found[number] = self.instance.jobs[number], ""
            if job.is_running and job.where != queue:
                found[number] = "update of queue for running job not supported"
            elif not (job.is_running or job.is_pending):
                found[number] = "job is inactive"
            else:
                job.queue = queue
        return found

    async def start_queue(self, queue: str) -> None:
        """Have jobs of a queue start."""
        self.instance.started[queue] = True

    async def close(self, slot: str, nodes: int, _reason: str) -> None:
        """Stop a slot's queue, and drain so many of its ranks."""
        self.instance.started[slot] = False
        self.instance.drained[slot] |= set(range(nodes))

    async def restart(self, jobs: Iterable[int]) -> None:
        """Have running jobs begin anew elsewhere."""
        for number in jobs:
            job = self.instance.jobs[number]
            if job.is_running and job.where != DEFAULT_QUEUE:
                self.instance.begin_anew(job)

    async def conclude(self, _slot: str, jobs: Iterable[int], _since: float) -> Mapping[int, str]:
        """Return what became of jobs; those that were lost with their nodes begin anew."""
        found = {}
        for number in jobs:
            job = self.instance.jobs[number]
            found[number] = _OUTCOMES.get(job.phase, "goes on elsewhere")
            if job.phase is JobPhase.LOST:
                self.instance.begin_anew(job)
        return found


def _burstable(job: RehearsedJob, *, fits_here: bool) -> BurstableJob:
    return BurstableJob(
        id=job.id,
        user=job.user,
        request=job.request,
        wish=job.wish,
        limit=job.limit,
        priority=job.priority,
        submitted=job.submitted,
        fits_here=fits_here,
    )
