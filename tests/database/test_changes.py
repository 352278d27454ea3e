"""News of changes, on both engines."""

import asyncio
import contextlib

from minicluster.database import Database
from tests.database import notes
from tests.database.postgresql import Server


async def announce(database: Database, *channels: str) -> None:
    """Commit a change of each channel."""
    async with database.write() as connection:
        for each in channels:
            await database.notify(connection, each)


def test_the_first_change_is_that_somebody_asks(url: str) -> None:
    async def work() -> int:
        async with notes.opened(url) as database:
            return await database.changed("notes", 0)

    assert notes.within(work()) == 1


def test_a_change_is_announced_once_it_is_committed(url: str) -> None:
    async def work() -> tuple[int, list[str]]:
        async with notes.opened(url) as database:
            await database.changed("notes", 0)
            waiting = asyncio.create_task(database.changed("notes", 1))
            async with database.write() as connection:
                await connection.execute(notes.NOTES.insert(), {"text": "new"})
                await database.notify(connection, "notes")
                await asyncio.wait([waiting], timeout=0)
                assert not waiting.done()
            return await waiting, await notes.texts(database)

    assert notes.within(work()) == (2, ["new"])


def test_what_was_rolled_back_is_not_announced(url: str) -> None:
    async def work() -> list[int]:
        async with notes.opened(url) as database:
            await database.changed("rolled-back", 0)
            await database.changed("done", 0)
            with contextlib.suppress(LookupError):
                async with database.write() as connection:
                    await database.notify(connection, "rolled-back")
                    raise LookupError
            await announce(database, "done")
            await database.changed("done", 1)
            await announce(database, "rolled-back")
            return [await database.changed("rolled-back", 1)]

    assert notes.within(work()) == [2]


def test_a_change_between_two_calls_is_not_missed(url: str) -> None:
    async def work() -> tuple[int, int]:
        async with notes.opened(url) as database:
            seen = await database.changed("notes", 0)
            other = await database.changed("other", 0)
            await announce(database, "notes", "other")
            await database.changed("other", other)
            return seen, await database.changed("notes", seen)

    assert notes.within(work()) == (1, 2)


def test_who_stops_waiting_is_forgotten(url: str) -> None:
    async def work() -> int:
        async with notes.opened(url) as database:
            seen = await database.changed("notes", 0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await database.changed("notes", seen)
            await announce(database, "notes")
            return await database.changed("notes", seen)

    assert notes.within(work()) == 2


def test_replicas_receive_each_other_s_changes(postgresql: Server) -> None:
    async def work(url: str) -> int:
        async with notes.opened(url) as one, notes.opened(url) as two:
            seen = await one.changed("notes", 0)
            await announce(two, "notes")
            return await one.changed("notes", seen) - seen

    assert notes.within(work(postgresql.database())) == 1


def test_a_lost_connection_is_renewed_and_counts_as_a_change(postgresql: Server) -> None:
    async def work(url: str) -> int:
        async with notes.opened(url) as database:
            seen = await database.changed("notes", 0)
            postgresql.kill()
            postgresql.start()
            seen = await database.changed("notes", seen)
            await announce(database, "notes")
            return await database.changed("notes", seen)

    assert notes.within(work(postgresql.database())) == 3


def test_a_cancellation_may_come_after_the_commit_and_is_announced(url: str) -> None:
    async def work() -> int:
        async with notes.opened(url) as database:
            seen = await database.changed("notes", 0)

            async def cancelled() -> None:
                async with database.write() as connection:
                    await database.notify(connection, "notes")
                    raise asyncio.CancelledError

            await asyncio.wait([asyncio.create_task(cancelled())])
            if database.changes("notes") is None:  # a server announces what is committed, and nothing else
                await announce(database, "notes")
            return await database.changed("notes", seen) - seen

    assert notes.within(work()) == 1


def test_changes_are_counted_where_no_other_replica_has_any(url: str) -> None:
    async def work() -> list[int | None]:
        async with notes.opened(url) as database:
            before = database.changes("notes")
            await announce(database, "notes", "other")
            return [before, database.changes("notes"), database.changes("unknown")]

    assert notes.within(work()) == ([None] * 3 if url.startswith("postgresql") else [0, 1, 0])
