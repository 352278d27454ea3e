"""A link to the broker that is made anew whenever it breaks, for one thread that follows the broker."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.link import LeadLink

MIN_RETRY_DELAY, MAX_RETRY_DELAY = 0.5, 15.0
"""Seconds before a broken link is made anew: doubled each time, the least again after one that lasted."""


class LinkLoop:
    """Keeps a link to the broker. `connect` makes one in the thread of `run`; `broke` gets each error."""

    def __init__(self, connect: Callable[[], LeadLink], broke: Callable[[Exception], None]) -> None:
        self.wanted = threading.Event()
        """Set by `wake`: another thread waits for what this one reads."""
        self._connect = connect
        self._broke = broke
        self._ending = threading.Event()
        self._link: LeadLink | None = None

    @property
    def closed(self) -> bool:
        """Whether it is to end."""
        return self._ending.is_set()

    def wake(self) -> None:
        """Have the thread read at once; for other threads."""
        self.wanted.set()
        link = self._link
        if link is not None:
            link.wake()

    def close(self) -> None:
        """Have `run` return soon; for other threads."""
        self._ending.set()
        self.wake()

    def until_closed(self) -> None:
        """Wait for the end."""
        self._ending.wait()

    def run(self, follow: Callable[[LeadLink], None], lost: Callable[[Exception], None]) -> None:
        """Call `follow` with a link until `close`. After an error `lost` is called, and a new link made."""
        pause = MIN_RETRY_DELAY
        while not self.closed:
            began = time.monotonic()
            try:
                link = self._link = self._connect()
                try:
                    follow(link)
                finally:
                    self._link = None
                    link.close()
            except Exception as error:  # noqa: BLE001 - the lead server stays, for any answer of the broker
                lost(error)
                pause = MIN_RETRY_DELAY if time.monotonic() - began > MAX_RETRY_DELAY else pause
                if not self.closed:
                    self._broke(error)
                    self._ending.wait(pause)
                pause = min(2 * pause, MAX_RETRY_DELAY)
