"""What a burst has cost takes the place of what was reserved for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.ledger import reservations
from burst.planning.plan import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.lifecycle.records import BurstRecord


def amounts(burst: BurstRecord, total: int) -> dict[str, int]:
    """Return a total by scope, each in proportion to what is reserved at worst."""
    worst = max(burst.amounts.get(ALL, 0), 1)
    return {scope: -(-total * reserved // worst) for scope, reserved in burst.amounts.items()}


async def keep_up(connection: AsyncConnection, burst: BurstRecord, so_far: int) -> None:
    """Have a burst that has cost more than was expected at worst use up its budgets."""
    found = amounts(burst, so_far).items()
    beyond = {scope: amount for scope, amount in found if amount > burst.amounts[scope]}
    await reservations.set_amounts(connection, burst.id, beyond, is_charged=False)


async def charge(connection: AsyncConnection, burst: BurstRecord, total: int) -> Mapping[str, int]:
    """Charge a burst of which nothing is left what it has cost; return that by scope."""
    found = amounts(burst, total)
    await reservations.set_amounts(connection, burst.id, found, is_charged=True)
    return found
