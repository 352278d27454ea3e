"""The service: takes every burst on, step by step, and sweeps from time to time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.advance.advance import advance
from burst.ledger import bursts
from burst.lifecycle.steps import Wait
from burst.sweep import sweep

if TYPE_CHECKING:
    from burst.advance.context import AdvanceContext
    from burst.sweep import SweepReport

SWEEP_INTERVAL = 120.0
"""Seconds between two sweeps."""
MAX_STEPS = 50
"""Of one burst before others have their turn."""


class BurstService:
    """One process; of several the one that has the lease does the work."""

    def __init__(self, context: AdvanceContext) -> None:
        self._context = context
        self._swept: float | None = None
        self.report: SweepReport | None = None
        """What the last sweep has found."""

    async def tick(self) -> None:
        """Do what can be done now. Raises LeaseLost if another process has the lease, and DatabaseError."""
        context = self._context
        await context.ledger.acquire()
        for burst in await context.ledger.read(bursts.opened):
            for _ in range(MAX_STEPS):
                if isinstance(await advance(context, burst.id), Wait):
                    break
        if self._swept is None or context.now() - self._swept >= SWEEP_INTERVAL:
            self.report = await sweep(context)
            self._swept = context.now()
