"""The SQLite file of job data: its schema and version, transactions, and reading."""

from __future__ import annotations

import sqlite3
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from minicluster.embedded.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

VERSION = 1
APPLICATION_ID = 0x4D434C53  # "MCLS", in the file's header
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY, userid INTEGER NOT NULL, jobspec TEXT NOT NULL, R TEXT,
    t_inactive REAL, result INTEGER, queue TEXT, info TEXT);
CREATE INDEX IF NOT EXISTS inactive ON jobs (t_inactive) WHERE t_inactive IS NOT NULL;
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY, job INTEGER NOT NULL, log TEXT NOT NULL, line TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_of ON events (job, log, seq);
CREATE TABLE IF NOT EXISTS output (
    seq INTEGER PRIMARY KEY, job INTEGER NOT NULL, task INTEGER NOT NULL, stream TEXT NOT NULL,
    data BLOB, t REAL NOT NULL);
CREATE INDEX IF NOT EXISTS output_of ON output (job, seq);
"""
_PAGE = 256  # rows read at a time: memory stays small
DatabaseRow = tuple[Any, ...]


class JobDatabase:
    """An open file. Its write-ahead log lets readers and the writer work at once."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises StorageError."""
        self.path = path
        try:
            self._connection = sqlite3.connect(path, isolation_level=None)
            self._connection.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-4000;"
            )
            self._connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            self._connection.executescript(_SCHEMA)
            self._check_version()
        except sqlite3.Error as error:
            raise StorageError(f"{path}: the job data cannot be opened for writing: {error}") from error

    def _check_version(self) -> None:
        version = int(self.text("SELECT value FROM meta WHERE key='version'") or VERSION)
        if version > VERSION:
            raise StorageError(f"{self.path}: written by version {version}; this one knows up to {VERSION}")

    def write(
        self, statements: Iterable[tuple[int, str, DatabaseRow]], sql: str, rows: Iterable[DatabaseRow]
    ) -> None:
        """Execute statements (job, SQL, values), then `sql` for each row, all in one transaction.

        Raises sqlite3.Error, and then nothing is written.
        """
        execute = self._connection.execute
        try:
            execute("BEGIN IMMEDIATE")
            for statement, same in groupby(statements, itemgetter(1)):
                self._connection.executemany(statement, map(itemgetter(2), same))
            self._connection.executemany(sql, rows)
            execute("COMMIT")
        except sqlite3.Error:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise

    def text(self, sql: str, values: DatabaseRow = ()) -> str | None:
        """Return the first column of the first row, None without one."""
        row = self._connection.execute(sql, values).fetchone()
        return row[0] if row else None

    def number(self, sql: str) -> int:
        """Return the first column of the first row, 0 where it is NULL."""
        return self._connection.execute(sql).fetchone()[0] or 0

    def rows(self, sql: str, values: DatabaseRow = ()) -> list[DatabaseRow]:
        """Return all rows."""
        return self._connection.execute(sql, values).fetchall()

    def pages(self, sql: str) -> Iterator[DatabaseRow]:
        """Yield rows by id, one page after the other: the table may change meanwhile.

        `sql` takes the last id and the number of rows; the id is its first column.
        """
        last = -1
        while rows := self._connection.execute(sql, (last, _PAGE)).fetchall():
            yield from rows
            last = rows[-1][0]

    def stream(self, sql: str, values: DatabaseRow) -> Iterator[DatabaseRow]:
        """Yield the rows of one query."""
        cursor = self._connection.cursor()
        cursor.execute(sql, values)
        try:
            while rows := cursor.fetchmany(_PAGE):
                yield from rows
        finally:
            cursor.close()

    def copy_to(self, path: Path) -> None:
        """Write a compact, consistent copy. Raises sqlite3.Error."""
        self._connection.execute("VACUUM INTO ?", (str(path),))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
