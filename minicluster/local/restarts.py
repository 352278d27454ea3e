"""Jobs that cannot finish where they run, started again: what `saving.restarts` needs of an instance."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minicluster.flux_modules.saving import restarts
from minicluster.flux_modules.saving.errors import JobRefused
from minicluster.flux_modules.saving.restarts import Waiting
from minicluster.instance.errors import JobInactive, JobNotFound, SubmitRefused, WaitTimeout
from minicluster.instance.records import JobFilter, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from minicluster.instance.port import Instance

PATIENCE = 30.0
"""Seconds that cancelled jobs have; Flux kills what ignores SIGTERM after five."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """A job, by its old and its new id."""

    old: int
    new: int


def restart(
    instance: Instance, jobids: Iterable[int], reason: str, told: Callable[[Restarted], None]
) -> None:
    """Restart running jobs, and move what depends on them. Ends when the old ones ended.

    Raises SubmitRefused where a job could not be copied; the others are restarted all the same.
    """
    outcome = restarts.restart(_Jobs(instance), jobids, reason)
    for old, new in outcome.restarted:
        told(Restarted(old, new))
    if outcome.lost:
        raise SubmitRefused("; ".join(f"{jobid}: {why}" for jobid, why in outcome.lost))


class _Jobs:
    """See `restarts.Jobs`."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def urgency(self, jobid: int) -> int | None:
        job = self._instance.job(jobid)
        return job.urgency if job.state is JobState.RUN else None

    def pends(self, jobid: int) -> bool:
        return bool(self._instance.job(jobid).state & JobState.PENDING)

    def waiting(self) -> list[Waiting]:
        found = self._instance.jobs(JobFilter(states=JobState.DEPEND), limit=0)
        return [Waiting(job.id, job.urgency) for job in found]

    def jobspec(self, jobid: int) -> Mapping[str, Any]:
        return self._instance.jobspec(jobid)

    def submit(self, jobspec: dict[str, Any], urgency: int) -> int:
        try:
            return self._instance.resubmit(jobspec, urgency=urgency)
        except SubmitRefused as refusal:
            raise JobRefused(str(refusal)) from refusal

    def cancel(self, jobid: int, reason: str) -> None:
        with suppress(JobInactive, JobNotFound):  # it ended by itself
            self._instance.cancel(jobid, reason)

    def await_ends(self, jobids: Iterable[int]) -> None:
        for jobid in jobids:
            try:
                self._instance.wait(jobid, PATIENCE)
            except WaitTimeout:
                return

    def finished(self, jobid: int) -> bool:
        for event in self._instance.events(jobid):
            if event.name == "finish":
                return True
            if event.name == "exception" and event.context["severity"] == 0:
                return False
        return False
