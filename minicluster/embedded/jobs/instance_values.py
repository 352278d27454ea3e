"""Stored values of the instance itself: the state of its queues, its drained ranks, its start time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.embedded.jobs.batch import Batch
    from minicluster.embedded.jobs.database import JobDatabase


class InstanceValues:
    """The table `meta`: values by key."""

    def __init__(self, database: JobDatabase, batch: Batch) -> None:
        self._database = database
        self._batch = batch

    def get(self, key: str) -> str | None:
        """Return a value that was written; None without one."""
        return self._database.text("SELECT value FROM meta WHERE key=?", (key,))

    def set(self, key: str, value: str) -> None:
        """Set a value, which the next transaction writes."""
        self._batch.add(0, "INSERT OR REPLACE INTO meta VALUES (?,?)", (key, value))
