"""Waiting for a condition, with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SECONDS = 60.0  # what takes tens of milliseconds takes that long on a machine that does ten other things
PAUSE = 0.02  # seconds between two looks: a control plane's steps take tens of milliseconds


def until(probe: Callable[[], T | None], what: str, seconds: float = SECONDS, pause: float = PAUSE) -> T:
    """Return the probe's first true answer; without one raise TimeoutError, naming what was waited for."""
    deadline = time.monotonic() + seconds
    while True:
        if found := probe():
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds:g} s still waiting for {what}; last seen: {found!r}")
        time.sleep(pause)
