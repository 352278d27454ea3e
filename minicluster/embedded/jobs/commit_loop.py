"""One turn of the loop: decide, write everything in one transaction, start jobs, wake watchers.

So a job starts only when its allocation is stored, where a restarted lead finds it. Events are published only
when they are stored. While the store cannot be written, no job starts, events wait in memory, and the write
is tried again every second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded import log
from minicluster.embedded.jobs.batch import StorageLost

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from minicluster.embedded.jobs.store import Store
    from minicluster.embedded.jobs.watchers import Watchers
    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import Encoded

RETRY_SECONDS = 1.0


class CommitLoop:
    """Runs turns; at most one is scheduled at a time. The steps of a turn are registered here."""

    def __init__(
        self,
        store: Store,
        watchers: Watchers,
        loop: asyncio.AbstractEventLoop,
        report: Callable[[int, str], None],
    ) -> None:
        self.trouble: str | None = None
        """Why the last write failed; None where it did not."""
        self.on_turn: list[Callable[[], None]] = []
        """Called before the write, unless there is trouble."""
        self.on_written: list[Callable[[], None]] = []
        """Called after a write that succeeded."""
        self.on_lost: list[Callable[[Sequence[int], str], None]] = []
        """Called with the jobs whose output could not be stored, and why."""
        self._store = store
        self._watchers = watchers
        self._loop = loop
        self._report = report
        self._posted: list[tuple[int, str, str, Mapping[str, JSON | Encoded]]] = []
        self._due = False
        self._retrying = False

    def schedule(self) -> None:
        """Schedule a turn for the event loop's next iteration."""
        if not self._due:
            self._due = True
            self._loop.call_soon(self.turn)

    def post(self, job: int, name: str, line: str, data: Mapping[str, JSON | Encoded]) -> None:
        """Publish an event in the journal once it is written, with `data` (jobspec, R)."""
        self._posted.append((job, name, line, data))

    def withdraw(self, job: int) -> None:
        """Forget everything about a job that could not be written."""
        self._store.withdraw(job)
        self._posted = [item for item in self._posted if item[0] != job]

    def turn(self) -> None:
        """Decide, write, start jobs, wake watchers."""
        self._due = False
        if self.trouble is None:
            for decide in self.on_turn:
                decide()
        if self.write():
            for launch in self.on_written:
                launch()
        self._watchers.wake(self._store.take_changed())

    def write(self) -> bool:
        """Write all pending changes, so that readers of the store see them; return False where it fails."""
        try:
            self._store.flush()
        except StorageLost as lost:
            self._lost(lost)
            return False
        posted, self._posted = self._posted, []
        for each in posted:
            self._watchers.post(*each)
        if self.trouble is not None:
            self._report(log.NOTICE, "job data can be stored again: jobs start")
            self.trouble = None
            self.schedule()
        return True

    def _lost(self, lost: StorageLost) -> None:
        if self.trouble is None:
            self._report(log.ERR, f"{lost}; no job starts until it can")
        self.trouble = str(lost)
        if not self._retrying:
            self._retrying = True
            self._loop.call_later(RETRY_SECONDS, self._retry)
        for callback in self.on_lost:
            callback(lost.jobs, str(lost))

    def _retry(self) -> None:
        self._retrying = False
        self.turn()
