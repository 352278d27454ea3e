"""The newest status. One thread writes it; any number of threads read it or wait for a newer one."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from minicluster.broker_link.errors import InstanceGone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minicluster.broker_link.link import JSON

SPACING = 0.1
"""Seconds between two objects of a watch, at least."""
KEEPALIVE = 15.0
"""Seconds after which a watch repeats an object that did not change."""
READ_TIMEOUT = 2.0
"""Seconds that one reader waits for a status that is newer than its request: its client waits for 5."""


class StatusSnapshot:
    """Keeps the newest status and wakes the requests that wait for a newer one.

    `wanted` is called when a request needs a newer sample.
    """

    def __init__(self, wanted: Callable[[], None]) -> None:
        self._wanted = wanted
        self._condition = threading.Condition()
        self._status: JSON | None = None
        self._version = 0
        self._begun = 0  # samples
        self._ended = 0
        self._ordered = 0  # the last sample that may have missed a command
        self._watchers = 0
        self._closed = False

    @property
    def watched(self) -> bool:
        """Whether a client watches."""
        return self._watchers > 0

    def begin(self) -> None:
        """Note that a sample begins; it ends with `publish`."""
        with self._condition:
            self._begun += 1

    def publish(self, status: JSON) -> None:
        """Set the status to what the sample gave, and wake those that wait."""
        with self._condition:
            self._ended = self._begun
            if status != self._status:
                self._status = status
                self._version += 1
            self._condition.notify_all()

    def clear(self) -> None:
        """Remove the status: the instance does not answer."""
        with self._condition:
            self._status = None
            self._version += 1
            self._condition.notify_all()

    def request_sample(self) -> None:
        """Request a sample after a command. Samples that began before it count no more."""
        with self._condition:
            self._ordered = self._begun
        self._wanted()

    def close(self) -> None:
        """End every watch."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def read(self) -> JSON | None:
        """Return the status of a sample that began after this call.

        After READ_TIMEOUT it returns the newest status there is. It returns None if no sample began after the
        last command: a rank that was drained and idle before that may be busy now.
        """
        with self._condition:
            seen = self._begun
        self._wanted()
        with self._condition:
            self._condition.wait_for(lambda: self._closed or self._ended > seen, READ_TIMEOUT)
            return self._status if self._current else None

    @property
    def _current(self) -> bool:
        """Whether the status is newer than the last command."""
        return self._ended > self._ordered

    def _is_news(self, known: int) -> bool:
        return self._closed or self._status is None or (self._version != known and self._current)

    def watch(self) -> Iterator[JSON]:
        """Return an iterator over the status: now, on each change, and after KEEPALIVE seconds without one.

        It ends with `close` or `clear`. Raises InstanceGone if there is no status.
        """
        if self.read() is None:
            raise InstanceGone("the broker has not answered yet")
        return self._changes()

    def _changes(self) -> Iterator[JSON]:
        with self._condition:
            self._watchers += 1
        self._wanted()  # samples are more frequent now
        try:
            version = 0
            while True:
                with self._condition:
                    known, left = version, KEEPALIVE if version else None
                    self._condition.wait_for(lambda: self._is_news(known), left)  # noqa: B023 - called at once
                    if self._closed or self._status is None:
                        return
                    if not self._current:
                        continue
                    status, version = self._status, self._version
                yield status
                time.sleep(SPACING)
        finally:
            with self._condition:
                self._watchers -= 1
