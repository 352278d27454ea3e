"""A function that reads in one transaction: as `read` promises, and on SQLite in one thread."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
import sqlalchemy
from sqlalchemy import select

from minicluster.database import address
from tests.database import notes

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


async def _texts(connection: AsyncConnection) -> list[str]:
    return list((await connection.scalars(select(notes.NOTES.c.text))).all())


def test_what_it_returns_is_returned(url: str) -> None:
    async def work() -> list[list[str]]:
        async with notes.opened(url) as database:
            await notes.add(database, "one")
            return await asyncio.gather(*(database.reading(_texts) for _ in range(20)))

    assert notes.within(work()) == [["one"]] * 20


def test_it_sees_one_state_while_another_writes(url: str) -> None:
    async def work() -> tuple[int, int, int]:
        async with notes.opened(url) as database:
            loop = asyncio.get_running_loop()

            async def both(connection: AsyncConnection) -> tuple[int, int]:
                before = len(await _texts(connection))
                if threading.current_thread() is threading.main_thread():
                    await notes.add(database, "one")
                else:
                    asyncio.run_coroutine_threadsafe(notes.add(database, "one"), loop).result()
                return before, len(await _texts(connection))

            return (*await database.reading(both), len(await database.reading(_texts)))

    assert notes.within(work()) == (0, 0, 1)


def test_it_cannot_write(url: str) -> None:
    async def add(connection: AsyncConnection) -> None:
        await connection.execute(notes.NOTES.insert(), {"text": "no"})

    async def work() -> None:
        async with notes.opened(url) as database:
            await database.reading(add)

    with pytest.raises(sqlalchemy.exc.DBAPIError, match=r"readonly database|read-only transaction"):
        notes.within(work())


def test_on_sqlite_it_has_another_thread(url: str) -> None:
    async def thread(_connection: AsyncConnection) -> str:
        return threading.current_thread().name

    async def work() -> str:
        async with notes.opened(url) as database:
            return await database.reading(thread)

    is_file = address.parsed(url).engine == address.SQLITE
    assert (notes.within(work()) != "MainThread") is is_file
