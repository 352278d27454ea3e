"""Job data in one SQLite file: jobspecs, R, eventlogs, output. It survives the lead's SIGKILL.

Everything written in one turn of the loop is one transaction (write-ahead log). Where the file system is
full or broken, output is dropped and its jobs are named to the caller; events are kept in memory and tried
again, so that nothing about a job is lost while the lead lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.jobs.batch import Batch
from minicluster.embedded.jobs.database import VERSION, Database
from minicluster.embedded.jobs.eventlogs import Eventlogs
from minicluster.embedded.jobs.instance_values import InstanceValues
from minicluster.embedded.jobs.job_records import JobRecords
from minicluster.embedded.jobs.output_records import OutputRecords

if TYPE_CHECKING:
    from pathlib import Path


class Store:
    """The file `jobs.sqlite` in the state directory: its tables, all written together."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises StorageError, or StorageFull where it cannot be written."""
        self.database = Database(path)
        self._batch = Batch(self.database)
        self.values = InstanceValues(self.database, self._batch)
        self.jobs = JobRecords(self.database, self._batch)
        self.eventlogs = Eventlogs(self.database, self._batch)
        self.output = OutputRecords(self.database, self._batch)
        self.values.set("version", str(VERSION))
        self.flush()

    def withdraw(self, job: int) -> None:
        """Forget a job that was added but never written."""
        self._batch.withdraw(job)
        self.eventlogs.withdraw(job)

    def take_changed(self) -> set[int]:
        """Return the jobs about which something was added since this was last asked."""
        return self._batch.take_changed()

    def flush(self) -> None:
        """Write everything in one transaction.

        Raises StorageLost: then output of the jobs that it names is dropped, and all else waits for the next
        flush.
        """
        if self._batch.write():
            self.jobs.written()
            self.eventlogs.written()

    def close(self) -> None:
        """Write what waits and close the file."""
        try:
            self.flush()
        finally:
            self.database.close()
