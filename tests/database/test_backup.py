"""Backups of SQLite's file, and what is said where there can be none."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from minicluster.database import DatabaseError
from tests.database import notes
from tests.database.postgresql import Server


@pytest.fixture
def permissive() -> Iterator[None]:
    """A process whose new files may be read by everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_backup_is_one_file_of_its_owner_s_with_what_was_committed(
    permissive: None, tmp_path: Path
) -> None:
    target = tmp_path / "backup.db"

    async def work() -> list[str]:
        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            await notes.add(database, "before")
            async with database.write() as connection:
                await connection.execute(notes.NOTES.insert(), {"text": "under way"})
                await database.backup(target)
            assert [each.name for each in tmp_path.glob("*backup*")] == ["backup.db"]
            assert target.stat().st_mode & 0o777 == 0o600
        async with notes.opened(f"sqlite:///{target}") as copy:
            return await notes.texts(copy)

    assert notes.within(work()) == ["before"]


def test_who_writes_during_a_backup_waits_for_nothing(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            saved = asyncio.create_task(database.backup(tmp_path / "backup.db"))
            await asyncio.gather(*(notes.add(database, str(each)) for each in range(5)))
            await saved
            return await notes.texts(database)

    assert sorted(notes.within(work())) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        pytest.param("a.db", r"the backup .*/a\.db is there already: name a new file$", id="itself"),
        pytest.param("no/b.db", r"the backup .*/b\.db cannot be written: No such file or", id="no directory"),
    ],
)
def test_a_backup_that_cannot_be_written_is_named(target: str, words: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with notes.opened(f"sqlite:///{tmp_path}/a.db") as database:
            await database.backup(tmp_path / target)

    with pytest.raises(DatabaseError, match=words):
        notes.within(work())
    assert list(tmp_path.glob(".*")) == []


def test_postgresql_is_saved_by_its_own_program(postgresql: Server, tmp_path: Path) -> None:
    async def work(url: str) -> None:
        async with notes.opened(url) as database:
            await database.backup(tmp_path / "b.dump")

    expected = (
        r"saved by its own program: pg_dump --format=custom --file=/.*/b\.dump postgresql://rest@/t\d+$"
    )
    with pytest.raises(DatabaseError, match=expected):
        notes.within(work(postgresql.database()))
