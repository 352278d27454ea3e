"""Everything that providers list is compared with the ledger: what belongs to no burst is deleted.

It is the second line of defence: for what was made by a call whose effect came long after it was given up,
and for what is left of a ledger that was lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from burst import listed_nodes
from burst.advance.context import called
from burst.errors import ProviderError
from burst.ledger import bursts, locations
from burst.lifecycle.records import ResourcePhase
from burst.providers.provider import WantedBurst

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.advance.context import AdvanceContext
    from burst.ledger.locations import UsedLocation
    from burst.lifecycle.records import ResourceReport
    from burst.providers.provider import BurstProvider

ORPHAN_SECONDS = 120.0
"""Seconds for which something unknown is left alone: listings and clocks differ."""
EXPIRED_SECONDS = 900.0
"""Seconds after its end for which something is left to the service that has made it."""
OPEN = "open"
"""What is done about something that a service may use which is alive: nothing."""


class Swept(NamedTuple):
    """What became of something that no burst has."""

    provider: str
    status: ResourceReport
    action: str
    """`young`, `going`, `deleted`, `would be deleted`, or why it was not."""


class SweepReport(NamedTuple):
    """What a sweep has found."""

    orphans: tuple[Swept, ...]
    unswept: tuple[str, ...]
    """Locations that were not swept, each with the reason."""
    listed: tuple[str, ...] = ()
    """Names of providers that have listed what is there."""


async def sweep(
    context: AdvanceContext,
    installation: str = "",
    *,
    is_dry: bool = False,
    is_expired: bool = False,
    has_open: bool = False,
) -> SweepReport:
    """Sweep all locations ever used, and those of the settings. Raises LeaseLost and DatabaseError.

    Of another installation, by its id, nothing but the id is known: the locations of the settings are swept,
    and all that has its label is without a burst. Its service may be alive: what has not passed its end is
    reported as open, or not at all with `is_expired`, and only deleted with `has_open`.
    """
    is_own = installation in {"", context.installation}
    if not is_own:
        context, used = replace(context, installation=installation), []
    else:
        used = await context.ledger.read(locations.used)
    known: dict[tuple[str, str], UsedLocation | None] = {
        **{(each.name, each.location): None for each in context.providers.values()},
        **{(each.provider, each.location): each for each in used},
    }
    how = _Sweeping(is_dry, is_own, is_expired, has_open)
    orphans: list[Swept] = []
    unswept: list[str] = []
    listed: list[str] = []
    for (name, location), record in known.items():
        found = context.providers.get(name)
        if found is None or found.location != location:
            unswept.append(f"{name} in {location}: the settings do not have it any more")
            continue
        try:
            swept = await _sweep(context, found, how)
        except ProviderError as error:
            unswept.append(f"{name} in {location}: {error}")
            continue
        orphans += swept
        listed.append(name)
        if record is not None and not is_dry:
            await _note(context, record, is_empty=not swept)
    return SweepReport(tuple(orphans), tuple(unswept), tuple(listed))


class _Sweeping(NamedTuple):
    is_dry: bool
    is_own: bool
    """Whether it is the installation of this ledger, whose bursts are known."""
    is_expired: bool
    has_open: bool

    def is_open(self, status: ResourceReport, now: float) -> bool:
        """Return whether a service may use it that is not known here."""
        is_kept = self.is_expired or not (self.is_own or self.has_open)
        return is_kept and (not status.until or now < status.until + EXPIRED_SECONDS)


async def _sweep(context: AdvanceContext, provider: BurstProvider, how: _Sweeping) -> list[Swept]:
    listed = list(await called(provider.owned, context.installation))
    # Read after the listing: the row of each burst was there before anything of it could be listed.
    labels = {each.label for each in await context.ledger.read(bursts.opened)}
    if how.is_own and not how.is_dry:
        await listed_nodes.note(context, provider, listed)
    found = []
    for status in listed:
        if status.burst in labels or status.installation != context.installation:
            continue
        if not how.is_open(status, context.now()):
            action = await _orphan(context, provider, status, is_dry=how.is_dry)
            found.append(Swept(provider.name, status, action))
        elif not how.is_expired:
            found.append(Swept(provider.name, status, OPEN))
    return found


async def _orphan(
    context: AdvanceContext, provider: BurstProvider, status: ResourceReport, *, is_dry: bool
) -> str:
    """Delete something that no burst has; return what was done."""
    if status.phase is ResourcePhase.GOING:
        return "going"
    if context.now() - status.since < ORPHAN_SECONDS:
        return "young"
    if is_dry:
        return "would be deleted"
    wanted = WantedBurst(status.burst, status.installation, status.key.nodes, "", spot=False, until=0.0)
    try:
        await called(provider.delete, status.key, wanted)
    except ProviderError as error:
        return f"not deleted: {error}"
    return "deleted"


async def _note(context: AdvanceContext, used: UsedLocation, *, is_empty: bool) -> None:
    since = (used.empty_since or context.now()) if is_empty else None
    if since == used.empty_since:
        return

    async def work(connection: AsyncConnection) -> None:
        await locations.note_empty(connection, used.provider, used.location, since)

    await context.ledger.write(work)
