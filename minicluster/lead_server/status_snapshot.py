"""Where the newest status object hangs: one thread writes it, any number read it or wait for the next."""

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
    """The status, with its version; `wanted` is called when somebody asks for a newer one."""

    def __init__(self, wanted: Callable[[], None]) -> None:
        self._wanted = wanted
        self._condition = threading.Condition()
        self._status: JSON | None = None
        self._version = 0
        self._begun = 0  # looks at the instance
        self._ended = 0
        self._ordered = 0  # the last look that may have missed an order
        self._watchers = 0
        self._closed = False

    @property
    def watched(self) -> bool:
        """Tell whether anybody waits for changes."""
        return self._watchers > 0

    def begin(self) -> None:
        """A look at the instance begins; it ends with `publish`."""
        with self._condition:
            self._begun += 1

    def publish(self, status: JSON) -> None:
        """Hang up what the look gave."""
        with self._condition:
            self._ended = self._begun
            if status != self._status:
                self._status = status
                self._version += 1
            self._condition.notify_all()

    def clear(self) -> None:
        """Take the status down: the instance does not answer."""
        with self._condition:
            self._status = None
            self._version += 1
            self._condition.notify_all()

    def request_sample(self) -> None:
        """Have the instance looked at: something was changed, and what looks so far gave is over."""
        with self._condition:
            self._ordered = self._begun
        self._wanted()

    def close(self) -> None:
        """End every watch."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def read(self) -> JSON | None:
        """Return what a look that began after this call gave, or (a slow instance) the newest there is.

        There is none where no look began after the last order: a rank that was drained and idle before it
        may be busy now.
        """
        with self._condition:
            seen = self._begun
        self._wanted()
        with self._condition:
            self._condition.wait_for(lambda: self._closed or self._ended > seen, READ_TIMEOUT)
            return self._status if self._current else None

    @property
    def _current(self) -> bool:
        """Tell whether the status is newer than the last order."""
        return self._ended > self._ordered

    def _is_news(self, known: int) -> bool:
        return self._closed or self._status is None or (self._version != known and self._current)

    def watch(self) -> Iterator[JSON]:
        """Return the status now, on each change, and every KEEPALIVE seconds, up to `close` or `clear`.

        Raises InstanceGone where there is none.
        """
        if self.read() is None:
            raise InstanceGone("the broker has not answered yet")
        return self._changes()

    def _changes(self) -> Iterator[JSON]:
        with self._condition:
            self._watchers += 1
        self._wanted()  # looks are more frequent now
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
