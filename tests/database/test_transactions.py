"""What a transaction promises on both engines: beside readers, writers, exceptions and cancellations."""

import asyncio
import contextlib

import pytest
import sqlalchemy.exc
from sqlalchemy import bindparam, column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from minicluster.database import DatabaseAway
from tests.database import notes


def test_a_transaction_is_in_the_database_at_its_end(url: str) -> None:
    async def work() -> list[str]:
        async with notes.opened(url) as database:
            await notes.add(database, "one", "two")
            return await notes.texts(database)

    assert notes.within(work()) == ["one", "two"]


def test_a_single_statement_sees_what_is_committed_beside_one_who_writes(url: str) -> None:
    async def work() -> list[list[str]]:
        async with notes.opened(url) as database:
            found = []
            await notes.add(database, "one")
            async with database.write() as connection:
                await connection.execute(notes.NOTES.insert(), {"text": "two"})
                found.append([row.text for row in await database.rows(select(notes.NOTES))])
            found.append([row.text for row in await database.rows(select(notes.NOTES))])
            return found

    assert notes.within(work()) == [["one"], ["one", "two"]]


def test_a_function_that_reads_sees_one_state_and_writes_nothing(url: str) -> None:
    async def both(connection: AsyncConnection) -> list[str]:
        [*rows] = await connection.execute(select(notes.NOTES))
        return [row.text for row in rows]

    async def wrong(connection: AsyncConnection) -> None:
        await connection.execute(notes.NOTES.insert(), {"text": "wrong"})

    async def failing(_connection: AsyncConnection) -> None:
        raise LookupError("not there")

    async def work() -> list[list[str]]:
        async with notes.opened(url) as database:
            await notes.add(database, "one")
            found = [await database.reading(both)]
            with pytest.raises(sqlalchemy.exc.DBAPIError):
                await database.reading(wrong)
            with pytest.raises(LookupError, match="not there"):
                await database.reading(failing)
            await notes.add(database, "two")
            return [*found, await database.reading(both)]

    assert notes.within(work()) == [["one"], ["one", "two"]]


def test_a_few_rows_are_read_though_the_loop_has_no_connection(url: str) -> None:
    """It never waits: then another thread reads."""

    async def work() -> list[list[str]]:
        async with notes.opened(url) as database:
            await notes.add(database, "one")
            statement = select(notes.NOTES).where(notes.NOTES.c.text == bindparam("text"))
            found = [await database.rows(statement, {"text": "one"}, few=True)]
            with contextlib.ExitStack() as stack:
                if (immediate := database._engines.immediate) is not None:
                    stack.enter_context(immediate.connect())
                found.append(await database.rows(statement, {"text": "one"}, few=True))
            found.append(await database.rows(statement, {"text": "two"}, few=True))
            return [[row.text for row in each] for each in found]

    assert notes.within(work()) == [["one"], ["one"], []]


def test_a_single_statement_that_is_wrong_is_no_fault_of_the_database(url: str) -> None:
    async def work() -> None:
        async with notes.opened(url) as database:
            with pytest.raises(sqlalchemy.exc.DBAPIError):
                await database.rows(select(column("absent")).select_from(notes.NOTES))

    notes.within(work())


def test_after_an_exception_nothing_of_it_is_there(url: str) -> None:
    async def work() -> list[str]:
        async with notes.opened(url) as database:
            with contextlib.suppress(LookupError):
                async with database.write() as connection:
                    await connection.execute(notes.NOTES.insert(), {"text": "lost"})
                    raise LookupError
            return await notes.texts(database)

    assert notes.within(work()) == []


def test_after_a_cancellation_nothing_of_it_is_there_and_others_write(url: str) -> None:
    async def work() -> list[str]:
        async with notes.opened(url) as database:
            began = asyncio.Event()

            async def halfway() -> None:
                async with database.write() as connection:
                    await connection.execute(notes.NOTES.insert(), {"text": "lost"})
                    began.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(halfway())
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await notes.add(database, "kept")
            return await notes.texts(database)

    assert notes.within(work()) == ["kept"]


def test_who_is_cancelled_while_waiting_to_write_leaves_the_others_their_turn(url: str) -> None:
    async def work() -> list[str]:
        async with notes.opened(url) as database:
            async with database.write():
                waiting = [asyncio.create_task(notes.add(database, each)) for each in ("a", "b", "c")]
                await asyncio.wait(waiting, timeout=0)
                waiting[1].cancel()
            await asyncio.wait(waiting)
            return await notes.texts(database)

    assert notes.within(work()) == ["a", "c"]


def test_a_reader_sees_one_state_and_waits_for_no_writer(url: str) -> None:
    async def work() -> tuple[int, int]:
        async with notes.opened(url) as database, database.read() as reader:
            before = len((await reader.execute(notes.NOTES.select())).all())
            await notes.add(database, "one")
            return before, len((await reader.execute(notes.NOTES.select())).all())

    assert notes.within(work()) == (0, 0)


def test_what_reads_cannot_write(url: str) -> None:
    async def work() -> None:
        async with notes.opened(url) as database, database.read() as connection:
            await connection.execute(notes.NOTES.insert(), {"text": "no"})

    with pytest.raises(sqlalchemy.exc.DBAPIError, match=r"readonly database|read-only transaction"):
        notes.within(work())


def test_what_a_writer_has_read_stays_true_until_its_end(url: str) -> None:
    """Two replicas, of which each adds the number of notes so far: no number twice."""

    async def work() -> list[str]:
        async with notes.opened(url), notes.waiting(url, 60) as one, notes.waiting(url, 60) as two:

            async def count(index: int) -> None:
                async with (one, two)[index % 2].write() as connection:
                    found = (await connection.execute(select(notes.NOTES.c.id))).all()
                    await connection.execute(notes.NOTES.insert(), {"text": str(len(found))})

            await asyncio.gather(*map(count, range(10)))
            return await notes.texts(one)

    assert notes.within(work()) == [str(each) for each in range(10)]


def test_a_violated_constraint_stays_sqlalchemy_s_and_shows_no_values(url: str) -> None:
    async def work() -> None:
        async with notes.opened(url) as database, database.write() as connection:
            rows = [{"id": 1, "text": "a"}, {"id": 1, "text": "a secret"}]
            await connection.execute(notes.NOTES.insert(), rows)

    with pytest.raises(sqlalchemy.exc.IntegrityError, match=r"(?i)unique constraint") as caught:
        notes.within(work())
    assert "a secret" not in str(caught.value)


def test_somebody_else_s_lock_is_waited_for_and_then_named(url: str) -> None:
    async def work() -> None:
        async with notes.opened(url) as other, notes.waiting(url, 0.05) as database, other.write():
            await notes.add(database, "late")

    with pytest.raises(
        DatabaseAway, match=r"/t\w+(\.db)? was locked by somebody else for too long: try again$"
    ):
        notes.within(work())


def test_a_writer_of_this_process_is_waited_for_and_then_named(url: str) -> None:
    async def work() -> list[str]:
        async with notes.opened(url), notes.waiting(url, 0.05) as database:
            async with database.write():
                with pytest.raises(
                    DatabaseAway, match=r"was in use by this process for too long: try again$"
                ):
                    await notes.add(database, "late")
            await notes.add(database, "in time")
            return await notes.texts(database)

    assert notes.within(work()) == ["in time"]
