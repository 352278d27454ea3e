"""A function that has a transaction: as `write` promises, and on SQLite in one thread from its beginning."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Engine, event, select
from sqlalchemy.exc import IntegrityError

from minicluster.database import DatabaseAway
from tests.database import notes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.database import Database
    from minicluster.database.blocking import TransactionWork


async def _add(connection: AsyncConnection) -> int:
    """Add a note with the number of those there are, and return that."""
    number = len((await connection.scalars(select(notes.NOTES.c.id))).all())
    await connection.execute(notes.NOTES.insert(), {"text": str(number)})
    return number


async def _fail(connection: AsyncConnection) -> None:
    await _add(connection)
    raise LookupError


async def _twice(connection: AsyncConnection) -> None:
    await _add(connection)
    await connection.execute(notes.NOTES.insert(), [{"id": 1, "text": "again"}] * 2)


def _announce(database: Database) -> TransactionWork[None]:
    async def announce(connection: AsyncConnection) -> None:
        await database.notify(connection, "notes")

    return announce


@pytest.fixture
def begun() -> Iterator[Counter[str]]:
    """How often each statement was sent."""
    found: Counter[str] = Counter()

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        found[statement] += 1

    event.listen(Engine, "before_cursor_execute", note)
    yield found
    event.remove(Engine, "before_cursor_execute", note)


def test_what_it_returns_is_returned_and_what_it_wrote_is_there(url: str) -> None:
    async def work() -> tuple[list[int], list[str]]:
        async with notes.opened(url) as database:
            numbers = await asyncio.gather(*(database.writing(_add) for _ in range(5)))
            return sorted(numbers), sorted(await notes.texts(database))

    assert notes.within(work()) == ([0, 1, 2, 3, 4], ["0", "1", "2", "3", "4"])


def test_after_an_exception_nothing_of_it_is_there(url: str) -> None:
    async def work() -> list[str]:
        async with notes.opened(url) as database:
            with contextlib.suppress(LookupError):
                await database.writing(_fail)
            return await notes.texts(database)

    assert notes.within(work()) == []


def test_a_change_that_it_announces_wakes_who_waits(url: str) -> None:
    async def work() -> int:
        async with notes.opened(url) as database:
            seen = await database.changed("notes", 0)
            waiting = asyncio.create_task(database.changed("notes", seen))
            await database.writing(_announce(database))
            return await waiting - seen

    assert notes.within(work()) >= 1


def test_it_and_a_transaction_of_statements_wait_for_each_other(url: str) -> None:
    async def work() -> list[str]:
        async with notes.opened(url) as database:

            async def statements() -> None:
                async with database.write() as connection:
                    await _add(connection)

            await asyncio.gather(*(each for _ in range(5) for each in (statements(), database.writing(_add))))
            return await notes.texts(database)

    assert notes.within(work()) == [str(each) for each in range(10)]


def test_who_waits_too_long_for_others_of_this_process_gets_an_error(url: str) -> None:
    async def work() -> list[str]:
        async with notes.opened(url), notes.waiting(url, 0.05) as database:
            async with database.write():
                with pytest.raises(
                    DatabaseAway, match=r"was in use by this process for too long: try again$"
                ):
                    await database.writing(_add)
            await database.writing(_add)
            return await notes.texts(database)

    assert notes.within(work()) == ["0"]


def test_on_sqlite_all_of_it_is_in_one_thread_beside_the_loop(tmp_path: Path) -> None:
    async def work() -> set[int]:
        found: set[int] = set()

        async def note(connection: AsyncConnection) -> None:
            for _ in range(3):
                await _add(connection)
                found.add(threading.get_ident())

        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            await database.writing(note)
        return found - {threading.get_ident()}

    assert len(notes.within(work())) == 1


def test_on_sqlite_nothing_is_left_of_one_that_was_cancelled_and_others_write(tmp_path: Path) -> None:
    async def work() -> list[str]:
        began, go_on, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

        async def halfway(connection: AsyncConnection) -> None:
            await connection.execute(notes.NOTES.insert(), {"text": "lost"})
            loop.call_soon_threadsafe(began.set)
            go_on.wait(30)

        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            task = asyncio.create_task(database.writing(halfway))
            await began.wait()
            task.cancel()
            loop.call_soon(go_on.set)
            with pytest.raises(asyncio.CancelledError):
                await task
            await notes.add(database, "kept")
            return await notes.texts(database)

    assert notes.within(work()) == ["kept"]


def test_on_sqlite_it_awaits_its_connection_alone(tmp_path: Path) -> None:
    async def waits(connection: AsyncConnection) -> None:
        await _add(connection)
        await asyncio.sleep(0)

    async def work() -> list[str]:
        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            with pytest.raises(RuntimeError, match=r"^a transaction awaits nothing but its connection$"):
                await database.writing(waits)
            return await notes.texts(database)

    assert notes.within(work()) == []


async def _after_one_who_writes(database: Database, *functions: TransactionWork[Any]) -> list[Any]:
    """Return what came of functions that all wait for one who writes."""
    async with database.write() as connection:
        waiting = [asyncio.create_task(database.writing(each)) for each in functions]
        await asyncio.sleep(0)  # they are in line
        await _add(connection)
    return await asyncio.gather(*waiting, return_exceptions=True)


def test_on_sqlite_those_that_wait_have_one_commit_and_one_that_fails_leaves_the_others(
    tmp_path: Path, begun: Counter[str]
) -> None:
    async def work() -> tuple[list[Any], list[str]]:
        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            begun.clear()
            found = await _after_one_who_writes(database, _add, _fail, _twice, _add)
            return found, await notes.texts(database)

    (first, failed, violated, last), texts = notes.within(work())
    assert (first, type(failed), type(violated), last) == (1, LookupError, IntegrityError, 2)
    assert texts == ["0", "1", "2"]
    assert begun["BEGIN IMMEDIATE"] == 2


def test_on_sqlite_a_commit_that_fails_fails_for_all_of_them(tmp_path: Path) -> None:
    async def full(_: AsyncConnection) -> None:
        raise DatabaseAway("the disk is full")

    async def work() -> tuple[list[Any], list[str]]:
        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            seen = await database.changed("notes", 0)
            found = await _after_one_who_writes(database, _announce(database), full, _add)
            again = await database.writing(_add)
            waiting = asyncio.create_task(database.changed("notes", seen))
            await asyncio.sleep(0)
            assert not waiting.done()  # nothing was committed that it could be told of
            waiting.cancel()
            return [*map(str, found), again], await notes.texts(database)

    assert notes.within(work()) == (["the disk is full"] * 3 + [1], ["0", "1"])


def test_on_sqlite_one_that_is_cancelled_in_line_is_never_begun(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            async with database.write() as connection:
                tasks = [asyncio.create_task(database.writing(_add)) for _ in range(3)]
                await asyncio.sleep(0)
                tasks[1].cancel()
                await _add(connection)
            await asyncio.wait(tasks)
            assert [each.cancelled() for each in tasks] == [False, True, False]
            return await notes.texts(database)

    assert notes.within(work()) == ["0", "1", "2"]


def test_on_sqlite_what_waits_at_the_end_is_committed_and_nothing_after_it(tmp_path: Path) -> None:
    async def work() -> list[str]:
        url = f"sqlite:///{tmp_path}/a.db"
        async with notes.opened(url) as database:
            waiting = asyncio.create_task(database.writing(_add))
            await asyncio.sleep(0)
        assert await waiting == 0
        with pytest.raises(RuntimeError, match=r"^the database sqlite:.*a\.db is closed$"):
            await database.writing(_add)
        async with notes.opened(url) as database:
            return await notes.texts(database)

    assert notes.within(work()) == ["0"]
