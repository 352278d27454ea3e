"""The record and the condition of a resize: its goal, and what it waits for."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from minicluster.document import ResizeStatus
from minicluster.plan import ranks
from minicluster.plan.brokers.cutting import parts
from minicluster.plan.constants import Reason
from minicluster.plan.status import restarted_jobs
from minicluster.plan.status.condition_value import ConditionValue
from minicluster.plan.status.times import timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.document import MiniCluster, RestartedJob
    from minicluster.plan.records import JobReport
    from minicluster.plan.status.reconcile_state import ReconcileState

MAX_ERROR = 4_096
"""Characters of an error that the status keeps."""

_REASONS = {
    "Growing": Reason.GROWING,
    "Draining": Reason.DRAINING,
    "Restarting": Reason.DRAINING,
    "JobsRestarted": Reason.JOBS_RESTARTED,
    "TimedOut": Reason.DRAIN_TIMED_OUT,
    "Shrinking": Reason.SHRINKING,
}


def status(state: ReconcileState, now: datetime) -> tuple[ResizeStatus | None, tuple[RestartedJob, ...]]:
    """Return the record of a resize (None: there is none), and the jobs that it had started again."""
    job, resize = state.job, state.resize
    if job is None or not state.has_pods:
        return None, ()
    if not resize.released and resize.draining:
        return _drain(state, job, now)
    missing = state.size - _pods(state, job)
    if resize.released or (missing < 0 and not resize.returning):
        return _shrink(state, job, now)
    if missing > 0 or resize.returning:
        returning = "" if missing > 0 else resize.returning
        return _record(state, job, now, phase="Growing", returning=returning), ()
    return None, ()


def condition(
    resize: ResizeStatus | None, jobs: Iterable[RestartedJob], cluster: MiniCluster, placed: int | None = None
) -> ConditionValue:
    """Return the condition Resizing by the record; `placed`: how many pods have a node, None: all or none."""
    if resize is None:
        return ConditionValue("False", Reason.AT_SIZE, _at_size(cluster.spec.size, placed, parts(cluster)))
    since = datetime.fromisoformat(resize.started_at)
    return ConditionValue("True", _REASONS[resize.phase], _message(resize, jobs, cluster), since)


def _at_size(size: int, placed: int | None, parts_of_each: int) -> str:
    if placed is None:
        brokers = f", which is {size} brokers" if parts_of_each > 1 else ""
        return f"the MiniCluster has its size of {size // parts_of_each}{brokers}"
    return f"its Job has the size of {size}, and {placed} of {size} pods have a node"


def _drain(
    state: ReconcileState, job: JobReport, now: datetime
) -> tuple[ResizeStatus | None, tuple[RestartedJob, ...]]:
    """Return the record of a shrink that waits for jobs, or whose wait has ended."""
    resize, answer = state.resize, state.resize.restarted
    known = {
        "leaving": resize.draining,
        "busy": resize.busy,
        "error": state.unreachable_reason[:MAX_ERROR],
    }
    if answer is not None:
        counts = {"restarted": len(answer.restarted), "lost": len(answer.lost)}
        jobs = restarted_jobs.records("Resize", answer.restarted, answer.lost)
        return _record(state, job, now, phase="JobsRestarted", **known, **counts), jobs
    if resize.overdue:
        return _record(state, job, now, phase="TimedOut", **known), ()
    if resize.until is None:
        return _shrink(state, job, now)
    phase = "Restarting" if resize.restarting else "Draining"
    return _record(state, job, now, phase=phase, until=timestamp(resize.until), **known), ()


def _shrink(
    state: ReconcileState, job: JobReport, now: datetime
) -> tuple[ResizeStatus | None, tuple[RestartedJob, ...]]:
    """Return the record of a shrink whose pods go, with the jobs that could not finish."""
    stored = state.cluster.status
    if stored.resize is not None and stored.resize.phase in {"TimedOut", "JobsRestarted"}:
        return stored.resize, restarted_jobs.of_cause(stored.restarted_jobs, "Resize")
    return _record(state, job, now, phase="Shrinking"), ()


def _record(state: ReconcileState, job: JobReport, now: datetime, **fields: Any) -> ResizeStatus:
    stored, cluster = state.cluster.status.resize, state.cluster
    begun = timestamp(state.resize.since) if state.resize.since else ""
    size = cluster.status.size * parts(cluster) or job.parallelism
    if stored is not None:
        begun = begun or stored.started_at
        size = stored.from_ if stored.to == state.size else job.parallelism
    return ResizeStatus(
        started_at=begun or timestamp(now),
        from_=size,
        to=state.size,
        generation=cluster.metadata.generation,
        **fields,
    )


def _pods(state: ReconcileState, job: JobReport) -> int:
    """Return how many pods there are: in a resize the Job's active ones, else its parallelism.

    A resize has also begun where the Job was changed, and the operator ended before it wrote the status.
    """
    stored = state.cluster.status
    known = stored.size * parts(state.cluster)
    begun = stored.resize is not None or known not in {0, job.parallelism}
    return job.active if begun and job.parallelism == state.resize.pods else job.parallelism


def _message(resize: ResizeStatus, jobs: Iterable[RestartedJob], cluster: MiniCluster) -> str:
    if resize.phase == "Growing":
        again = f": {ranks.named(resize.returning)} to get jobs again" if resize.returning else ""
        return f"growing to {resize.to} pods{again}"
    detail = _detail(resize, jobs, cluster.spec.drain_timeout_seconds)
    return f"shrinking to {resize.to} pods{detail}"


def _detail(resize: ResizeStatus, jobs: Iterable[RestartedJob], seconds: int) -> str:
    """Return what a shrink waits for, or did not wait for, as the end of a message."""
    leaving, busy = ranks.named(resize.leaving), ranks.named(resize.busy or "")
    why = f" ({resize.error})" if resize.error else ""
    unknown = f"whether jobs run on {leaving} is not known{why}"
    over = f": after {seconds} s (spec.drainTimeoutSeconds) "
    match resize.phase:
        case "JobsRestarted":
            named = restarted_jobs.of_cause(jobs, "Resize")
            became = restarted_jobs.sentence(named, resize.restarted, resize.lost)
            return f"{over}jobs on {leaving} could not finish{became}"
        case "TimedOut":
            return over + (f"{busy} still had jobs, which end with their pods" if busy else unknown)
        case "Restarting":
            return f": the jobs on {leaving} did not end in time, and are started again elsewhere"
        case "Draining":
            waits = f"the jobs on {busy}" if busy else f"{leaving} to be drained"
            found = unknown if resize.busy is None else f"waiting for {waits}"
            return f": {found}; they go at {resize.until} at the latest"
    return ""
