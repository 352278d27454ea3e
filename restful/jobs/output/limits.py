"""Limits of live streams, and who has how many. No I/O; no clock is read."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from restful.errors import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """What live streams may take."""

    per_user: int = 20
    """Open streams of one user: a page with a job in each of many tabs."""
    in_all: int = 2000
    """Open streams of this service: each may cost two threads of small stacks."""
    threads: int = 4500
    """Threads of all streams together. Those of streams that were ended count until the instance lets them
    go: where it hangs, who comes again and again would have more and more of them."""
    threads_of_owner: int = 200
    """Of these for one user's own clusters, whose instances he may let hang: ten for each of his streams."""
    ring_bytes: int = 256 << 10
    """Of the latest output that a feed has in memory."""
    batch_bytes: int = 64 << 10
    """Given to a reader at a time: about what a connection buffers."""
    unsent_bytes: int = 1 << 20
    """That a job may write while a reader takes nothing: then the reader's stream is ended."""
    send_timeout: float = 60.0
    """Seconds that a reader may take for one batch."""
    comment_interval: float = 15.0
    """Seconds without output after which a comment is sent: proxies end what is quiet for 30."""
    retry_delay: float = 2.0
    """Seconds after which a browser connects again."""
    access_interval: float = 3.0
    """Seconds between the checks that a reader may still read."""
    access_timeout: float = 8.0
    """Seconds since the last check that succeeded: then the stream ends, though nothing was refused."""
    open_timeout: float = 5.0
    """Seconds that a request waits for the instance before its answer begins."""
    reopen_delays: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0, *(2.0,) * 29)
    """Seconds before each attempt to follow again what was lost; a minute in all."""
    stack_bytes: int = 512 << 10
    """Of a thread that reads from an instance."""


class StreamLimiter:
    """Counts the open streams by user."""

    def __init__(self, limits: StreamLimits) -> None:
        self._limits = limits
        self._open: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """How many streams are open."""
        return self._open.total()

    @contextmanager
    def one(self, user: str) -> Iterator[None]:
        """Count a stream of a user for the block. Raises HttpProblem where that is one too many."""
        self._check(user)
        self._open[user] += 1
        try:
            yield
        finally:
            self._open[user] -= 1
            if not self._open[user]:
                del self._open[user]

    def _check(self, user: str) -> None:
        limits = self._limits
        later = {"Retry-After": "10"}
        if self._open[user] >= limits.per_user:
            words = f"You have {limits.per_user} open streams, which is the limit: close one."
            raise HttpProblem("too-many-requests", words, headers=later)
        if self.open >= limits.in_all:
            words = f"{limits.in_all} streams are open here, which is the limit: try again later."
            raise HttpProblem("busy", words, headers=later)
