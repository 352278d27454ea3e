"""What scopes have cost, as one statement reads it on SQLite and on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.ledger import bursts, reservations, spending
from burst.ledger.spending import ScopeSpending
from tests.burst.ledger.test_ledger import NOW, burst, run

if TYPE_CHECKING:
    from minicluster.database import Database


def test_money_is_summed_by_scope_and_time(url: str) -> None:
    async def scenario(database: Database) -> list[ScopeSpending]:
        async with database.write() as connection:
            for number, (at, amount, is_charged) in enumerate(
                [(NOW, 2**40, True), (NOW + 10, 5, False), (NOW + 20, 7, True), (NOW + 20, 1, False)]
            ):
                one = burst(number)
                await bursts.add(connection, one)
                amounts = {"all": amount, f"user:u{number % 2}": amount}
                await reservations.reserve(connection, one.id, amounts, (), at)
                if is_charged:
                    await reservations.set_amounts(connection, one.id, amounts, is_charged=True)
        async with database.read() as connection:
            return await spending.by_scope(connection, NOW + 5, (NOW, NOW + 20, NOW))

    assert run(url, scenario) == [
        ScopeSpending("all", 7, 6, {NOW: 2**40 + 13, NOW + 20: 8}),
        ScopeSpending("user:u0", 7, 0, {NOW: 2**40 + 7, NOW + 20: 7}),
        ScopeSpending("user:u1", 0, 6, {NOW: 6, NOW + 20: 1}),
    ]


def test_an_empty_ledger_has_none(url: str) -> None:
    async def scenario(database: Database) -> list[ScopeSpending]:
        async with database.read() as connection:
            return await spending.by_scope(connection, 0.0)

    assert run(url, scenario) == []
