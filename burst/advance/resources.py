"""Resources are made and deleted: what is intended, the call, and what was observed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.advance.context import called
from burst.ledger import bursts, node_counts, resources
from burst.lifecycle.states import BurstState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.advance.context import AdvanceContext
    from burst.lifecycle.records import BurstRecord
    from burst.lifecycle.steps import Create, Delete, Intend, NoteEmpty, NoteGone, NoteMade, NoteNodes


async def intend(context: AdvanceContext, burst: BurstRecord, step: Intend) -> None:
    """Write that a resource is about to be made."""
    now, key = context.now(), step.resource.key

    async def work(connection: AsyncConnection) -> None:
        await resources.change(connection, step.resource, intent_at=now)
        if burst.state is BurstState.PLANNED:
            await bursts.change(connection, burst.id, state=BurstState.PROVISIONING, state_since=now)
        text = f"{key.kind} {key.name} is to be made"
        if burst.state is BurstState.PLANNED:
            text = f"{BurstState.PROVISIONING}: {text}"
        await context.ledger.line(connection, burst.id, text)

    await context.ledger.write(work)
    if burst.state is BurstState.PLANNED:
        context.left(burst, now)


async def create(context: AdvanceContext, burst: BurstRecord, step: Create) -> None:
    """Make a resource."""
    provider, resource = context.provider(burst), step.resource
    await called(provider.create, resource.key, resource.token, context.wanted(burst))


async def note_made(context: AdvanceContext, burst: BurstRecord, step: NoteMade, since: float) -> None:
    """Write since when a resource is there, as its provider reports it."""
    await _note(context, burst, step, "there", made_at=since or context.now())


async def note_nodes(context: AdvanceContext, burst: BurstRecord, step: NoteNodes) -> None:
    """Write how many nodes are there."""

    async def work(connection: AsyncConnection) -> None:
        await node_counts.add(connection, burst.id, step.counted)
        text = f"{step.counted.nodes} of {burst.nodes} nodes are there"
        await context.ledger.line(connection, burst.id, text)

    await context.ledger.write(work)


async def delete(context: AdvanceContext, burst: BurstRecord, step: Delete) -> None:
    """Begin to delete a resource."""
    await called(context.provider(burst).delete, step.key, context.wanted(burst))


async def note_gone(context: AdvanceContext, burst: BurstRecord, step: NoteGone) -> None:
    """Write that a resource is gone."""
    await _note(context, burst, step, "gone", gone_at=context.now())


async def note_empty(context: AdvanceContext, burst: BurstRecord, step: NoteEmpty) -> None:
    """Write whether a listing of the provider has something of the burst."""
    found = "nothing" if step.since is not None else "something"
    await context.ledger.note(burst.id, f"its provider lists {found} of it", empty_since=step.since)


async def _note(
    context: AdvanceContext, burst: BurstRecord, step: NoteMade | NoteGone, what: str, **values: float
) -> None:
    key = step.resource.key

    async def work(connection: AsyncConnection) -> None:
        await resources.change(connection, step.resource, **values)
        await context.ledger.line(connection, burst.id, f"{key.kind} {key.name} is {what}")

    await context.ledger.write(work)
