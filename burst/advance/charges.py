"""What a burst has cost so far, from what was observed of its resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.ledger import reservations
from burst.planning import money
from burst.planning.plan import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.lifecycle.records import BurstRecord, ResourceRecord


def cost(burst: BurstRecord, resources: Sequence[ResourceRecord], now: float) -> int:
    """Return what nodes have cost since each resource was made, until it was gone."""
    found = 0
    for resource in resources:
        if resource.made_at is not None:
            end = now if resource.gone_at is None else resource.gone_at
            found += money.cost(burst.price, resource.key.nodes, max(end - resource.made_at, 0.0))
    return found


def amounts(burst: BurstRecord, total: int) -> dict[str, int]:
    """Return a total by scope, each in proportion to what is reserved at worst."""
    worst = max(burst.amounts.get(ALL, 0), 1)
    return {scope: -(-total * reserved // worst) for scope, reserved in burst.amounts.items()}


async def keep_up(connection: AsyncConnection, burst: BurstRecord, so_far: int) -> None:
    """Have a burst that has cost more than was expected at worst use up its budgets."""
    found = amounts(burst, so_far).items()
    beyond = {scope: amount for scope, amount in found if amount > burst.amounts[scope]}
    await reservations.set_amounts(connection, burst.id, beyond, is_charged=False)


async def charge(
    connection: AsyncConnection, burst: BurstRecord, resources: Sequence[ResourceRecord], now: float
) -> Mapping[str, int]:
    """Charge a deleted burst what it has cost, in place of what was reserved; return that by scope."""
    found = amounts(burst, cost(burst, resources, now))
    await reservations.set_amounts(connection, burst.id, found, is_charged=True)
    return found
