"""A function that has a transaction: as `write` promises, and on SQLite in one thread from its beginning."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from minicluster.database import DatabaseAway
from tests.database import notes

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncConnection


async def _add(connection: AsyncConnection) -> int:
    """Add a note with the number of those there are, and return that."""
    number = len((await connection.scalars(select(notes.NOTES.c.id))).all())
    await connection.execute(notes.NOTES.insert(), {"text": str(number)})
    return number


async def _fail(connection: AsyncConnection) -> None:
    await _add(connection)
    raise LookupError


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

            async def announce(connection: AsyncConnection) -> None:
                await database.notify(connection, "notes")

            waiting = asyncio.create_task(database.changed("notes", seen))
            await database.writing(announce)
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
