"""Asks the lead again and again, in a thread of its own: a broker that is stuck may block it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol

from minicluster.broker_link.errors import InstanceError, InstanceGone, RequestRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.fence.limits import FenceLimits

RECONNECT_INTERVAL = 0.2
"""Seconds; a broker that has just started does not listen yet."""


class LeadRequester(Protocol):
    """A connection to this host's broker."""

    def ask(self, timeout: float) -> None:
        """Have rank 0 answer. Raises InstanceError: WaitTimeout after `timeout` seconds."""

    def close(self) -> None:
        """Hang up."""


class LeadRequests(threading.Thread):
    """`answered` is when the last request with an answer was sent, by the monotonic clock; None: none was."""

    def __init__(
        self, connect: Callable[[], LeadRequester], limits: FenceLimits, failed: Callable[[Exception], None]
    ) -> None:
        super().__init__(name="lead-requests", daemon=True)
        self.answered: float | None = None
        self._connect = connect
        self._limits = limits
        self._failed = failed
        self._requester: LeadRequester | None = None

    def run(self) -> None:
        """Ask until the process ends. An error that is no answer of a broker's is passed on."""
        try:
            while True:
                time.sleep(self._ask())
        except Exception as error:  # noqa: BLE001 - who watches must not go on without this thread
            self._failed(error)

    def _ask(self) -> float:
        """Ask once; return after how many seconds to ask again."""
        sent = time.monotonic()
        try:
            if self._requester is None:
                self._requester = self._connect()
            self._requester.ask(self._limits.timeout)
        except InstanceGone:
            if self._requester is not None:
                self._requester.close()
            self._requester = None
            if self.answered is None:
                return min(RECONNECT_INTERVAL, self._limits.interval)
        except RequestRefused:
            pass  # as of a broker that has no way to the lead
        except InstanceError:
            return 0.0  # the time is over
        else:
            self.answered = sent
        return max(0.0, sent + self._limits.interval - time.monotonic())
