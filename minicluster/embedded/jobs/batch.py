"""The statements and output for the next transaction, which are kept or dropped where it fails."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from minicluster.embedded.errors import StorageFull

if TYPE_CHECKING:
    from minicluster.embedded.jobs.database import DatabaseRow, JobDatabase

_OUTPUT = "INSERT INTO output (job,task,stream,data,t) VALUES (?,?,?,?,?)"


class StorageLost(StorageFull):
    """The transaction failed: output of these jobs was dropped."""

    def __init__(self, reason: str, jobs: list[int]) -> None:
        super().__init__(reason)
        self.jobs = jobs


class Batch:
    """Statements and output in the order in which they came, and the jobs that they are about."""

    def __init__(self, database: JobDatabase) -> None:
        self.changed: set[int] = set()
        """The jobs with statements or output that were added since `take_changed`."""
        self._database = database
        self._statements: list[tuple[int, str, DatabaseRow]] = []  # job (0: none), SQL, values
        self._output: list[DatabaseRow] = []

    def add(self, job: int, sql: str, row: DatabaseRow) -> None:
        """Execute a statement about a job (0: about none) in the next transaction."""
        self._statements.append((job, sql, row))

    def add_output(self, job: int, row: DatabaseRow) -> None:
        """Insert into the table of output: job, task, stream, data, time."""
        self._output.append(row)
        self.changed.add(job)

    def withdraw(self, job: int) -> None:
        """Remove every statement about a job."""
        self._statements = [entry for entry in self._statements if entry[0] != job]

    def take_changed(self) -> set[int]:
        """Return the jobs with statements or output that were added since the last call."""
        changed, self.changed = self.changed, set()
        return changed

    def write(self) -> bool:
        """Write everything in one transaction; return False where there is nothing to write.

        Raises StorageLost: then statements wait for the next transaction, and output is dropped.
        """
        if not self._statements and not self._output:
            return False
        try:
            self._database.write(self._statements, _OUTPUT, self._output)
        except sqlite3.Error as error:
            raise self._lost(error) from error
        self._statements.clear()
        self._output.clear()
        return True

    def _lost(self, error: sqlite3.Error) -> StorageLost:
        jobs = sorted({row[0] for row in self._output})
        self._output.clear()
        return StorageLost(f"job data cannot be stored in {self._database.path.parent}: {error}", jobs)
