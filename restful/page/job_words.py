"""Jobs in words for people, and which act on one is offered to whom. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_config.formats.job_states import JobResult, JobState
from broker_config.formats.jobid import f58, f58plain
from restful.jobs.jobs import USERS_URGENCY

if TYPE_CHECKING:
    from restful.store.jobs import JobRecord

STATES = {
    JobState.NEW: "new",
    JobState.DEPEND: "waits for dependencies",
    JobState.PRIORITY: "waits for a priority",
    JobState.SCHED: "waits for nodes",
    JobState.RUN: "running",
    JobState.CLEANUP: "ending",
    JobState.INACTIVE: "ended",
}
RESULTS = {
    JobResult.COMPLETED: "completed",
    JobResult.FAILED: "failed",
    JobResult.CANCELED: "canceled",
    JobResult.TIMEOUT: "timed out",
}
URGENCY_MAX = 31
ON_HOLD = "on hold"
"""A job that waits with the urgency 0: until somebody raises it."""


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job as a page shows it."""

    record: JobRecord
    cluster: str
    owner: str
    """The owner's name; empty: it was submitted inside the instance."""
    scopes: frozenset[str]
    """What the reader may do at the cluster."""
    own: bool
    now: float

    @property
    def id(self) -> str:
        """Return the id in F58 (RFC 19)."""
        return f58(self.record.id)

    @property
    def plain(self) -> str:
        """Return the id in ASCII, for paths and the ids of elements."""
        return f58plain(self.record.id)

    @property
    def name(self) -> str:
        """Return the name; one without a name is called by its id."""
        return self.record.name or self.id

    @property
    def kind(self) -> str:
        """Return the state, or the result, in Flux's word: the class of a style."""
        result = self.record.result
        return str(self.record.state.name if result is None else result.name).lower()

    @property
    def state(self) -> str:
        """Return the state, or the result, in words."""
        if self.record.result is not None:
            return RESULTS[self.record.result]
        return ON_HOLD if self.waits and self.record.urgency == 0 else STATES[self.record.state]

    @property
    def waits(self) -> bool:
        """Return whether it has no nodes yet."""
        return bool(self.record.state & JobState.PENDING)

    @property
    def run_time(self) -> float | None:
        """Return for how many seconds it has run; None: it has not begun."""
        record = self.record
        if not record.t_run:
            return None
        return max(0.0, (record.t_cleanup or record.t_inactive or self.now) - record.t_run)

    @property
    def may_cancel(self) -> bool:
        """Return whether the reader may cancel it now, and send it signals."""
        return self.record.active and self._may("jobs:cancel")

    @property
    def may_kill(self) -> bool:
        """Return whether it has tasks to which the reader may send a signal."""
        return self.may_cancel and self.record.state is JobState.RUN

    @property
    def urgency_max(self) -> int:
        """Return the highest urgency that the reader may give it; -1: none."""
        if not self.waits:
            return -1
        if "jobs:urgency" in self.scopes:
            return URGENCY_MAX
        return USERS_URGENCY if self.own and self.may_cancel else -1

    def _may(self, scope: str) -> bool:
        return (scope if self.own else f"{scope}:all") in self.scopes
