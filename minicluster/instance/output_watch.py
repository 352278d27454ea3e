"""Following a job's output from before it begins to its end."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from broker_config.formats import eventlog
from minicluster.instance.errors import RequestRefused
from minicluster.instance.port import Stream

if TYPE_CHECKING:
    from types import TracebackType

JSON = Mapping[str, Any]
OUTPUT = "guest.output"
EventlogWatch = Callable[[str], Stream[JSON]]


class OutputStage(NamedTuple):
    """An eventlog to follow up to an event."""

    path: str
    event: str


STAGES = (OutputStage("eventlog", "start"), OutputStage("guest.exec.eventlog", "shell.init"))
"""What has to be reached before `guest.output` exists.

To watch `guest.output` at once and wait until it is made does not work: where the job ends in between, real
Flux waits for ever.
"""


class OutputWatch:
    """The items of `guest.output`; none where the job ends without having output."""

    def __init__(self, watch: EventlogWatch, stages: Sequence[OutputStage]) -> None:
        self._watch = watch
        self._stages = stages
        self._closed = False
        self._lock = threading.Lock()
        self._source: Stream[JSON] | None = None
        self._output = False

    def __iter__(self) -> Iterator[JSON]:
        return self

    def __next__(self) -> JSON:
        try:
            if not self._output:
                self._await_output()
            if self._source is None:
                raise StopIteration
            return next(self._source)
        except RequestRefused as refusal:
            if refusal.errnum == errno.ENOENT:
                raise StopIteration from None
            raise

    def _await_output(self) -> None:
        self._output = True
        for stage in self._stages:
            source = self._turn_to(stage.path)
            if source is None or not _reaches(source, stage.event):
                self.close()
                return
        self._turn_to(OUTPUT)

    def _turn_to(self, path: str) -> Stream[JSON] | None:
        with self._lock:
            if self._source is not None:
                self._source.close()
            self._source = None if self._closed else self._watch(path)
            return self._source

    def close(self) -> None:
        """End the request under way."""
        with self._lock:
            self._closed = True
            if self._source is not None:
                self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _reaches(source: Stream[JSON], name: str) -> bool:
    return any(entry["name"] == name for item in source for entry in eventlog.events(item["event"]))


class PresentOutput:
    """The items of `guest.output` that are there: those of a watch up to the one without an event.

    `whole` returns all of them as one, for an instance that does not know the flag.
    """

    def __init__(self, watch: Stream[JSON], whole: Callable[[], JSON]) -> None:
        self._watch = watch
        self._whole = whole

    def __iter__(self) -> Iterator[JSON]:
        return self

    def __next__(self) -> JSON:
        try:
            item = next(self._watch)
        except RequestRefused as refusal:
            if refusal.errnum == errno.ENOENT:
                raise StopIteration from None
            if refusal.errnum != errno.EPROTO:
                raise
            item = self._whole()
        if item.get("event") is not None:
            return item
        self.close()
        raise StopIteration

    def close(self) -> None:
        """End the request."""
        self._watch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
