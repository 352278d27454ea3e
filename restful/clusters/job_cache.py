"""The jobs of a cluster whose records are in memory: status is answered from here."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from restful.store.jobs import JobRecord


class JobCache:
    """Records by id, of one instance. Only the process that writes the projection has any."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._records: OrderedDict[int, JobRecord] = OrderedDict()
        self.current = False
        """Whether this process writes the projection: else records would not change here."""
        self.turn = 0
        """Another number each time that this process begins to write the projection, or ends to."""

    def get(self, jobid: int) -> JobRecord | None:
        """Return a record."""
        return self._records.get(jobid)

    def put(self, records: Iterable[JobRecord]) -> None:
        """Add records, in place of former ones; those that were changed longest ago are dropped."""
        if not self.current:
            return
        for each in records:
            self._records[each.id] = each
            self._records.move_to_end(each.id)
        while len(self._records) > self._limit:
            self._records.popitem(last=False)

    def clear(self, *, current: bool) -> None:
        """Drop all."""
        self._records.clear()
        self.current = current
        self.turn += 1

    def offer(self, record: JobRecord) -> None:
        """Add a record that was read from the database, if none is there."""
        if record.id not in self._records and len(self._records) < self._limit:
            self.put([record])
