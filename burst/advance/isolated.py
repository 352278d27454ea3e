"""What is done for an isolated burst: at the lead for its stand-in, elsewhere for its job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.jobid import f58
from burst.errors import CallInvalid, SpoolRefused, StandInRefused
from burst.ledger import bursts, jobs
from burst.lifecycle import steps
from burst.lifecycle.isolated import FAILED_STATUS, words
from burst.lifecycle.records import BEGUN_ANEW
from burst.lifecycle.states import BurstOutcome, BurstState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.advance.context import AdvanceContext
    from burst.lifecycle.records import BurstRecord
    from burst.lifecycle.steps import (
        Carry,
        Conclude,
        Finish,
        IsolatedStep,
        NoteRemote,
        StandInFor,
        SubmitThere,
    )

MAX_OUTCOME = 500
"""Characters of a refusal that are kept."""


async def execute(context: AdvanceContext, burst: BurstRecord, step: IsolatedStep) -> None:
    """Do one step that bursts that join do not have. Raises ProviderError and LeadAway."""
    match step:
        case steps.NoteRemote():
            await note_remote(context, burst, step)
        case steps.StandInFor():
            await stand_in_for(context, burst, step)
        case steps.SubmitThere():
            await submit(context, burst, step)
        case steps.ReleaseThere():
            await context.remote(burst).release()
        case steps.Carry():
            await carry(context, burst, step)
        case steps.PackThere():
            await context.remote(burst).pack()
        case steps.CancelThere():
            await context.remote(burst).cancel(step.reason)
        case steps.Finish():
            await finish(context, burst, step)


async def note_remote(context: AdvanceContext, burst: BurstRecord, step: NoteRemote) -> None:
    """Write which instance elsewhere is the burst's."""
    await context.ledger.note(burst.id, "its instance is there, with all nodes", remote=step.instance)


async def stand_in_for(context: AdvanceContext, burst: BurstRecord, step: StandInFor) -> None:
    """Have a stand-in take the job's place; a job that cannot leave stays as it is."""
    lead = context.stand_ins(burst.cluster)
    try:
        await lead.stand_in(burst.label, step.job)
    except StandInRefused as refusal:
        await _concluded(context, burst, step.job, str(refusal), "it keeps its place here")
        return
    found = await lead.standing(burst.label)
    if found is not None and found.is_over and not found.is_canceled:
        # It gets no successor: the end of the job elsewhere was written before, by a process that ended then.
        await _concluded(context, burst, step.job, "ended elsewhere", "its stand-in has ended")
        return

    async def work(connection: AsyncConnection) -> None:
        await jobs.change(connection, burst.id, [step.job], moved_at=context.now())
        what = f"job {f58(found.job)} stands in for {f58(step.job)}" if found is not None else "a stand-in"
        await context.ledger.line(connection, burst.id, what)

    await context.ledger.write(work)


async def submit(context: AdvanceContext, burst: BurstRecord, step: SubmitThere) -> None:
    """Submit the job elsewhere; one that is refused there has failed."""
    jobspec = await context.stand_ins(burst.cluster).jobspec(step.job)
    try:
        number = await context.remote(burst).submit(jobspec)
    except CallInvalid as refusal:
        await _failed(context, burst, f"its job is refused elsewhere: {refusal}")
        return
    await context.ledger.note(burst.id, f"its job is submitted elsewhere, as {f58(number)}")


async def carry(context: AdvanceContext, burst: BurstRecord, step: Carry) -> None:
    """Bring output; a lead that takes none of it for good ends the burst."""
    lead = context.stand_ins(burst.cluster)
    try:
        for each in step.parts:
            if await lead.write(burst.label, each.stream, each.offset, each.data) < each.offset:
                return  # the spool has less than it had: what it lacks comes next
    except SpoolRefused as refusal:
        found = await lead.standing(burst.label)
        if found is not None and not found.is_over:
            await _failed(context, burst, f"what its job wrote is not taken: {refusal}")


async def finish(context: AdvanceContext, burst: BurstRecord, step: Finish) -> None:
    """Let the stand-in end. One that has ended meanwhile is looked at again."""
    lead = context.stand_ins(burst.cluster)
    try:
        await lead.finish(burst.label, step.status, step.digest, step.note)
    except SpoolRefused as refusal:
        found = await lead.standing(burst.label)
        if found is not None and found.is_over:
            return
        await _concluded(context, burst, step.job, str(refusal), "its stand-in cannot end")
        return
    outcome = words(step.status)
    await _concluded(context, burst, step.job, outcome, f"1 job: {outcome}{step.note and f': {step.note}'}")


async def conclude(context: AdvanceContext, burst: BurstRecord, step: Conclude) -> None:
    """Write what became of a job whose instance was lost: as nothing runs there, it may begin anew here."""
    [job] = step.jobs
    lead = context.stand_ins(burst.cluster)
    found = await lead.standing(burst.label)
    if found is None or found.is_over:
        outcome = "the lead does not know its stand-in" if found is None else "its stand-in has ended"
    else:
        outcome = await lead.begin_anew(found.job, job, f"burst {burst.label}: {burst.reason}")
        if not outcome.startswith(BEGUN_ANEW):
            await lead.finish(burst.label, FAILED_STATUS, "", f"burst {burst.label}: {burst.reason}")
    await _concluded(context, burst, job, outcome, f"1 job: {outcome}")


async def _failed(context: AdvanceContext, burst: BurstRecord, reason: str) -> None:
    """End a burst whose job cannot go on: what there is of it is canceled, and its stand-in ends in words."""
    now = context.now()

    async def work(connection: AsyncConnection) -> None:
        values = {"outcome": BurstOutcome.FAILED, "reason": reason[:MAX_OUTCOME]}
        await bursts.change(connection, burst.id, state=BurstState.DRAINING, state_since=now, **values)
        await context.ledger.line(connection, burst.id, f"draining: {reason[:MAX_OUTCOME]}")

    await context.ledger.write(work)
    context.left(burst, now)


async def _concluded(context: AdvanceContext, burst: BurstRecord, job: int, outcome: str, line: str) -> None:
    async def work(connection: AsyncConnection) -> None:
        await jobs.change(connection, burst.id, [job], outcome=outcome[:MAX_OUTCOME])
        await context.ledger.line(connection, burst.id, line[:MAX_OUTCOME])

    await context.ledger.write(work)
