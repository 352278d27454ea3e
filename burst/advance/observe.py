"""What is asked about a burst before its next step: what its state needs, and no more.

The provider of a burst that is active, or drains, is asked only where its lead misses a rank, or does not
answer: brokers that answer there run on machines that are there (decision 0069).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from burst.advance.context import called
from burst.errors import ClusterGone, LeadAway, ProviderError, RetryLater
from burst.lifecycle.isolation import StandInView
from burst.lifecycle.records import BurstObservation
from burst.lifecycle.states import BurstState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from burst.advance.context import AdvanceContext
    from burst.lifecycle.records import BurstRecord, ResourceRecord, ResourceReport, SlotView

_RESOURCES = {BurstState.PROVISIONING, BurstState.JOINING, BurstState.ACTIVE, BurstState.DELETING}
_WHOLE = {BurstState.ACTIVE, BurstState.DRAINING}
_SLOT = {BurstState.JOINING, BurstState.ACTIVE, BurstState.DRAINING, BurstState.DELETING}
_STOOD = {BurstState.ACTIVE, BurstState.DRAINING, BurstState.DELETING}
_REMOTE = {BurstState.JOINING, BurstState.ACTIVE, BurstState.DRAINING}


async def observe(
    context: AdvanceContext, burst: BurstRecord, resources: Sequence[ResourceRecord]
) -> BurstObservation:
    """Return what is known now. Raises ProviderError."""
    if burst.isolated:
        return await _isolated(context, burst, resources)
    begun = [each for each in resources if each.intent_at is not None and each.gone_at is None]
    slot, is_orphan = await _slot(context, burst) if burst.state in _SLOT else (None, False)
    statuses = {}
    if burst.state in _RESOURCES and not _is_whole(burst, slot):
        statuses = await _statuses(context, burst, begun)
    elif burst.state is BurstState.DRAINING and not _is_whole(burst, slot):
        with contextlib.suppress(ProviderError):  # it only costs: no job waits for this answer
            statuses = await _statuses(context, burst, begun)
    is_gone = burst.state is BurstState.DELETING and not begun
    listed = await _listed(context, burst) if is_gone else ()
    return BurstObservation(statuses, slot, listed, is_orphan, is_gone)


async def _isolated(
    context: AdvanceContext, burst: BurstRecord, resources: Sequence[ResourceRecord]
) -> BurstObservation:
    """Return the same of a burst that does not join: its stand-in here, and its instance elsewhere."""
    begun = [each for each in resources if each.intent_at is not None and each.gone_at is None]
    stood, is_orphan, remote, silent = None, False, None, None
    if burst.state in _STOOD:
        stood, is_orphan = await _stood(context, burst)
    if burst.state in _REMOTE:
        instance = context.remote(burst)
        standing = stood.standing if stood is not None else None
        try:
            remote = await instance.view(standing.received if standing is not None else None)
        except RetryLater:
            silent = instance.silent_since
    is_whole = burst.state is BurstState.ACTIVE and remote is not None and remote.nodes >= burst.nodes
    is_asked = burst.state in {*_RESOURCES, BurstState.DRAINING} and not is_whole
    statuses = await _statuses(context, burst, begun) if is_asked else {}
    is_gone = burst.state is BurstState.DELETING and not begun
    listed = await _listed(context, burst) if is_gone else ()
    return BurstObservation(
        statuses,
        listed=listed,
        is_orphan=is_orphan,
        is_listed=is_gone,
        stood=stood,
        remote=remote,
        silent_since=silent,
    )


async def _statuses(
    context: AdvanceContext, burst: BurstRecord, begun: Sequence[ResourceRecord]
) -> dict[str, ResourceReport]:
    provider, wanted = context.provider(burst), context.wanted(burst)
    return {each.key.name: await called(provider.get, each.key, wanted) for each in begun}


async def _stood(context: AdvanceContext, burst: BurstRecord) -> tuple[StandInView | None, bool]:
    """Return what the lead has of its stand-in, if it answers, and whether its MiniCluster is gone."""
    try:
        lead = context.stand_ins(burst.cluster)
        return StandInView(await lead.identity(), await lead.standing(burst.label)), False
    except ClusterGone:
        return None, True
    except LeadAway:
        return None, False


def _is_whole(burst: BurstRecord, slot: SlotView | None) -> bool:
    """Return whether all brokers of a burst answer that has, or had, its jobs."""
    if burst.state not in _WHOLE or slot is None:
        return False
    ranks = frozenset(range(burst.nodes))
    return ranks <= slot.online and ranks.isdisjoint(slot.unresponsive)


async def _slot(context: AdvanceContext, burst: BurstRecord) -> tuple[SlotView | None, bool]:
    """Return what the lead reports, if it answers, and whether its MiniCluster is gone."""
    try:
        return await context.lead(burst.cluster).view(burst.slot, burst.label), False
    except ClusterGone:
        return None, True
    except LeadAway:
        return None, False


async def _listed(context: AdvanceContext, burst: BurstRecord) -> tuple[ResourceReport, ...]:
    listed = await called(context.provider(burst).owned, context.installation)
    return tuple(each for each in listed if each.burst == burst.label)
