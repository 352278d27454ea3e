"""The stored eventlogs of jobs (RFC 18), which can be read before they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.embedded.jobs.batch import Batch
    from minicluster.embedded.jobs.database import JobDatabase


class Eventlogs:
    """The table `events`. Sequence numbers ascend over all jobs and logs."""

    def __init__(self, database: JobDatabase, batch: Batch) -> None:
        self._database = database
        self._batch = batch
        self._unwritten: list[tuple[int, int, str, str]] = []  # sequence number, job, log, line
        self.last = database.number("SELECT MAX(seq) FROM events")
        """The sequence number of the newest event."""

    def append(self, job: int, log: str, line: str) -> None:
        """Append to one of the job's eventlogs."""
        self.last += 1
        row = (self.last, job, log, line)
        self._unwritten.append(row)
        self._batch.add(job, "INSERT INTO events VALUES (?,?,?,?)", row)
        self._batch.changed.add(job)

    def withdraw(self, job: int) -> None:
        """Forget the events of a job that were never written."""
        self._unwritten = [row for row in self._unwritten if row[1] != job]

    def written(self) -> None:
        """Note that everything is in the file."""
        self._unwritten.clear()

    def lines(self, job: int, log: str, after: int = 0, most: int = -1) -> list[tuple[int, str]]:
        """Return lines of an eventlog with their sequence numbers, with those that are not written yet."""
        sql = "SELECT seq,line FROM events WHERE job=? AND log=? AND seq>? ORDER BY seq LIMIT ?"
        rows: list[tuple[int, str]] = self._database.rows(sql, (job, log, after, most))
        if self._unwritten and len(rows) != most:
            rows += [(row[0], row[3]) for row in self._unwritten if row[1:3] == (job, log) and row[0] > after]
        return rows
