"""Waiting for a condition, with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SECONDS = 240.0  # what takes tens of milliseconds takes that long on a machine that does ten other things
INTERVAL = 0.02  # seconds between two polls at first: a control plane's steps take tens of milliseconds
MAX_INTERVAL = 0.1  # what has taken seconds is polled less often: each poll is work for the API server
PAUSES = 3  # a poll is followed by so many times what it took: what many wait for is to have the machine


def until(
    probe: Callable[[], T | None], what: str, seconds: float = SECONDS, interval: float | None = None
) -> T:
    """Return the probe's first true answer; without one raise TimeoutError, naming what was waited for.

    Without an `interval` it becomes longer, up to MAX_INTERVAL, by a twentieth of what has passed. A probe
    that takes long is called less often.
    """
    begin = time.monotonic()
    while True:
        called = time.monotonic()
        if found := probe():
            return found
        took, passed = time.monotonic() - called, time.monotonic() - begin
        if passed > seconds:
            raise TimeoutError(f"after {seconds:g} s still waiting for {what}; last seen: {found!r}")
        time.sleep(max(interval or min(max(INTERVAL, passed / 20), MAX_INTERVAL), PAUSES * took))
