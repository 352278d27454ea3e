"""Job data in one SQLite file: jobspecs, R, eventlogs, output. It survives the lead's SIGKILL.

Everything written in one turn of the loop is one transaction (write-ahead log). Where the file system is
full or broken, output is dropped and its jobs are named to the caller; events are kept in memory and tried
again, so that nothing about a job is lost while the lead lives.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from minicluster.embedded.errors import StorageError, StorageFull

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
Row = tuple[Any, ...]


class Store:
    """The file `jobs.sqlite` in the state directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._statements: list[tuple[int, str, Row]] = []  # job (0: none), SQL, values
        self._output: list[Row] = []
        self._unwritten: list[tuple[int, int, str, str]] = []  # events: seq, job, log, line
        self._infos: dict[int, tuple[float, str]] = {}  # of jobs that ended: when, and what listings show
        self._changed: set[int] = set()
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-4000;"
            )
            self._db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            self._db.executescript(_SCHEMA)
            self._check_version()
        except sqlite3.Error as error:
            raise StorageError(f"{path}: the job data cannot be opened for writing: {error}") from error

        self._seq = self._largest("seq", "events")

    def _largest(self, column: str, table: str) -> int:
        row = self._db.execute(f"SELECT MAX({column}) FROM {table}").fetchone()  # noqa: S608 - our own names
        return row[0] or 0

    def _check_version(self) -> None:
        version = int(self.get_meta("version") or VERSION)
        if version > VERSION:
            raise StorageError(f"{self.path}: written by version {version}; this one knows up to {VERSION}")
        self.set_meta("version", str(VERSION))
        self.flush()

    def _add(self, job: int, sql: str, row: Row) -> None:
        self._statements.append((job, sql, row))

    def get_meta(self, key: str) -> str | None:
        """A value kept for the instance."""
        row = self._db.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
        return row[0] if row else None

    def set_meta(self, key: str, value: str) -> None:
        """Keep a value for the instance."""
        self._add(0, "INSERT OR REPLACE INTO meta VALUES (?,?)", (key, value))

    def add_job(self, job: int, userid: int, jobspec: str) -> None:
        """A submitted job."""
        self._add(job, "INSERT INTO jobs (id,userid,jobspec) VALUES (?,?,?)", (job, userid, jobspec))

    def set_resources(self, job: int, resources: str) -> None:
        """The R of a job that got its allocation, or whose time limit was changed."""
        self._add(job, "UPDATE jobs SET R=? WHERE id=?", (resources, job))

    def set_inactive(self, job: int, t_inactive: float, result: int, queue: str | None, info: str) -> None:
        """The last thing about a job: what listings show of it from now on."""
        sql = "UPDATE jobs SET t_inactive=?,result=?,queue=?,info=? WHERE id=?"
        self._add(job, sql, (t_inactive, result, queue, info, job))
        self._infos[job] = (t_inactive, info)
        self._changed.add(job)

    def add_event(self, job: int, log: str, line: str) -> None:
        """Append to one of the job's eventlogs."""
        self._seq += 1
        row = (self._seq, job, log, line)
        self._unwritten.append(row)
        self._add(job, "INSERT INTO events VALUES (?,?,?,?)", row)
        self._changed.add(job)

    def add_output(self, job: int, task: int, stream: str, data: bytes | None, now: float) -> None:
        """Append a task's output; None ends the stream."""
        self._output.append((job, task, stream, data, now))
        self._changed.add(job)

    def withdraw(self, job: int) -> None:
        """Forget a job that was added but never written."""
        self._statements = [entry for entry in self._statements if entry[0] != job]
        self._unwritten = [row for row in self._unwritten if row[1] != job]

    def take_changed(self) -> set[int]:
        """The jobs about which something was added since this was last asked."""
        changed, self._changed = self._changed, set()
        return changed

    def flush(self) -> None:
        """Write everything in one transaction.

        Raises StorageFull: then statements wait for the next flush, and output of `lost` jobs is dropped.
        """
        if not self._statements and not self._output:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for _, sql, row in self._statements:
                self._db.execute(sql, row)
            self._db.executemany(
                "INSERT INTO output (job,task,stream,data,t) VALUES (?,?,?,?,?)", self._output
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise self._full(error) from error
        self._statements.clear()
        self._output.clear()
        self._unwritten.clear()
        self._infos.clear()

    def _full(self, error: sqlite3.Error) -> StorageLost:
        lost = sorted({row[0] for row in self._output})
        self._output.clear()
        return StorageLost(f"job data cannot be stored in {self.path.parent}: {error}", lost)

    def jobspec(self, job: int) -> str | None:
        """The jobspec of a job, None where there is no such job."""
        row = self._db.execute("SELECT jobspec FROM jobs WHERE id=?", (job,)).fetchone()
        return row[0] if row else None

    def resources(self, job: int) -> str | None:
        """The R of a job that has one."""
        row = self._db.execute("SELECT R FROM jobs WHERE id=?", (job,)).fetchone()
        return row[0] if row else None

    def info(self, job: int) -> str | None:
        """What listings show of an inactive job."""
        if job in self._infos:
            return self._infos[job][1]
        row = self._db.execute("SELECT info FROM jobs WHERE id=?", (job,)).fetchone()
        return row[0] if row else None

    def events(self, job: int, log: str, after: int = 0, most: int = -1) -> list[tuple[int, str]]:
        """Lines of an eventlog with their sequence numbers, those too that are not written yet."""
        sql = "SELECT seq,line FROM events WHERE job=? AND log=? AND seq>? ORDER BY seq LIMIT ?"
        rows: list[tuple[int, str]] = self._db.execute(sql, (job, log, after, most)).fetchall()
        if self._unwritten and len(rows) != most:
            rows += [(row[0], row[3]) for row in self._unwritten if row[1:3] == (job, log) and row[0] > after]
        return rows

    def output(
        self, job: int, after: int = 0, most: int = -1
    ) -> list[tuple[int, int, str, bytes | None, float]]:
        """Chunks of output: sequence number, task, stream, data (None ends it), time."""
        sql = "SELECT seq,task,stream,data,t FROM output WHERE job=? AND seq>? ORDER BY seq LIMIT ?"
        return self._db.execute(sql, (job, after, most)).fetchall()

    def active(self) -> Iterator[tuple[int, int, str, str | None]]:
        """Jobs that did not end, by id: id, userid, jobspec, R."""
        sql = "SELECT id,userid,jobspec,R FROM jobs WHERE t_inactive IS NULL AND id>? ORDER BY id LIMIT 256"
        yield from self._pages(sql)

    def _pages(self, sql: str) -> Iterator[Row]:
        """Rows by id, a page at a time: the table may change meanwhile, and memory stays small."""
        last = -1
        while rows := self._db.execute(sql, (last,)).fetchall():
            yield from rows
            last = rows[-1][0]

    def inactive(self, since: float = 0.0) -> Iterator[tuple[int, str]]:
        """Jobs that ended after `since`, the latest first: id and info."""
        for job, (ended, info) in reversed(tuple(self._infos.items())):
            if ended > since:
                yield job, info
        cursor = self._db.cursor()
        cursor.execute(
            "SELECT id,info FROM jobs WHERE t_inactive>? ORDER BY t_inactive DESC, id DESC", (since,)
        )
        try:
            while rows := cursor.fetchmany(256):
                yield from rows
        finally:
            cursor.close()

    def counts(self) -> Iterable[tuple[str | None, int, int]]:
        """How many inactive jobs there are by queue and result."""
        sql = "SELECT queue,result,COUNT(*) FROM jobs WHERE t_inactive IS NOT NULL GROUP BY queue,result"
        return self._db.execute(sql).fetchall()

    def largest_id(self) -> int:
        """The largest job id, 0 without jobs."""
        return self._largest("id", "jobs")

    def last_event(self) -> int:
        """The sequence number of the newest event."""
        return self._seq

    def known_ids(self) -> Iterator[int]:
        """Every job's id, ascending."""
        for (job,) in self._pages("SELECT id FROM jobs WHERE id>? ORDER BY id LIMIT 256"):
            yield job

    def copy_to(self, path: Path) -> None:
        """Write a compact, consistent copy. Raises sqlite3.Error."""
        self._db.execute("VACUUM INTO ?", (str(path),))

    def close(self) -> None:
        """Write what waits and close the file."""
        try:
            self.flush()
        finally:
            self._db.close()


class StorageLost(StorageFull):
    """The store is full: output of these jobs was dropped."""

    def __init__(self, reason: str, jobs: list[int]) -> None:
        super().__init__(reason)
        self.jobs = jobs
