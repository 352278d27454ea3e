"""A thread that reads an instance's changes, which block, and a queue from it to the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from restful.clusters.instance_calls import Changes, DatedChange

MAX_WAITING = 10_000
"""Changes between thread and loop. The thread waits then, and so does the broker's stream."""


class ChangesEnded(Exception):  # noqa: N818 - named for what happened
    """There are no more changes: the stream ended."""


class ChangeReader:
    """The changes of one connection. Leave it by `close`."""

    def __init__(self, changes: Changes, name: str, wake: asyncio.Event) -> None:
        self._changes = changes
        self._wake = wake
        self._loop = asyncio.get_running_loop()
        self._queue: queue.Queue[DatedChange | BaseException] = queue.Queue(MAX_WAITING)
        self._closed = threading.Event()
        threading.Thread(target=self._read, name=f"changes {name}", daemon=True).start()

    def _read(self) -> None:
        end: BaseException = ChangesEnded("the stream of changes ended")
        try:
            for change in self._changes:
                if not self._put(change):
                    return
        except BaseException as error:  # noqa: BLE001 - the loop gets it
            end = error
        self._put(end)

    def _put(self, item: DatedChange | BaseException) -> bool:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(item, timeout=1.0)
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._wake.set)
                return True
        return False

    def taken(self, most: int) -> list[DatedChange]:
        """Return changes that have come, without waiting; once all are taken, raise what ended the stream."""
        found: list[DatedChange] = []
        while len(found) < most:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if isinstance(item, BaseException):
                if found:
                    self._queue.put_nowait(item)
                    break
                raise item
            found.append(item)
        return found

    @property
    def empty(self) -> bool:
        """Return whether none waits."""
        return self._queue.empty()

    def close(self) -> None:
        """End the stream and the thread."""
        self._closed.set()
        with contextlib.suppress(Exception):
            self._changes.close()
