"""Whether the MiniCluster is on its way to another size, and what that waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config import idset
from minicluster.plan import dumps
from minicluster.plan.constants import ConditionType, Reason
from minicluster.plan.finding import Finding
from minicluster.plan.situation import Outcome

if TYPE_CHECKING:
    from minicluster.plan.records import JobReport
    from minicluster.plan.situation import Situation


def resizing(situation: Situation) -> Finding:
    """Return whether pods come or go, or ranks are about to."""
    job = situation.job
    if job is None or situation.outcome is not Outcome.NONE or situation.suspended:
        return _at_size(situation)
    if situation.resize.released:
        return _shrinking(situation)
    if situation.resize.held:
        return _draining(situation)
    missing = situation.size - _pods(situation, job)
    if missing > 0:
        return Finding("True", Reason.GROWING, f"growing to {situation.size} pods")
    if situation.resize.returning:
        message = f"growing to {situation.size} pods: {_ranks(situation.resize.returning)} to get jobs again"
        return Finding("True", Reason.GROWING, message)
    return _shrinking(situation) if missing else _at_size(situation)


def _at_size(situation: Situation) -> Finding:
    return Finding("False", Reason.AT_SIZE, f"the MiniCluster has its size of {situation.size}")


def _pods(situation: Situation, job: JobReport) -> int:
    """Return how many pods there are: as many as the Job was told, and once it was, those that are there.

    A resize has begun also where the Job was told, and whoever told it came not to write that down.
    """
    told = situation.cluster.status.size
    begun = situation.previous(ConditionType.RESIZING, "True") is not None or told not in {0, job.parallelism}
    return job.active if begun and job.parallelism == situation.resize.pods else job.parallelism


def _shrinking(situation: Situation) -> Finding:
    """Say that pods go, and as long as they do, what was not waited for."""
    told = situation.previous(ConditionType.RESIZING, "True")
    if told is not None and told.reason in {Reason.DRAIN_TIMED_OUT, Reason.JOBS_RESTARTED}:
        return Finding("True", told.reason, told.message)
    return Finding("True", Reason.SHRINKING, f"shrinking to {situation.size} pods")


def _draining(situation: Situation) -> Finding:
    """Say for what a shrink waits, or what it did not wait for any longer."""
    resize, message = situation.resize, f"shrinking to {situation.size} pods"
    leaving, busy = _ranks(resize.held), _ranks(resize.busy or ())
    why = f" ({situation.silence})" if situation.silence else ""
    unknown = f"whether jobs run on {leaving} is not known{why}"
    seconds = situation.cluster.spec.drain_timeout_seconds
    if resize.restarted:
        found = dumps.outcomes(resize.restarted.restarted, resize.restarted.lost).removeprefix("; ")
        message = (
            f"{message}: after {seconds} s (spec.drainTimeoutSeconds) jobs on {leaving} could not finish"
        )
        return Finding("True", Reason.JOBS_RESTARTED, f"{message}; {found}", resize.since)
    if resize.overdue:
        found = f"{busy} still had jobs, which end with their pods" if busy else unknown
        message = f"{message}: after {seconds} s (spec.drainTimeoutSeconds) {found}"
        return Finding("True", Reason.DRAIN_TIMED_OUT, message, resize.since)
    if resize.until is None:
        return _shrinking(situation)
    if resize.restarting:
        message = f"{message}: the jobs on {leaving} did not end in time, and are started again elsewhere"
        return Finding("True", Reason.DRAINING, message, resize.since)
    found = f"waiting for the jobs on {busy}" if busy else f"waiting for {leaving} to be drained"
    found = unknown if resize.busy is None else found
    latest = f"they go at {resize.until:%Y-%m-%dT%H:%M:%SZ} at the latest"
    return Finding("True", Reason.DRAINING, f"{message}: {found}; {latest}", resize.since)


def _ranks(found: tuple[int, ...]) -> str:
    if not found:
        return ""
    return f"{'rank' if len(found) == 1 else 'ranks'} {idset.encode(found)}"
