"""One step of one burst: observe, decide, do it, write what came of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from burst.advance import charges, isolated, resources, slot
from burst.advance.context import called
from burst.advance.enter import enter
from burst.advance.observe import observe
from burst.advance.reserve import reserve
from burst.errors import LeadAway, ProviderError, RetryLater
from burst.ledger import bursts, node_counts
from burst.ledger import jobs as job_table
from burst.ledger import resources as resource_table
from burst.lifecycle import metering, steps
from burst.lifecycle.machine import Life, next_step
from burst.lifecycle.records import BurstObservation
from burst.lifecycle.states import BurstOutcome, BurstState
from burst.planning.plan import ALL

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.advance.context import AdvanceContext
    from burst.lifecycle.records import BurstRecord
    from burst.lifecycle.steps import BurstStep

_BEGINNING = {BurstState.PLANNED, BurstState.PROVISIONING}
"""Where a provider's refusal ends a burst. Later on a call is tried again for as long as it takes."""


async def advance(context: AdvanceContext, burst: str) -> BurstStep:
    """Do what is next for a burst, and return what that was. Raises LeaseLost and DatabaseError."""
    life = await _life(context, burst)
    found = life.burst
    if found.state is BurstState.DELETED:
        return steps.Wait("it is deleted")
    if context.now() < found.next_try:
        return steps.Wait(f"tried again later: {found.reason}")
    try:
        life = life._replace(observed=await observe(context, found, life.resources), now=context.now())
        step = next_step(life)
        await _execute(context, life, step)
    except (ProviderError, LeadAway) as error:
        return await _failed(context, life, error)
    if found.attempts and not isinstance(step, steps.Wait | steps.Enter):
        await context.ledger.note(found.id, "served again", attempts=0, next_try=0.0)
    return step


async def _life(context: AdvanceContext, burst: str) -> Life:
    async def work(connection: AsyncConnection) -> Life:
        found = await bursts.by_id(connection, burst)
        made = await resource_table.of_burst(connection, burst)
        jobs = await job_table.of_burst(connection, burst)
        counts = await node_counts.of_burst(connection, burst)
        nothing, now = BurstObservation(), context.now()
        return Life(found, made, jobs, nothing, now, context.deadlines(found), counts)

    return await context.ledger.read(work)


async def _execute(context: AdvanceContext, life: Life, step: BurstStep) -> None:  # noqa: C901, PLR0912 - a case a step
    burst = life.burst
    match step:
        case steps.Wait():
            await _keep_up(context, life)
        case steps.Enter():
            await enter(context, life, await _explained(context, burst, step))
        case steps.ReserveSlot():
            await reserve(context, burst)
        case steps.Intend():
            await resources.intend(context, burst, step)
        case steps.Create():
            await resources.create(context, burst, step)
        case steps.NoteMade():
            status = life.status(step.resource)
            await resources.note_made(context, burst, step, status.since if status is not None else 0.0)
        case steps.NoteNodes():
            await resources.note_nodes(context, burst, step)
        case steps.Delete():
            await resources.delete(context, burst, step)
        case steps.NoteGone():
            await resources.note_gone(context, burst, step)
        case steps.NoteEmpty():
            await resources.note_empty(context, burst, step)
        case steps.Probe():
            await slot.probe(context, burst, step)
        case steps.Assign():
            await slot.assign(context, burst, step)
        case steps.OpenQueue():
            await slot.open_queue(context, burst, step)
        case steps.NoteIdle():
            await slot.note_idle(context, burst, step)
        case steps.Close():
            await slot.close(context, burst, step, life.jobs)
        case steps.Restart():
            await slot.restart(context, burst, step)
        case steps.Conclude():
            await (isolated if burst.isolated else slot).conclude(context, burst, step)
        case _:
            await isolated.execute(context, burst, step)


async def _explained(context: AdvanceContext, burst: BurstRecord, step: steps.Enter) -> steps.Enter:
    """Return a step whose reason has what brokers wrote, if they did; not knowing it delays nothing."""
    if not step.asks_brokers:
        return step
    with contextlib.suppress(ProviderError):
        found = await called(context.provider(burst).broker_problem, context.wanted(burst))
        if found and found not in step.reason:
            return step._replace(reason=f"{step.reason}: {found}")
    return step


async def _keep_up(context: AdvanceContext, life: Life) -> None:
    """Write what a burst costs beyond what was expected at worst, while it lasts."""
    burst = life.burst
    so_far = metering.cost(burst, life.resources, life.counts, life.now)
    if so_far <= burst.amounts.get(ALL, 0):
        return

    async def work(connection: AsyncConnection) -> None:
        await charges.keep_up(connection, burst, so_far)

    await context.ledger.write(work)


async def _failed(context: AdvanceContext, life: Life, error: ProviderError | LeadAway) -> BurstStep:
    """Try again later, or end a burst that can never be made."""
    burst, is_final = life.burst, isinstance(error, ProviderError) and not isinstance(error, RetryLater)
    step = _unobserved(life)
    if is_final and burst.state in _BEGINNING:
        step = steps.Enter(BurstState.DELETING, BurstOutcome.FAILED, str(error))
    if step is not None:
        await enter(context, life, step)
        return step
    timeouts = life.timeouts
    delay = min(timeouts.retry * 2.0 ** min(burst.attempts, 16), timeouts.last_retry)
    delay = max(delay, error.after if isinstance(error, RetryLater) else 0.0)
    values = {"attempts": burst.attempts + 1, "next_try": context.now() + delay}
    await context.ledger.note(burst.id, f"{burst.state}, tried again later: {error}", **values)
    await _keep_up(context, life)
    return steps.Wait(str(error))


def _unobserved(life: Life) -> steps.Enter | None:
    """Return the end of a state whose time is over, whatever could be observed; None: it goes on."""
    if life.burst.state is BurstState.DELETING:
        return None
    step = next_step(life._replace(observed=BurstObservation()))
    return step if isinstance(step, steps.Enter) else None


def is_stuck(context: AdvanceContext, burst: BurstRecord) -> bool:
    """Return whether a burst has been in `deleting` for so long that somebody has to see to it."""
    since = context.now() - burst.state_since
    return burst.state is BurstState.DELETING and since >= context.timeouts(burst).stuck
