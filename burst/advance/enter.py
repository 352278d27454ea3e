"""A burst enters a state; with the last one it is charged what it has cost."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from burst.advance import charges
from burst.ledger import bursts
from burst.lifecycle import metering
from burst.lifecycle.states import BurstState
from burst.planning import money
from burst.planning.plan import ALL

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.advance.context import AdvanceContext
    from burst.lifecycle.machine import Life
    from burst.lifecycle.steps import Enter

_log = logging.getLogger(__name__)


async def enter(context: AdvanceContext, life: Life, step: Enter) -> None:
    """Enter a state, and keep the first outcome and its reason."""
    burst, now = life.burst, context.now()
    values: dict[str, Any] = {"state": step.state, "state_since": now, "attempts": 0, "next_try": 0.0}
    if burst.outcome is None and step.outcome is not None:
        values |= {"outcome": step.outcome, "reason": step.reason}

    async def work(connection: AsyncConnection) -> None:
        await bursts.change(connection, burst.id, **values)
        text = f"{step.state}: {step.reason}" if step.reason else str(step.state)
        if step.state is BurstState.DELETED:
            so_far = metering.cost(burst, life.resources, life.counts, now)
            charged = await charges.charge(connection, burst, so_far)
            text = f"{text}: it has cost {money.encode(charged.get(ALL, 0))}"
        await context.ledger.line(connection, burst.id, text)

    await context.ledger.write(work)
    context.left(burst, now)
    why = f": {step.reason}" if step.reason else ""
    _log.info("%s: burst %s: %s%s", burst.cluster_name, burst.label, step.state, why)
