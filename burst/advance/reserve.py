"""A burst gets its slot, its money and the names of its resources, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.advance.context import called
from burst.errors import BudgetExceeded, SlotTaken
from burst.ledger import bursts, locations, reservations, resources
from burst.lifecycle.states import BurstOutcome, BurstState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.advance.context import AdvanceContext
    from burst.lifecycle.records import BurstRecord


async def reserve(context: AdvanceContext, burst: BurstRecord) -> None:
    """Reserve; a burst for which there is no slot or no money ends, as nothing of it was made."""
    keys = await called(context.provider(burst).resources, context.wanted(burst))
    limits, now = context.limits(burst), context.now()

    async def work(connection: AsyncConnection) -> None:
        other = await bursts.in_slot(connection, burst.cluster, burst.slot)
        if other is not None:
            raise SlotTaken(f"slot {burst.slot} has burst {other.label}, which is {other.state}")
        await reservations.reserve(connection, burst.id, burst.amounts, limits, now)
        await resources.add(connection, burst.id, keys)
        await locations.use(connection, burst.provider, burst.location, now)
        await bursts.change(connection, burst.id, state=BurstState.PLANNED, state_since=now)
        await context.ledger.line(connection, burst.id, "planned: it has its slot and its money")

    try:
        await context.ledger.write(work)
    except (SlotTaken, BudgetExceeded) as refusal:
        await context.ledger.note(
            burst.id,
            f"not possible: {refusal}",
            state=BurstState.DELETED,
            state_since=now,
            outcome=BurstOutcome.NOT_POSSIBLE,
            reason=str(refusal),
        )
    context.left(burst, now)
