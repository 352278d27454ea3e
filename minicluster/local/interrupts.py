"""Ctrl-C and SIGTERM in every phase: before, in and after the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING, Any, NoReturn, Self

from minicluster.backends.errors import BackendError
from minicluster.local.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While open, a signal raises Interrupted, or cancels the task that called `watch`.

    After `begin_cleanup()` a signal only sets `forced`: the clean-up goes on, but without a grace period.
    """

    def __init__(self) -> None:
        self.signum = 0
        self.forced = asyncio.Event()
        self._cleaning_up = False
        self._deferring = False
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for signum in SIGNALS:
            if signum == signal.SIGHUP and signal.getsignal(signum) is signal.SIG_IGN:
                continue  # nohup(1)
            self._before[signum] = signal.signal(signum, self._on_signal)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        if self.signum and isinstance(error, Exception) and not isinstance(error, BackendError):
            raise Interrupted(self.signum) from None  # a module being imported made it an ImportError

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Have a signal raise Interrupted at the end of the block only: what it makes is known by then."""
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False
        if self.signum:
            self._interrupt()

    def watch(self) -> None:
        """Have a signal cancel the calling task from now on."""
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()

    def leave_to_child(self) -> None:
        """Leave Ctrl-C to the program that has the terminal from now on."""
        signal.signal(signal.SIGINT, lambda _number, _frame: None)

    def begin_cleanup(self) -> None:
        """Have a signal only set `forced` from now on."""
        self._cleaning_up = True

    def _on_signal(self, signum: int, _: FrameType | None) -> None:
        if self._cleaning_up or self.signum:  # a second one must not cancel the clean-up that the first began
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self.forced.set)
            return
        self.signum = signum
        if self._deferring:
            return
        if self._loop is None or self._task is None:
            self._interrupt()
        else:
            self._loop.call_soon_threadsafe(self._cancel, self._task)

    def _interrupt(self) -> NoReturn:
        self._cleaning_up = True  # a later signal must not interrupt the clean-up that this starts
        raise Interrupted(self.signum)

    def _cancel(self, task: asyncio.Task[Any]) -> None:
        """Cancel the task, unless it has reached its clean-up since the signal."""
        if self._cleaning_up:
            self.forced.set()
        else:
            task.cancel()
