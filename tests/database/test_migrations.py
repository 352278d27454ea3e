"""Migrations on both engines: with data up and down, by two at once, and what is refused."""

import contextlib
import dataclasses
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import sqlalchemy.exc

from minicluster.database import (
    DatabaseError,
    Schema,
    SchemaUnknown,
    downgrade,
    migrate,
    open_database,
    revise,
)
from restful.store import schema as restful_schema
from tests.database import library, notes, ready_file

ROWS = (
    "INSERT INTO author (id, name) VALUES (1, 'Homer'), (2, 'Sappho')",
    "INSERT INTO book (id, author, title) VALUES (1, 1, 'Iliad'), (2, 2, 'Poems')",
)
FAILING = dataclasses.replace(library.SCHEMA, migrations="tests.database.failing_migrations")


async def _at_first_revision(url: str) -> None:
    """Make a database of the first revision, with rows."""
    await migrate(url, library.SCHEMA)
    await downgrade(url, library.SCHEMA, "0001")
    await library.execute(url, *ROWS)


def test_rows_stay_when_a_database_is_migrated(url: str) -> None:
    """The table of authors is made anew on SQLite; the books, which it would delete, stay."""

    async def work() -> list[tuple[str, ...]]:
        await _at_first_revision(url)
        await migrate(url, library.SCHEMA)
        return [tuple(each) for each in await library.books(url)]

    assert notes.within(work()) == [("Homer", "H", "Iliad"), ("Sappho", "S", "Poems")]


def test_rows_stay_when_a_migration_is_undone_and_done_again(url: str) -> None:
    async def work() -> int:
        await _at_first_revision(url)
        for _ in range(2):
            await migrate(url, library.SCHEMA)
            await downgrade(url, library.SCHEMA, "0001")
        await migrate(url, library.SCHEMA)
        return len(await library.books(url))

    assert notes.within(work()) == 2


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(library.SCHEMA, id="library"),
        pytest.param(restful_schema.SCHEMA, id="restful"),
    ],
)
def test_migrations_make_the_tables_of_the_code(schema: Schema, url: str) -> None:
    """Where they do not, `python -m minicluster.database.revise` writes the revision that is missing."""

    async def work() -> list[object]:
        await migrate(url, schema)
        return await revise.differences(url, schema)

    assert notes.within(work()) == []


def test_a_ready_file_is_one_of_the_newest_revision(tmp_path: Path) -> None:
    (tmp_path / "test.db").write_bytes(ready_file.content(library.SCHEMA))
    assert notes.within(library.books(f"sqlite:///{tmp_path}/test.db")) == []


def test_two_schemas_are_in_one_database(url: str) -> None:
    async def work() -> list[object]:
        await migrate(url, library.SCHEMA)
        async with notes.opened(url) as database:
            await notes.add(database, "beside")
        await migrate(url, library.SCHEMA)
        return await revise.differences(url, library.SCHEMA)

    assert notes.within(work()) == []


def test_replicas_that_start_at_once_migrate_once(url: str) -> None:
    """Each is a process of its own, as the lock must be one between processes."""
    program = (
        "import asyncio, sys; from minicluster.database import migrate; from tests.database import library;"
        " asyncio.run(migrate(sys.argv[1], library.SCHEMA))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, url], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [each.communicate()[1] for each in started] == ["", ""]
    assert notes.within(library.books(url)) == []


def test_a_migration_that_fails_changes_nothing(url: str) -> None:
    async def work() -> int:
        await _at_first_revision(url)
        with pytest.raises(sqlalchemy.exc.DBAPIError, match="no_such_table"):
            await migrate(url, FAILING)
        await migrate(url, library.SCHEMA)
        return len(await library.books(url))

    assert notes.within(work()) == 2


def test_rows_that_refer_to_what_is_not_there_stop_a_migration(tmp_path: Path) -> None:
    """SQLite checks for those alone who ask it to."""
    url = f"sqlite:///{tmp_path}/test.db"
    notes.within(_at_first_revision(url))
    with contextlib.closing(sqlite3.connect(tmp_path / "test.db")) as connection, connection:
        connection.execute("INSERT INTO book (id, author, title) VALUES (3, 9, 'Lost')")
    expected = r"test\.db was left as it was: rows of book refer to what is not there$"
    with pytest.raises(DatabaseError, match=expected):
        notes.within(migrate(url, library.SCHEMA))
    with pytest.raises(SchemaUnknown, match=r"library 0001"):
        notes.within(open_database(url, library.SCHEMA))


NEWER = (
    r"test\.db was written by a newer release \(library 0002; this one knows none\): start that release,"
    r" or restore a backup$"
)


@pytest.mark.parametrize("action", [open_database, migrate], ids=["opened", "migrated"])
def test_a_database_of_a_newer_release_is_refused(
    action: Callable[[str, Schema], Awaitable[object]], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/test.db"

    async def work() -> None:
        await migrate(url, library.SCHEMA)
        await action(url, library.NO_REVISIONS)

    with pytest.raises(SchemaUnknown, match=NEWER):
        notes.within(work())


def test_a_database_of_an_older_release_is_not_migrated_by_opening_it(url: str) -> None:
    async def work() -> None:
        await _at_first_revision(url)
        await open_database(url, library.SCHEMA)

    expected = (
        r"was written by an older release \(library 0001; this one needs 0002\), and may not be migrated"
        r" here: migrate it, or start that release$"
    )
    with pytest.raises(SchemaUnknown, match=expected):
        notes.within(work())


def test_a_database_without_tables_is_named(url: str) -> None:
    async def work() -> None:
        await library.execute(url)
        await open_database(url, library.SCHEMA)

    with pytest.raises(SchemaUnknown, match=r"has no tables of library yet: migrate makes them$"):
        notes.within(work())


def test_a_file_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "typo" / "test.db"
    expected = r"there is no database sqlite:///.*typo/test\.db: migrate makes it$"
    with pytest.raises(SchemaUnknown, match=expected):
        notes.within(open_database(f"sqlite:///{path}", library.SCHEMA))
    assert not path.parent.exists()
