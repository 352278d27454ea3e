"""The record of an active job (RFC 21), small enough for 100,000 of them."""

from __future__ import annotations

from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING, Any

from broker_config.formats.job_states import EXCEPTION_RESULTS, JobFlag, JobResult, JobState
from broker_config.formats.resource_set import times_of

if TYPE_CHECKING:
    from broker_config.formats.jobspec import Parsed, RequestedResources, Sizes

URGENCY_EXPEDITE = 31
PRIORITY_LARGEST = (1 << 32) - 1
FLAGS = int(JobFlag.DEBUG | JobFlag.WAITABLE | JobFlag.NOVALIDATE)


@dataclass(slots=True, eq=False)
class ActiveJob:
    """An active job. Its jobspec and its eventlog live in the store."""

    id: int
    userid: int
    urgency: int
    """0 (held) to 31."""
    flags: int
    """Bits of `JobFlag`."""
    resources: RequestedResources
    """For an elastic job, those of its least size."""
    duration: float
    """The time limit in seconds, 0 without one."""
    name: str
    ntasks: int
    """0 if `tasks_per` counts them."""
    tasks_per: tuple[str, int] | None
    """"node" or "core", and how many tasks each of them gets."""
    cwd: str | None
    queue: str | None
    """None: the anonymous one."""
    elastic: Sizes | None = None
    """None: the job is rigid."""
    consent: str = ""
    """Its `user.share`: whether it shares cores."""
    state: JobState = JobState.NEW
    priority: int | None = None
    """None until the job has left the state PRIORITY."""
    t_submit: float = 0.0
    """When it was submitted. This and the following in seconds since 1970; 0.0: not yet."""
    t_depend: float = 0.0
    """When it came into the state DEPEND; the same below for each state that a time is named after."""
    t_priority: float = 0.0
    t_sched: float = 0.0
    t_run: float = 0.0
    t_cleanup: float = 0.0
    t_inactive: float = 0.0
    brought: dict[str, Any] | None = None
    """The R with which it starts past the scheduler; None: the scheduler allocates it one."""
    R: dict[str, Any] | None = None
    """R (RFC 20) while it has resources, and after."""
    restored: bool = False
    """Whether it was taken up from the store: it waits, also where it does not fit any more."""
    start_pending: bool = False
    """Whether the executor has not reported its release yet."""
    started: bool = False
    """Whether the executor has reported that its tasks run."""
    status: int | None = None
    """The wait status of its tasks; None until they have ended."""
    exception: tuple[str, int, str] | None = None
    """Type, severity and note of the gravest."""
    annotations: dict[str, Any] | None = None
    """What the scheduler and users noted of it, as `flux jobs` shows it."""
    dependencies: list[str] | None = None
    """Descriptions of those not yet satisfied."""
    timer: Any = None
    """Ends its time limit."""

    @classmethod
    def of(cls, jobid: int, userid: int, urgency: int, flags: int, parsed: Parsed) -> ActiveJob:
        """Return a new job."""
        cwd = intern(parsed.cwd) if parsed.cwd is not None else None
        asked = (parsed.resources, parsed.duration, intern(parsed.name), parsed.ntasks, parsed.tasks_per)
        return cls(jobid, userid, urgency, flags, *asked, cwd, parsed.queue, parsed.elastic, parsed.consent)

    def bring(self, resources: dict[str, Any]) -> None:
        """Have it start with these resources, of whatever size it is."""
        self.brought, self.elastic = resources, None

    @property
    def result(self) -> JobResult:
        """The job's result (RFC 21): a fatal exception overrides the tasks' status."""
        if self.exception is not None and self.exception[1] == 0:
            return EXCEPTION_RESULTS.get(self.exception[0], JobResult.FAILED)
        return JobResult.COMPLETED if self.status == 0 else JobResult.FAILED

    @property
    def expiration(self) -> float:
        """The time of its time limit, 0 without one."""
        return times_of(self.R).expiration if self.R else 0.0


def priority_of(urgency: int) -> int:
    """Return Flux's default priority: the urgency, or the highest priority for urgency 31."""
    return PRIORITY_LARGEST if urgency == URGENCY_EXPEDITE else urgency
