"""The ledger on SQLite and on PostgreSQL: one burst a slot, one holder of the lease, no budget exceeded."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.exc import IntegrityError

from burst.errors import BudgetExceeded, BurstUnknown, LeaseLost
from burst.ledger import bursts, installation, jobs, journal, lease, locations, reservations, resources
from burst.ledger.ledger import LEASE_SECONDS, BurstLedger
from burst.ledger.schema import SCHEMA
from burst.lifecycle.records import AssignedJob, BurstRecord, ResourceKey
from burst.lifecycle.states import BurstOutcome, BurstState
from burst.planning.records import EACH_USER, BudgetLimit
from minicluster.database import DatabaseError, migrate, new_id, open_database
from minicluster.database.revise import differences

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from minicluster.database import Database

NOW = 1_000_000.0


def burst(number: int, **given: Any) -> BurstRecord:
    """A burst in a slot of its own."""
    values: dict[str, Any] = {
        "id": new_id(NOW).lower(),
        "cluster": "mc",
        "slot": f"burst-{number}",
        "provider": "near",
        "location": "near-1",
        "machine": "c8",
        "nodes": 2,
        "created": NOW,
        "until": NOW + 3600,
        "amounts": {"all": 7},
    }
    return BurstRecord(**{**values, **given})


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    await migrate(url, SCHEMA)
    database = await open_database(url, SCHEMA)
    try:
        yield database
    finally:
        await database.close()


def run(url: str, scenario: Callable[[Database], Coroutine[Any, Any, Any]]) -> Any:
    async def work() -> Any:
        async with opened(url) as database, asyncio.timeout(60):
            return await scenario(database)

    return asyncio.run(work())


def test_migrations_make_the_tables_that_the_code_has(url: str) -> None:
    async def work() -> list[Any]:
        await migrate(url, SCHEMA)
        return await differences(url, SCHEMA)

    assert asyncio.run(work()) == []


def test_what_was_written_is_read(url: str) -> None:
    async def scenario(database: Database) -> None:
        one = burst(0, spot=True, price=10**13, state=BurstState.ACTIVE, outcome=BurstOutcome.STOPPED)
        keys = [ResourceKey("nodes", "mcb-a", 2), ResourceKey("pods", "mcb-a-pods")]
        async with database.write() as connection:
            await bursts.add(connection, one)
            await resources.add(connection, one.id, keys)
            await jobs.add(connection, [AssignedJob(one.id, 2**62, "alice", "default")])
            await bursts.change(connection, one.id, nodes=3, idle_since=NOW)
            made = (await resources.of_burst(connection, one.id))[1]
            await resources.change(connection, made, intent_at=NOW)
            await jobs.change(connection, one.id, [2**62], outcome="returned")
        async with database.read() as connection:
            changed = replace(one, nodes=3, idle_since=NOW)
            assert await bursts.by_id(connection, one.id) == changed
            assert await bursts.of_cluster(connection, "mc") == [changed]
            assert await bursts.in_slot(connection, "mc", "burst-0") == changed
            found = await resources.of_burst(connection, one.id)
            assert [(each.key, each.intent_at) for each in found] == [(keys[0], None), (keys[1], NOW)]
            [job] = await jobs.of_burst(connection, one.id)
            assert (job.job, job.outcome) == (2**62, "returned")
            with pytest.raises(BurstUnknown, match="there is no burst 'nope'"):
                await bursts.by_id(connection, "nope")

    run(url, scenario)


@pytest.mark.parametrize(
    ("state", "is_free"),
    [(BurstState.REQUESTED, True), (BurstState.DELETED, True), (BurstState.DELETING, False)],
)
def test_a_slot_has_one_burst(url: str, state: BurstState, is_free: bool) -> None:
    """The database itself refuses a second one."""

    async def scenario(database: Database) -> None:
        async with database.write() as connection:
            await bursts.add(connection, burst(0, state=state))
        expected = contextlib.nullcontext() if is_free else pytest.raises(IntegrityError, match=r"(?i)unique")
        with expected:
            async with database.write() as connection:
                await bursts.add(connection, burst(0, state=BurstState.PLANNED))
        async with database.write() as connection:
            await bursts.add(connection, burst(0, cluster="other", state=BurstState.PLANNED))

    run(url, scenario)


def test_no_budget_is_exceeded_however_many_reserve(url: str) -> None:
    """Forty reserve 7 each of 100 at once; at every commit the sum is at most 100."""

    async def scenario(database: Database) -> None:
        every = [burst(number, state=BurstState.PLANNED) for number in range(40)]
        async with database.write() as connection:
            for each in every:
                await bursts.add(connection, each)

        async def reserve(one: BurstRecord) -> bool:
            async def work(connection: Any) -> int:
                await reservations.reserve(connection, one.id, one.amounts, [BudgetLimit("all", 100)], NOW)
                return await reservations.spent(connection, "all")

            try:
                assert await database.writing(work) <= 100
            except BudgetExceeded as refusal:
                refusals.append(str(refusal))
                return False
            return True

        refusals: list[str] = []

        found = await asyncio.gather(*map(reserve, every))
        assert sum(found) == 14
        assert set(refusals) == {"budget all: its burst may cost 0.000007, and 0.000002 is left"}
        async with database.read() as connection:
            assert await reservations.spent(connection, "all") == 98

    run(url, scenario)


@pytest.mark.parametrize(
    ("limits", "refusal"),
    [
        ([BudgetLimit("all", 14), BudgetLimit("all", 7, NOW + 1), BudgetLimit("other", 0)], ""),
        ([BudgetLimit("all", 13)], "budget all: its burst may cost 0.000007, and 0.000006 is left"),
        (
            [BudgetLimit("all", 99), BudgetLimit("all", 6, NOW + 1)],
            "budget all: its burst may cost 0.000007, and 0.000006 is left",
        ),
        ([BudgetLimit(EACH_USER, 8)], ""),
        (
            [BudgetLimit(EACH_USER, 7)],
            "budget user:alice: its burst may cost 0.000004, and 0.000003 is left",
        ),
        ([BudgetLimit(EACH_USER, 7), BudgetLimit(EACH_USER, 4, NOW + 1)], "user:alice"),
        ([BudgetLimit(EACH_USER, 4, NOW + 1)], ""),
    ],
)
def test_each_limit_is_kept_since_its_own_time(url: str, limits: list[BudgetLimit], refusal: str) -> None:
    """What was reserved before it does not count. One for each user is about all of them."""

    async def scenario(database: Database) -> None:
        amounts = {"all": 7, "user:alice": 4, "user:bob": 3}
        before, one = burst(0), burst(1)
        async with database.write() as connection:
            for each in (before, one):
                await bursts.add(connection, each)
            await reservations.reserve(connection, before.id, amounts, (), NOW)

            async def reserve() -> None:
                await reservations.reserve(connection, one.id, amounts, limits, NOW + 10)

            if not refusal:
                await reserve()
            else:
                with pytest.raises(BudgetExceeded, match=refusal):
                    await reserve()
            spent = await reservations.spent(connection, "all")
            assert spent == (7 if refusal else 14)

    run(url, scenario)


def test_what_was_spent_counts_from_a_time_on(url: str) -> None:
    async def scenario(database: Database) -> None:
        async with database.write() as connection:
            for number, at in enumerate((NOW, NOW + 10)):
                one = burst(number)
                await bursts.add(connection, one)
                amounts = {"all": 7, "user:alice": 4, "user:bob": 3 + number}
                await reservations.reserve(connection, one.id, amounts, (), at)
            assert await reservations.of_burst(connection, one.id) == amounts
            assert await reservations.spent(connection, "all", NOW + 1) == 7
            assert await reservations.spent_by_user(connection) == {"alice": 8, "bob": 7}
            assert await reservations.spent_by_user(connection, NOW + 1) == {"alice": 4, "bob": 4}
            await reservations.set_amounts(connection, one.id, {"all": 2}, is_charged=True)
            assert await reservations.spent(connection, "all") == 9
            assert await reservations.spent(connection, "nothing") == 0

    run(url, scenario)


def test_one_process_has_the_lease_and_its_fence_rises(url: str) -> None:
    async def scenario(database: Database) -> None:
        now = NOW
        one, other = (BurstLedger(database, name, lambda: now) for name in ("one", "other"))
        with pytest.raises(LeaseLost, match="nobody advances bursts"):
            await one.note("any", "text")
        await one.acquire()
        await one.acquire()
        assert one.fence == 1
        with pytest.raises(LeaseLost, match="one advances bursts"):
            await other.acquire()
        now += LEASE_SECONDS
        await other.acquire()
        assert other.fence == 2
        with pytest.raises(LeaseLost, match="other advances bursts"):
            await one.note("any", "text")
        with pytest.raises(LeaseLost, match="other advances bursts"):
            await one.acquire()
        async with database.read() as connection:
            await lease.check(connection, 2)

    run(url, scenario)


def test_lines_are_in_the_order_in_which_they_came(url: str) -> None:
    async def scenario(database: Database) -> None:
        ledger = BurstLedger(database, "one", lambda: NOW)
        await ledger.acquire()
        first, second = burst(0), burst(1)
        async with database.write() as connection:
            await bursts.add(connection, first)
            await bursts.add(connection, second)
        for text in ("a", "b"):
            await ledger.note(first.id, text)
            await ledger.note(second.id, text.upper(), reason=text)
        found = await ledger.read(lambda connection: journal.of_burst(connection, first.id))
        assert [(entry.at, entry.fence, entry.text) for entry in found] == [(NOW, 1, "a"), (NOW, 1, "b")]
        opened_now = await ledger.read(bursts.opened)
        assert [each.reason for each in opened_now] == ["", "b"]

    run(url, scenario)


def test_an_installation_keeps_its_id_and_its_locations(url: str) -> None:
    async def scenario(database: Database) -> None:
        ledger = BurstLedger(database, "one", lambda: NOW)
        found = await ledger.installation()
        assert await BurstLedger(database, "other", lambda: NOW + 1).installation() == found
        async with database.write() as connection:
            assert await installation.ensure(connection, "new") == found
            await locations.use(connection, "near", "near-1", NOW)
            await locations.note_empty(connection, "near", "near-1", NOW + 1)
            await locations.use(connection, "near", "near-1", NOW + 2)
            [used] = await locations.used(connection)
        assert (used.first_used, used.empty_since) == (NOW, None)

    run(url, scenario)


def test_a_transaction_that_fails_writes_nothing(url: str) -> None:
    async def scenario(database: Database) -> None:
        ledger = BurstLedger(database, "one", lambda: NOW)
        await ledger.acquire()

        async def work(connection: Any) -> None:
            await bursts.add(connection, burst(0))
            raise RuntimeError("in the middle")

        with pytest.raises(RuntimeError, match="in the middle"):
            await ledger.write(work)
        assert await ledger.read(bursts.opened) == []

    run(url, scenario)


def test_a_database_that_was_not_migrated_is_refused(url: str) -> None:
    with pytest.raises(DatabaseError):
        asyncio.run(open_database(url, SCHEMA))
