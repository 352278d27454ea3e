"""What happens to one's own jobs of a cluster, as it happens."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from restful.jobs.output import sse
from restful.jobs.output.encoders import compact_json
from restful.jobs.output.endings import EndReason, FeedEnd, names_of, summary
from restful.jobs.output.entries import Entries, FeedEntry
from restful.jobs.output.positions import START
from restful.jobs.output.pump import FeedConnection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator

    from minicluster.instance.port import JobOverview
    from minicluster.instance.records import Job, JobChange
    from restful.jobs.output.readers import Reader

MARGIN = 60.0
"""Seconds before the last change that a reader knows from which changes come again: clocks differ."""
MAX_BEHIND = 86_400.0
"""Seconds that a reader gets of what has happened: all of it is in memory at once, everybody's."""
CHANGE_BYTES = 2048
"""About what a change takes in memory."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FollowedCluster:
    """A cluster whose changes somebody follows. What is not async is called by threads and may block."""

    key: Hashable
    """What names it in this service: the cluster and the instance."""
    overview: Callable[[], JobOverview]
    """All jobs of its instance, by the connection that there is now. Raises InstanceGone."""
    now: Callable[[], float]
    mine: Callable[[Collection[int]], Awaitable[Collection[int]]]
    """Which of these jobs the reader may see."""
    owner: str = ""
    """The user whose the cluster is, if it is somebody's own."""

    def changes(self) -> FeedConnection[JobChange]:
        """Return the changes as they come: first what jobs there are, as one entry, then each change.

        A reader who comes again may get some of them again. A change has the job as it is since, so the last
        one of each job counts. Where this service is slower than the instance the stream ends, and is lost.
        """
        overview = self.overview()
        return FeedConnection(
            lambda after: Entries(overview.changes(self._since(after)), ChangeNumbering(after)), lambda: None
        )

    def position(self, after: int) -> int:
        """Return a client's position within the last day; a future one is now."""
        now = self.now()
        return after if after == START else min(max(after, int(1e6 * (now - MAX_BEHIND))), int(1e6 * now))

    def is_recent(self, position: int) -> bool:
        """Return whether a feed from START, begun now or before, has all that is behind a position."""
        return position == START or position / 1e6 >= self.now() - MARGIN / 2

    def _since(self, after: int) -> float:
        now = self.now()
        known = now if after == START else min(max(after / 1e6, now - MAX_BEHIND), now)
        return max(1.0, known - MARGIN)


class ChangeNumbering:
    """Numbers changes by their time in microseconds, each greater than the one before."""

    def __init__(self, after: int) -> None:
        self._sequence = after
        self._history: list[JobChange] | None = []

    def __call__(self, change: JobChange) -> FeedEntry[JobChange] | None:
        """Return the entry that a change completes: all of the history, or news."""
        if self._history is None:
            return self._entry((change,))
        if change.job is not None:
            self._history.append(change)
            return None
        history, self._history = self._history, None
        return self._entry(tuple(history))

    def _entry(self, changes: tuple[JobChange, ...]) -> FeedEntry[JobChange]:
        times = [_time(change.job) for change in changes if change.job is not None]
        self._sequence = max(self._sequence + 1, int(1e6 * max(times, default=0.0)))
        return FeedEntry(self._sequence, changes, CHANGE_BYTES * (1 + len(changes)))


def _time(job: Job) -> float:
    return max(job.t_submit, job.t_depend, job.t_run, job.t_cleanup, job.t_inactive)


class OwnChanges:
    """A reader of changes who gets those of jobs that he may see; the fields are those of Reader."""

    def __init__(
        self, reader: Reader[JobChange], mine: Callable[[Collection[int]], Awaitable[Collection[int]]]
    ) -> None:
        self._reader = reader
        self._mine = mine
        self.lapsed = reader.lapsed
        self.opened = reader.opened

    @property
    def end(self) -> FeedEnd | None:
        """Why `batch` has returned None."""
        return self._reader.end

    @property
    def failure(self) -> FeedEnd | None:
        """How the feed ended, where it did."""
        return self._reader.failure

    async def batch(self, timeout: float) -> tuple[FeedEntry[JobChange], ...] | None:
        """Wait for the next entries, as Reader does; that is all where nobody knows whose jobs they are."""
        entries = await self._reader.batch(timeout)
        if not entries:
            return entries
        ids = {change.job.id for entry in entries for change in entry.items if change.job is not None}
        try:
            mine = await self._mine(ids)
        except Exception as error:  # noqa: BLE001 - a database's
            log.warning("cannot find out whose jobs have changed: %s", error)
            self._reader.finish(FeedEnd(EndReason.AWAY))
            return None
        return tuple(replace(entry, items=_of(entry.items, mine)) for entry in entries)


def _of(changes: tuple[JobChange, ...], ids: Collection[int]) -> tuple[JobChange, ...]:
    return tuple(change for change in changes if change.job is not None and change.job.id in ids)


class ChangeEncoder:
    """Changes of jobs as server-sent events. There is no end: a browser connects again."""

    media_type = sse.MEDIA_TYPE
    comment = sse.COMMENT
    marks_its_end = True

    def __init__(self, retry_delay: float) -> None:
        self._retry_delay = retry_delay

    def start(self) -> bytes:
        """Return after how long to connect again."""
        return sse.retry(self._retry_delay)

    def entry(self, entry: FeedEntry[JobChange]) -> Iterator[bytes]:
        """Yield an event a change: the job as it is since, and the names of what happened."""
        for number, change in enumerate(entry.items, 1):
            if change.job is not None:
                last = str(entry.sequence) if number == len(entry.items) else None
                data = {**_state(change.job), "events": [each.name for each in change.events]}
                yield sse.event(compact_json(data), name="job", id=last)

    def end(self, end: FeedEnd) -> bytes:  # noqa: ARG002 - as the forms have it
        """Nothing."""
        return b""


def _state(job: Job) -> dict[str, Any]:
    """Return what changes of a job."""
    return {
        **names_of(job.id),
        "name": job.name,
        "queue": job.queue,
        "urgency": job.urgency,
        **summary(job),
        "nnodes": job.nnodes,
        "nodelist": job.nodelist,
        "t_submit": job.t_submit,
        "t_run": job.t_run,
        "t_cleanup": job.t_cleanup,
        "t_inactive": job.t_inactive,
    }
