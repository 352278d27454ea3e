"""SQLite's file: its rights, its settings, and what is said of one that cannot be used."""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from minicluster.database import Database, DatabaseError, DatabaseFull, driver_errors
from tests.database import notes


def _mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


def test_files_are_their_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state" / "a.db"

    async def work() -> dict[str, str]:
        async with notes.opened(f"sqlite:///{path}") as database:
            await notes.add(database, "one")
            return {each.name: _mode(each) for each in path.parent.iterdir()}

    before = os.umask(0)
    try:
        found = notes.within(work())
    finally:
        os.umask(before)
    assert found == {"a.db": "600", "a.db-wal": "600", "a.db-shm": "600"}
    assert [_mode(path.parent), _mode(path.parent.parent)] == ["700", "700"]


def test_a_file_that_was_restored_becomes_its_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (id)")
    path.chmod(0o644)

    async def work() -> None:
        async with notes.opened(f"sqlite:///{path}"):
            pass

    notes.within(work())
    assert _mode(path) == "600"


def test_connections_check_references_and_wait_for_the_disk(tmp_path: Path) -> None:
    names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")

    async def work() -> list[object]:
        found: list[object] = []
        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            for transaction in (database.read, database.write):
                async with transaction() as connection:
                    rows = [await connection.exec_driver_sql(f"PRAGMA {each}") for each in names]
                    found.extend(row.scalar_one() for row in rows)
        return found

    full = 2
    assert notes.within(work()) == ["wal", full, 1, 5000] * 2


def _text(path: Path) -> None:
    path.write_text("no database " * 100)


def _damaged(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
        connection.executemany("INSERT INTO note (text) VALUES (?)", [("x" * 500,)] * 100)
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(_text, r"a\.db is no database of SQLite: name another file", id="a text"),
        pytest.param(_damaged, r"a\.db is damaged: restore a backup", id="damaged"),
        pytest.param(Path.mkdir, r"a\.db cannot be opened: see its path, and the rights", id="a directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    make: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    make(tmp_path / "a.db")

    async def work() -> None:
        async with notes.opened(f"sqlite:///{tmp_path}/a.db"):
            pass

    with pytest.raises(DatabaseError, match=f"^the database sqlite:///{tmp_path}/{words}"):
        notes.within(work())


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def work() -> None:
        async with notes.opened(f"sqlite:///{tmp_path}/file/a.db"):
            pass

    with pytest.raises(DatabaseError, match=r"file/a\.db cannot be made: Not a directory"):
        notes.within(work())


def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path) -> None:
    async def fill(database: Database) -> None:
        async with database.write() as connection:
            pages = (await connection.exec_driver_sql("PRAGMA page_count")).scalar_one()
            await connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 1}")
            await connection.execute(notes.NOTES.insert(), {"text": "small"})
            await connection.execute(notes.NOTES.insert(), {"text": "x" * 100_000})

    async def work() -> list[str]:
        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            await notes.add(database, "before")
            with pytest.raises(DatabaseFull, match=r"a\.db has no room left: make some on its disk$"):
                await fill(database)
            await notes.add(database, "after")
            return await notes.texts(database)

    assert notes.within(work()) == ["before", "after"]


def test_a_file_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    """The error is SQLite's own; rights of a file do not stop root, whom tests may be."""
    sqlite3.connect(tmp_path / "a.db").close()
    connection = sqlite3.connect(f"file:{tmp_path}/a.db?mode=ro", uri=True)
    with contextlib.closing(connection), pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("CREATE TABLE a (b)")
    found = driver_errors.meaning(caught.value, "sqlite:///a.db", writes=True)
    words = "the database sqlite:///a.db may not be written: see the rights of the file and its directory"
    assert (type(found), str(found)) == (DatabaseError, words)
