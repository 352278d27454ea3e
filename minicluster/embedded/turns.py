"""One turn of the loop: decide, write everything in one transaction, start what got resources, tell watchers.

So no job is started whose allocation a restarted lead would not know of, and nobody is told of an event that
is not stored. While the store cannot be written, nothing starts, events wait in memory, and the write is
tried again every second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded import log
from minicluster.embedded.store import StorageLost, Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.job_manager import JobManager
    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import Encoded
    from minicluster.embedded.watchers import Watchers

RETRY_SECONDS = 1.0


class Turns:
    """Has at most one turn due at a time."""

    def __init__(self, store: Store, watchers: Watchers, manager: JobManager) -> None:
        self.trouble: str | None = None  # why nothing can be written
        self._store = store
        self._watchers = watchers
        self._manager = manager
        self._loop = manager.parts.loop
        self._posted: list[tuple[int, str, str, Mapping[str, JSON | Encoded]]] = []
        self._due = False
        self._retrying = False

    def soon(self) -> None:
        """Have a turn at the end of what the loop does now."""
        if not self._due:
            self._due = True
            self._loop.call_soon(self.turn)

    def post(self, job: int, name: str, line: str, data: Mapping[str, JSON | Encoded]) -> None:
        """An event for the journal, once it is written, with what goes with it."""
        self._posted.append((job, name, line, data))

    def withdraw(self, job: int) -> None:
        """Forget everything about a job that could not be written."""
        self._store.withdraw(job)
        self._posted = [item for item in self._posted if item[0] != job]

    def turn(self) -> None:
        """Decide, write, start, tell."""
        self._due = False
        if self.trouble is None:
            self._manager.decide()
        if self.write():
            self._manager.launch()
        self._watchers.wake(self._store.take_changed())

    def write(self) -> bool:
        """Write what waits, so that readers of the store see it. False: it cannot be written now."""
        try:
            self._store.flush()
        except StorageLost as lost:
            self._lost(lost)
            return False
        posted, self._posted = self._posted, []
        for each in posted:
            self._watchers.post(*each)
        if self.trouble is not None:
            self._manager.parts.log(log.NOTICE, "job data can be stored again: jobs start")
            self.trouble = None
            self.soon()
        return True

    def _lost(self, lost: StorageLost) -> None:
        if self.trouble is None:
            self._manager.parts.log(log.ERR, f"{lost}; no job starts until it can")
        self.trouble = str(lost)
        if not self._retrying:
            self._retrying = True
            self._loop.call_later(RETRY_SECONDS, self._retry)
        self._manager.output_lost(lost.jobs, str(lost))

    def _retry(self) -> None:
        self._retrying = False
        self.turn()
