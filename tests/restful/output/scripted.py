"""A job whose output a test writes, behind the part of the port that feeds read."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from minicluster.instance.errors import InstanceGone, JobNotFound, WaitTimeout
from minicluster.instance.records import Event, Job, JobResult, JobState, OutputChunk
from restful.jobs.output.followed import Followed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JOBID = 1099511627777
"""Greater than what 32 bits have."""


class Script:
    """One job of an instance: what it wrote, whether it has ended, and whether the instance is there."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.entries: list[tuple[OutputChunk, ...]] = []
        self.log: list[Event] = []
        self.job: Job | None = None
        self.away = False
        self.known = True
        self.successor: int | None = None
        self.opened: list[int] = []
        """The `after` of each stream that was opened."""
        self.streams: set[ScriptedStream] = set()
        self.given = 0
        """Chunks given to all streams."""

    def write(self, *parts: tuple[int, str, bytes]) -> int:
        """Append an entry of (task, stream, data); return its number."""
        with self.changed:
            number = len(self.entries)
            self.entries.append(
                tuple(
                    OutputChunk(JOBID, number, task, stream, data, last=part == len(parts))
                    for part, (task, stream, data) in enumerate(parts, 1)
                )
            )
            self.changed.notify_all()
            return number

    def happen(self, name: str, **context: Any) -> None:
        """Append an event."""
        with self.changed:
            self.log.append(Event(JOBID, 1000.0 + len(self.log), name, context))
            self.changed.notify_all()

    def finish(self, **fields: Any) -> None:
        """End the job."""
        with self.changed:
            given = {"result": JobResult.COMPLETED, "waitstatus": 0, **fields}
            self.job = Job(JOBID, JobState.INACTIVE, **given)
            self.changed.notify_all()

    def lose(self, *, silently: bool = False) -> None:
        """Lose the connection: streams end with an error, or as if they were at their end."""
        with self.changed:
            self.away = True
            for stream in self.streams:
                stream.lost = True
                stream.closed = silently
            self.changed.notify_all()

    def come_back(self) -> None:
        """Be there again."""
        with self.changed:
            self.away = False

    def followed(self) -> Followed:
        """Return the job as a route has it."""
        return Followed(("mc", JOBID), JOBID, self._connected, lambda _id: self.successor)

    def _connected(self) -> Any:
        if self.away:
            raise InstanceGone("local:///x: no broker answers")
        return ScriptedJobs(self)


class ScriptedJobs:
    """The jobs by one connection: the part of `minicluster.instance.port.Jobs` that feeds use."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._stream: ScriptedStream | None = None

    def _check(self) -> None:
        if self._script.away or (self._stream is not None and self._stream.lost):
            raise InstanceGone("local:///x: this connection was closed")
        if not self._script.known:
            raise JobNotFound(JOBID)

    def output(self, _jobid: int, *, follow: bool = False, after: int = -1) -> ScriptedStream:
        self._check()
        items = self._script.entries
        return self._streaming(follow, after + 1, lambda index: items[index])

    def events(self, _jobid: int, *, follow: bool = False) -> ScriptedStream:
        self._check()
        items = self._script.log
        return self._streaming(follow, 0, lambda index: (items[index],))

    def _streaming(self, follow: bool, first: int, items: Callable[[int], tuple[Any, ...]]) -> ScriptedStream:
        script = self._script
        with script.changed:
            self._stream = ScriptedStream(script, follow, first, items)
            script.streams.add(self._stream)
            script.opened.append(first - 1)
        return self._stream

    def get(self, _jobid: int) -> Job:
        self._check()
        return self._script.job or Job(JOBID, JobState.RUN)

    def wait(self, _jobid: int, _timeout: float) -> Job:
        self._check()
        if self._script.job is None:
            raise WaitTimeout("not yet")
        return self._script.job


@dataclass(eq=False)
class ScriptedStream:
    """Items as they are written, up to the job's end."""

    script: Script
    follow: bool
    index: int
    items: Callable[[int], tuple[Any, ...]]
    lost: bool = False
    closed: bool = False
    ready: list[Any] = field(default_factory=list)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with self.script.changed:
            while not self.ready:
                if self.closed:
                    raise StopIteration
                if self.lost:
                    raise InstanceGone("local:///x: the broker ended the connection")
                try:
                    self.ready = list(self.items(self.index))
                    self.index += 1
                except IndexError:
                    if self.script.job is not None or not self.follow:
                        raise StopIteration from None
                    self.script.changed.wait(20)
            self.script.given += 1
            return self.ready.pop(0)

    def close(self) -> None:
        with self.script.changed:
            self.closed = True
            self.script.streams.discard(self)
            self.script.changed.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()
