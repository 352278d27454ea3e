"""Money: what bursts may cost at worst is reserved, and becomes what they have cost once they are deleted.

A reservation is made in the transaction that takes the slot. So at each commit the sum of a scope is at most
its budget; a burst that costs more than was expected, as its deletion hangs, uses up what others could have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    String,
    Table,
    func,
    insert,
    select,
    update,
)

from burst.errors import BudgetExceeded
from burst.ledger.metadata import METADATA
from burst.planning import money

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.planning.records import BudgetLimit

RESERVATIONS = Table(
    "burst_reservation",
    METADATA,
    Column("burst", String(26), ForeignKey("burst.id", ondelete="CASCADE"), primary_key=True),
    Column("scope", String(140), primary_key=True),
    Column("at", Double, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("is_charged", Boolean, nullable=False),
)
Index("ix_burst_reservation_scope_at", RESERVATIONS.c.scope, RESERVATIONS.c.at)


async def spent(connection: AsyncConnection, scope: str, since: float = 0.0) -> int:
    """Return what the bursts since a time have reserved and been charged in a scope."""
    total = func.coalesce(func.sum(RESERVATIONS.c.amount), 0)
    where = (RESERVATIONS.c.scope == scope, RESERVATIONS.c.at >= since)
    return int((await connection.execute(select(total).where(*where))).scalar_one())


async def spent_by_user(connection: AsyncConnection, since: float = 0.0) -> dict[str, int]:
    """Return the same for each user who has any."""
    scope, total = RESERVATIONS.c.scope, func.sum(RESERVATIONS.c.amount)
    where = (scope.startswith("user:"), RESERVATIONS.c.at >= since)
    rows = await connection.execute(select(scope, total).where(*where).group_by(scope))
    return {name.removeprefix("user:"): int(amount) for name, amount in rows}


async def reserve(
    connection: AsyncConnection,
    burst: str,
    amounts: Mapping[str, int],
    limits: Sequence[BudgetLimit],
    now: float,
) -> None:
    """Reserve amounts by scope, within the limits of those that have any.

    Raises BudgetExceeded, which names the scope: then nothing is reserved.
    """
    concerned = [
        (scope, amount, limit)
        for scope, amount in amounts.items()
        for limit in limits
        if limit.is_about(scope)
    ]
    for scope, amount, limit in concerned:
        left = limit.amount - await spent(connection, scope, limit.since)
        if amount > left:
            texts = (money.encode(amount), money.encode(max(left, 0)))
            raise BudgetExceeded(f"budget {scope}: its burst may cost {texts[0]}, and {texts[1]} is left")
    rows = [
        {"burst": burst, "scope": scope, "at": now, "amount": amount, "is_charged": False}
        for scope, amount in amounts.items()
    ]
    await connection.execute(insert(RESERVATIONS), rows)


async def of_burst(connection: AsyncConnection, burst: str) -> dict[str, int]:
    """Return what is reserved for a burst, or was charged, by scope."""
    found = select(RESERVATIONS.c.scope, RESERVATIONS.c.amount).where(RESERVATIONS.c.burst == burst)
    return {scope: int(amount) for scope, amount in await connection.execute(found)}


async def of_all(connection: AsyncConnection, scope: str) -> dict[str, tuple[float, int | None]]:
    """Return when each burst has reserved in a scope, by id, and what it was charged: None, not yet."""
    columns = (RESERVATIONS.c.burst, RESERVATIONS.c.at, RESERVATIONS.c.amount, RESERVATIONS.c.is_charged)
    rows = await connection.execute(select(*columns).where(RESERVATIONS.c.scope == scope))
    return {burst: (at, int(amount) if charged else None) for burst, at, amount, charged in rows}


async def set_amounts(
    connection: AsyncConnection, burst: str, amounts: Mapping[str, int], *, is_charged: bool
) -> None:
    """Set what a burst uses of its scopes: what it has cost (`is_charged`), or more than was reserved."""
    for scope, amount in amounts.items():
        where = (RESERVATIONS.c.burst == burst, RESERVATIONS.c.scope == scope)
        values = {"amount": amount, "is_charged": is_charged}
        await connection.execute(update(RESERVATIONS).where(*where).values(values))
