"""What a sweep writes of nodes: those of bursts whose provider is not asked otherwise, now or any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.advance import charges
from burst.errors import BurstUnknown
from burst.ledger import bursts, node_counts, resources
from burst.lifecycle import metering
from burst.lifecycle.states import BurstState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.advance.context import AdvanceContext
    from burst.lifecycle.records import BurstRecord, ResourceReport
    from burst.providers.provider import BurstProvider

LISTING_SECONDS = 120.0
"""For so long the last count of an open burst stands against a listing, which may be older."""
_UNASKED = {BurstState.ACTIVE, BurstState.DRAINING, BurstState.DELETED}


async def note(context: AdvanceContext, provider: BurstProvider, listed: Sequence[ResourceReport]) -> None:
    """Write how many nodes a listing has of each burst of a provider. Raises LeaseLost and DatabaseError.

    A burst that was deleted is charged for what came to light later.
    """
    found = await context.ledger.read(lambda connection: _concerned(connection, provider, listed))
    for burst in found:
        mine = [
            each for each in listed if each.burst == burst.label and each.installation == context.installation
        ]
        await _note(context, burst, mine)


async def _concerned(
    connection: AsyncConnection, provider: BurstProvider, listed: Sequence[ResourceReport]
) -> list[BurstRecord]:
    opened = await bursts.opened(connection)
    known = {each.id for each in opened}
    found = [*opened]
    found += [await bursts.by_id(connection, each) for each in await node_counts.running(connection) - known]
    labels = {each.label for each in found}
    for label in {each.burst for each in listed if metering.nodes_of(each)} - labels:
        try:
            found.append(await bursts.by_label(connection, label))
        except BurstUnknown:
            continue
    where = (provider.name, provider.location)
    return [each for each in found if each.state in _UNASKED and (each.provider, each.location) == where]


async def _note(context: AdvanceContext, burst: BurstRecord, listed: Sequence[ResourceReport]) -> None:
    now, is_over = context.now(), burst.state is BurstState.DELETED
    counts = await context.ledger.read(lambda connection: node_counts.of_burst(connection, burst.id))
    if not is_over and counts and now - counts[-1].at < LISTING_SECONDS:
        return
    count = metering.of_listing(counts, listed, now)
    if count is None:
        return
    if counts and not is_over:  # what it had before was seen
        count = count._replace(at=now)

    async def work(connection: AsyncConnection) -> None:
        await node_counts.add(connection, burst.id, count)
        text = f"{count.nodes} of {burst.nodes} nodes are listed"
        await context.ledger.line(connection, burst.id, text)
        if is_over:
            made = await resources.of_burst(connection, burst.id)
            await charges.charge(connection, burst, metering.cost(burst, made, [*counts, count], now))

    await context.ledger.write(work)
