"""The clock of a client, which tests replace."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Timing:
    """What the client knows of time, and its chance."""

    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds, that no change of the clock moves."""
    sleep: Callable[[float], object] = time.sleep
    chance: Callable[[], float] = random.random
    """From 0 to 1: spreads clients, and guards nothing."""


SYSTEM = Timing()
