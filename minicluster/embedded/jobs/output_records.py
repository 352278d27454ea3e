"""The stored output of jobs, which can be read once it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.embedded.jobs.batch import Batch
    from minicluster.embedded.jobs.database import JobDatabase

    Chunk = tuple[int, int, str, bytes | None, float]


class OutputRecords:
    """The table `output`."""

    def __init__(self, database: JobDatabase, batch: Batch) -> None:
        self._database = database
        self._batch = batch

    def append(self, job: int, task: int, stream: str, data: bytes | None, now: float) -> None:
        """Append a task's output; None ends the stream."""
        self._batch.add_output(job, (job, task, stream, data, now))

    def first(self, job: int, most: int) -> tuple[int, int]:
        """Return how many chunks there are, at most `most`, and the sequence number of the last of these."""
        found = "SELECT seq FROM output WHERE job=? ORDER BY seq LIMIT ?"
        sql = f"SELECT COUNT(*),COALESCE(MAX(seq),0) FROM ({found})"  # noqa: S608 - no text from outside
        ((count, seq),) = self._database.rows(sql, (job, most))
        return count, seq

    def chunks(self, job: int, after: int = 0, most: int = -1) -> list[Chunk]:
        """Return chunks of output: sequence number, task, stream, data (None ends it), time."""
        sql = "SELECT seq,task,stream,data,t FROM output WHERE job=? AND seq>? ORDER BY seq LIMIT ?"
        return self._database.rows(sql, (job, after, most))
