"""SQLite: what a transaction promises, beside readers, writers, and exceptions."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy.exc

from minicluster.database import DatabaseAway
from tests.database import notes


def test_a_transaction_is_in_the_database_at_its_end(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with notes.opened(tmp_path / "a.db") as database:
            await notes.add(database, "one", "two")
            return await notes.texts(database)

    assert notes.within(work()) == ["one", "two"]


def test_after_an_exception_nothing_of_it_is_there(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with notes.opened(tmp_path / "a.db") as database:
            with contextlib.suppress(LookupError):
                async with database.write() as connection:
                    await connection.execute(notes.NOTES.insert(), {"text": "lost"})
                    raise LookupError
            return await notes.texts(database)

    assert notes.within(work()) == []


def test_after_a_cancellation_nothing_of_it_is_there_and_others_write(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with notes.opened(tmp_path / "a.db") as database:
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


def test_a_reader_sees_one_state_and_waits_for_no_writer(tmp_path: Path) -> None:
    async def work() -> tuple[int, int]:
        async with notes.opened(tmp_path / "a.db") as database, database.read() as reader:
            before = len((await reader.execute(notes.NOTES.select())).all())
            await notes.add(database, "one")
            return before, len((await reader.execute(notes.NOTES.select())).all())

    assert notes.within(work()) == (0, 0)


def test_what_reads_cannot_write(tmp_path: Path) -> None:
    async def work() -> None:
        async with notes.opened(tmp_path / "a.db") as database, database.read() as connection:
            await connection.execute(notes.NOTES.insert(), {"text": "no"})

    with pytest.raises(sqlalchemy.exc.OperationalError, match="attempt to write a readonly database"):
        notes.within(work())


def test_a_hundred_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with notes.opened(tmp_path / "a.db") as database:
            await asyncio.gather(*(notes.add(database, str(each)) for each in range(100)))
            return await notes.texts(database)

    assert sorted(notes.within(work()), key=int) == [str(each) for each in range(100)]


def test_a_violated_constraint_stays_sqlalchemy_s(tmp_path: Path) -> None:
    async def work() -> None:
        async with notes.opened(tmp_path / "a.db") as database, database.write() as connection:
            await connection.execute(notes.NOTES.insert(), [{"id": 1, "text": "a"}, {"id": 1, "text": "b"}])

    with pytest.raises(sqlalchemy.exc.IntegrityError, match="UNIQUE"):
        notes.within(work())


def test_a_lock_of_another_process_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minicluster.database.sqlite.LOCK_TIMEOUT", 0.05)

    async def work() -> None:
        async with notes.opened(tmp_path / "a.db") as database:
            other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            try:
                await notes.add(database, "late")
            finally:
                other.close()

    with pytest.raises(DatabaseAway, match=r"a\.db was locked by somebody else for 5 s$"):
        notes.within(work())


def test_a_change_is_announced_once_it_is_committed(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with notes.opened(tmp_path / "a.db") as database:
            seen = await database.changed("notes", 0)
            waiting = asyncio.create_task(database.changed("notes", seen))
            async with database.write() as connection:
                await connection.execute(notes.NOTES.insert(), {"text": "new"})
                await database.notify(connection, "notes")
                await asyncio.wait([waiting], timeout=0)
                assert not waiting.done()
            assert await waiting == seen + 1
            return await notes.texts(database)

    assert notes.within(work()) == ["new"]


def test_what_was_rolled_back_is_not_announced(tmp_path: Path) -> None:
    async def work() -> tuple[int, int]:
        async with notes.opened(tmp_path / "a.db") as database:
            seen = await database.changed("notes", 0)
            with contextlib.suppress(LookupError):
                async with database.write() as connection:
                    await database.notify(connection, "notes")
                    raise LookupError
            return seen, database._channels.number("notes")

    assert notes.within(work()) == (1, 1)
