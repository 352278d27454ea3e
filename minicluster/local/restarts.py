"""Jobs that cannot finish where they run, started again under a new id that names the old one.

Flux has no requeue, and a cancelled job takes its dependents with it. Therefore a copy is submitted first,
held; its dependents are moved to depend on the copy; then the old job is cancelled; and the copy is released.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minicluster.instance.errors import JobInactive, JobNotFound
from minicluster.instance.records import Job, JobFilter, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from minicluster.instance.port import Instance

RESTART_OF = "restart_of"
"""Attribute (`attributes.user.minicluster.restart_of`) of a restarted job: the id that it had before."""
HELD = 0
SCHEMES = ("afterok", "afterany", "afternotok", "after")


@dataclass(frozen=True, slots=True)
class Restarted:
    """A job, by its old and its new id."""

    old: int
    new: int


def restart(
    instance: Instance, jobids: Iterable[int], reason: str, told: Callable[[Restarted], None]
) -> None:
    """Restart running jobs, and move what depends on them. Ends when the copies wait to be started."""
    for jobid in jobids:
        _Restart(instance, reason, told).running(jobid)


class _Restart:
    """The restart of one running job with its dependents."""

    def __init__(self, instance: Instance, reason: str, told: Callable[[Restarted], None]) -> None:
        self._instance = instance
        self._reason = reason
        self._told = told

    def running(self, jobid: int) -> None:
        """Restart a job that runs; one that ended meanwhile is left alone."""
        job = self._instance.job(jobid)
        new = self._copied(job, self._instance.jobspec(jobid), HELD)
        self._move_dependents(jobid, new)
        if not self._ended_by_us(jobid):
            # It finished by itself while we looked: its result stands, and the copy must not run.
            self._move_dependents(new, jobid)
            self._instance.cancel(new, f"{jobid} finished after all")
            return
        self._instance.urgency(new, job.urgency)
        self._told(Restarted(jobid, new))

    def _ended_by_us(self, jobid: int) -> bool:
        try:
            self._instance.cancel(jobid, self._reason)
        except (JobInactive, JobNotFound):
            return False
        return self._instance.wait(jobid).exception is not None

    def _move_dependents(self, old: int, new: int) -> None:
        """Make every pending job that depends on `old` depend on `new`; what depends on those moves first."""
        for job in self._instance.jobs(JobFilter(states=JobState.DEPEND), limit=0):
            spec = self._instance.jobspec(job.id)
            moved = _redirected(spec, old, new)
            if moved is None:
                continue
            replacement = self._copied(job, moved, job.urgency)
            self._move_dependents(job.id, replacement)
            self._instance.cancel(job.id, f"moved to {replacement}: it waits for {new} now")
            self._told(Restarted(job.id, replacement))

    def _copied(self, job: Job, spec: Mapping[str, Any], urgency: int) -> int:
        marked = copy.deepcopy(dict(spec))
        user = marked["attributes"].setdefault("user", {})
        user.setdefault("minicluster", {})[RESTART_OF] = job.id
        return self._instance.resubmit(marked, urgency=urgency)


def _redirected(spec: Mapping[str, Any], old: int, new: int) -> dict[str, Any] | None:
    """Return the jobspec with its dependency on `old` turned to `new`; None where it has none."""
    moved = copy.deepcopy(dict(spec))
    dependencies = moved["attributes"]["system"].get("dependencies", [])
    hits = [each for each in dependencies if each["scheme"] in SCHEMES and _jobid(each["value"]) == old]
    for each in hits:
        each["value"] = str(new)
    return moved if hits else None


def _jobid(value: object) -> int | None:
    """Return the id that a dependency names: decimal, or F58 (RFC 19)."""
    from minicluster.embedded.jobid import parse

    try:
        return int(parse(str(value)))
    except ValueError:
        return None
