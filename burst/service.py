"""The service: takes every burst on, step by step, and sweeps from time to time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from burst.advance.advance import advance
from burst.asked import stop
from burst.ledger import bursts
from burst.lifecycle.steps import Wait
from burst.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from burst.advance.context import AdvanceContext
    from burst.lifecycle.records import BurstRecord
    from burst.sweep import SweepReport

SWEEP_INTERVAL = 120.0
"""Seconds between two sweeps."""
MAX_STEPS = 50
"""Of one burst before others have their turn."""


class BurstService:
    """One process; of several the one that has the lease does the work."""

    def __init__(self, context: AdvanceContext, *, in_turn: bool = False) -> None:
        """`in_turn`: one provider after the other, so that the same happens each time (rehearsals)."""
        self._context = context
        self._in_turn = in_turn
        self._quiet: dict[str, float] = {}
        """Until when a burst needs nobody."""
        self.swept: float | None = None
        """When the last sweep has ended, in seconds since 1970."""
        self.report: SweepReport | None = None
        """What the last sweep has found."""
        self.listed = dict.fromkeys(context.providers, context.now())
        """When each provider has last listed what is there; before that, when this service began."""

    @property
    def quiet_until(self) -> float:
        """Until when no burst needs anybody, as far as the last tick has seen: 0 where one does now."""
        return min(self._quiet.values(), default=0.0)

    async def _advance(self, every: Sequence[BurstRecord]) -> None:
        """Take bursts of one provider on, one after the other."""
        for burst in every:
            await self._context.ledger.keep()
            before = None
            for _ in range(MAX_STEPS):
                step = await advance(self._context, burst.id)
                if step == before:  # it has changed nothing that can be seen yet: listings lag
                    break
                before = step
                if isinstance(step, Wait):
                    self._quiet[burst.id] = self._context.now() + step.seconds
                    break

    async def _stop(self, opened: Sequence[BurstRecord]) -> None:
        """Stop the bursts of MiniClusters that are being deleted."""
        for burst in opened:
            if not burst.stopping and self._context.is_ending(burst.cluster):
                await stop(self._context.ledger, burst.id, "its MiniCluster is being deleted")

    async def tick(self) -> None:
        """Do what can be done now. Raises LeaseLost if another process has the lease, and DatabaseError."""
        context = self._context
        await context.ledger.acquire()
        opened = await context.ledger.read(bursts.opened)
        await self._stop(opened)
        by_provider: dict[str, list[BurstRecord]] = {}
        now = context.now()
        self._quiet = {each.id: self._quiet.get(each.id, now) for each in opened}
        for burst in opened:
            if self._quiet[burst.id] <= now or burst.stopping or context.is_ending(burst.cluster):
                by_provider.setdefault(burst.provider, []).append(burst)
        if self._in_turn:
            for every in by_provider.values():
                await self._advance(every)
            by_provider.clear()
        # One whose calls take long does not delay the bursts of others.
        ended = await asyncio.gather(*map(self._advance, by_provider.values()), return_exceptions=True)
        for error in ended:
            if error is not None:
                raise error
        if self.swept is None or context.now() - self.swept >= SWEEP_INTERVAL:
            self.report = await sweep(context)
            self.swept = context.now()
            self.listed |= dict.fromkeys(self.report.listed, self.swept)
