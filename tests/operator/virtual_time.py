"""An event loop whose time passes only when everybody waits: hours of it take milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class Waiting(selectors.DefaultSelector):
    """A selector that never waits: it moves the time on instead."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """Return what is ready; else let the time pass that could have been waited."""
        found = super().select(0)
        if not found:
            if timeout is None:
                raise RuntimeError("everybody waits for somebody else")
            self.now += max(timeout, 0.0)
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop over such a selector."""

    def __init__(self) -> None:
        self.waiting = Waiting()
        super().__init__(self.waiting)

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self.waiting.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def now() -> float:
    """Return the running loop's time."""
    return asyncio.get_running_loop().time()
