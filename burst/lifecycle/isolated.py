"""The states that an isolated burst has of its own: its job runs in an instance elsewhere.

Here a stand-in takes the job's place, and only once it runs is the job submitted there: held, so that should
a submission whose answer was lost come late, one of the two runs and the other never does.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from broker_config.formats import durations
from burst.lifecycle import steps
from burst.lifecycle.life import NOT_THERE, given_up, limit, lost, orphaned, uncounted
from burst.lifecycle.states import BurstOutcome, BurstState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.lifecycle.isolation import JobElsewhere, RemoteView, StandIn
    from burst.lifecycle.life import Life
    from burst.lifecycle.steps import BurstStep

POLL = 1.0
"""Seconds between two looks at what a job elsewhere has written."""
FAILED_STATUS = 1 << 8
"""The wait status of a job that ended with exit code 1."""
NO_ANSWER, NO_LEAD = "its instance does not answer", "the lead does not answer"


def joining(life: Life) -> Iterator[BurstStep]:
    """Yield what has to be there before the job may leave: an instance with all of its brokers."""
    burst, remote = life.burst, life.observed.remote
    there = remote.nodes if remote is not None else 0
    yield from orphaned(life)
    yield from given_up(life, f"{there} of {burst.nodes} nodes of its instance were there in {{}}")
    for resource in life.resources:
        yield from lost(life, resource, NOT_THERE)
    if remote is None:
        yield steps.Wait(NO_ANSWER)
        return
    if there < burst.nodes:
        yield steps.Wait(f"{there} of {burst.nodes} nodes of its instance are there")
    if remote.instance != burst.remote:
        yield steps.NoteRemote(remote.instance)
    yield from uncounted(life)
    yield steps.Enter(BurstState.ACTIVE)


def active(life: Life) -> Iterator[BurstStep]:
    """Yield the life of the job: here it has its place taken, there it runs, and all that it writes comes."""
    yield from orphaned(life)
    if life.burst.stopping:
        yield steps.Enter(BurstState.DRAINING, BurstOutcome.STOPPED, "somebody stopped it")
    if life.now >= life.burst.until:
        yield steps.Enter(BurstState.DRAINING, BurstOutcome.EXPIRED, "its time is over")
    [job] = life.jobs
    if job.outcome:
        reason = "its job has ended" if job.moved_at is not None else f"it has nothing to do: {job.outcome}"
        yield steps.Enter(BurstState.DRAINING, BurstOutcome.SUCCEEDED, reason)
    for resource in life.resources:
        yield from lost(life, resource, NOT_THERE)
    yield from _left(life)
    stood, remote = life.observed.stood, life.observed.remote
    if stood is None or remote is None:
        yield steps.Wait(NO_LEAD if stood is None else NO_ANSWER)
        return
    standing = stood.standing
    if standing is None and stood.instance != life.burst.instance:
        reason = "the lead has begun anew, and does not know its jobs"
        yield steps.Enter(BurstState.DELETING, BurstOutcome.FAILED, reason)
    if standing is not None and standing.is_canceled:
        yield steps.Enter(BurstState.DRAINING, BurstOutcome.STOPPED, "somebody canceled its job")
    if standing is None or standing.is_over or job.moved_at is None:
        yield steps.StandInFor(job.job)
        return
    if not standing.is_running:
        yield steps.Wait("its job has its place here still")
    yield from _elsewhere(life, remote, job.job)


def _left(life: Life) -> Iterator[BurstStep]:
    """Yield the end of a burst whose instance is not there any more, or is another one."""
    remote, since = life.observed.remote, life.observed.silent_since
    if remote is not None and remote.instance != life.burst.remote:
        reason = "its instance has begun anew, and does not know its job"
        yield steps.Enter(BurstState.DELETING, BurstOutcome.FAILED, reason)
    if remote is None and since is not None and life.now - since >= life.timeouts.lost:
        reason = f"its instance did not answer for {durations.encode(life.timeouts.lost)}"
        yield steps.Enter(BurstState.DELETING, BurstOutcome.FAILED, reason, asks_brokers=True)


def _elsewhere(life: Life, remote: RemoteView, job: int) -> Iterator[BurstStep]:
    """Yield what is done for a job whose original will never run here."""
    there = remote.job
    if there is None:
        yield steps.SubmitThere(job)
        return
    if there.is_on_hold:
        yield steps.ReleaseThere()
    if there.parts:
        yield steps.Carry(there.parts)
    if not there.is_over:
        yield steps.Wait("its job runs elsewhere", min(POLL, max(life.burst.until - life.now, 0.0)))
    if not there.has_results:
        yield steps.Finish(job, there.status, note=there.note)
    packed = remote.results
    if packed is None:
        yield steps.PackThere()
        return
    if packed.parts:
        yield steps.Carry(packed.parts)
    if not packed.is_over:
        yield steps.Wait("its results are packed elsewhere", POLL)
    note = "; ".join(filter(None, (there.note, packed.error and f"no results: {packed.error}")))
    yield steps.Finish(job, there.status or (FAILED_STATUS if packed.error else 0), packed.digest, note)


def draining(life: Life) -> Iterator[BurstStep]:
    """Yield the end of the job elsewhere, and that of its stand-in, with the reason in words."""
    yield from orphaned(life)
    [job] = life.jobs
    stood, remote = life.observed.stood, life.observed.remote
    standing = stood.standing if stood is not None else None
    there = remote.job if remote is not None and remote.instance == life.burst.remote else None
    if not life.is_late:
        yield from _ended(life, there)
    is_open = standing is not None and not standing.is_over and not job.outcome
    if standing is not None and is_open and not life.is_late:
        yield from _carried(life, there, standing)
    if is_open:
        ended = there is not None and there.is_over and there.status and not there.is_canceled
        status = there.status if there is not None and ended else FAILED_STATUS
        yield steps.Finish(job.job, status, note=f"{life.burst.reason}: burst {life.burst.label} is over")
    runs_on = life.is_late and there is not None and not there.is_over
    reason = f"its job did not end in {limit(life)}" if runs_on else ""
    yield steps.Enter(BurstState.DELETING, reason=reason)


def _ended(life: Life, there: JobElsewhere | None) -> Iterator[BurstStep]:
    """Yield what ends the job elsewhere."""
    [job] = life.jobs
    if there is not None and not there.is_over and not there.is_canceled:
        yield steps.CancelThere(f"{life.burst.reason}: burst {life.burst.label} ends")
    if there is not None and not there.is_over:
        yield steps.Wait("its job elsewhere has not ended")
    if life.observed.stood is None and not job.outcome:
        yield steps.Wait(NO_LEAD)
    if life.observed.remote is None and not job.outcome and not _is_gone(life):
        yield steps.Wait(NO_ANSWER)


def _carried(life: Life, there: JobElsewhere | None, standing: StandIn) -> Iterator[BurstStep]:
    """Yield what brings the last output of a job, unless the lead refuses it."""
    is_taken = standing.is_running and life.burst.outcome is not BurstOutcome.FAILED
    if there is not None and there.parts and is_taken:
        yield steps.Carry(there.parts)


def _is_gone(life: Life) -> bool:
    """Return whether nothing of its instance answers because nothing is there."""
    found = [life.status(each) for each in life.resources]
    return any(each is not None and each.phase in NOT_THERE for each in found)


def words(status: int) -> str:
    """Return how a job ended, by its wait status."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"ended by signal {-code}"
    return f"ended with exit code {code}" if code else "completed"
