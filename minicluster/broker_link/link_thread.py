"""A thread with a link to the broker of its own, which other threads give work."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.link import LeadLink

    LinkWork = Callable[[LeadLink], None]


class LinkThread(threading.Thread):
    """Runs work with its link, and hands out the broker's answers while `may_read` allows it.

    `connect` is called in the thread. `broke` is called there with the error that ended it.
    """

    def __init__(
        self,
        connect: Callable[[], LeadLink],
        may_read: Callable[[], bool],
        broke: Callable[[Exception], None],
    ) -> None:
        super().__init__(name="lines-link", daemon=True)
        self._connect = connect
        self._may_read = may_read
        self._broke = broke
        self._work: deque[LinkWork] = deque()
        self._awake = threading.Event()
        self._closed = False
        self._link: LeadLink | None = None

    def post(self, work: LinkWork) -> None:
        """Have work done; for other threads."""
        self._work.append(work)
        self.wake()

    def wake(self) -> None:
        """Have it ask `may_read` again; for other threads."""
        self._awake.set()
        link = self._link
        if link is not None:
            link.wake()

    def close(self) -> None:
        """End it soon; for other threads."""
        self._closed = True
        self.wake()

    def run(self) -> None:
        """Work until `close`, or until the link breaks."""
        try:
            link = self._connect()
            self._link = link
            try:
                self._serve(link)
            finally:
                self._link = None
                link.close()
        except Exception as error:  # noqa: BLE001 - whatever it was, its client has to get an answer
            self._broke(error)

    def _serve(self, link: LeadLink) -> None:
        while not self._closed:
            self._awake.clear()
            self._work_off(link)
            if self._may_read():
                link.dispatch(None)
            else:
                self._awake.wait()

    def _work_off(self, link: LeadLink) -> None:
        while self._work and not self._closed:
            self._work.popleft()(link)
