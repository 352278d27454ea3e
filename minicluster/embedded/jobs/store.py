"""Job data in one SQLite file: jobspecs, R, eventlogs, output. It survives the lead's SIGKILL.

All writes of one turn of the loop are one transaction (write-ahead log). Where the file system is full or
broken, output is dropped, and the caller gets the ids of its jobs. Events are kept in memory and written
later, so that no event is lost while the lead lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.jobs.batch import Batch
from minicluster.embedded.jobs.database import VERSION, JobDatabase
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
        self.database = JobDatabase(path)
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
        """Return the jobs whose data were added to since the last call."""
        return self._batch.take_changed()

    def flush(self) -> None:
        """Write everything in one transaction.

        Raises StorageLost: then output of the jobs that it names is dropped, and the rest waits for the next
        flush.
        """
        if self._batch.write():
            self.jobs.written()
            self.eventlogs.written()

    def close(self) -> None:
        """Write pending changes and close the file."""
        try:
            self.flush()
        finally:
            self.database.close()
