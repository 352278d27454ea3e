"""Runs a command in a far container with this process's own terminal, or with its three streams."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import termios
import tty
from typing import TYPE_CHECKING

from minicluster.kube_client.errors import FailedError, LostError
from minicluster.kube_client.exec_stream import STDERR
from minicluster.remote import lead

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence

    from minicluster.kube_client.exec_stream import ExecStream
    from minicluster.remote.session import NamespaceSession

INPUT, OUTPUT, ERRORS = 0, 1, 2
_CHUNK = 1 << 15
_ENDING = (signal.SIGTERM, signal.SIGHUP)


async def shell(session: NamespaceSession, name: str, command: Sequence[str]) -> int:
    """Run a command (none: a shell) beside the lead broker, and return its exit code.

    It has a terminal where this process has one. Raises MissingError, NotRunningError, LostError; FailedError
    where a signal ends this process.
    """
    container = await lead.container(session, name)
    terminal = os.isatty(INPUT) and os.isatty(OUTPUT)
    words = lead.visit("shell", "--", *command)
    async with session.client.pods.execute(container, words, terminal=terminal) as stream, _signals():
        with _raw() if terminal else contextlib.nullcontext():
            async with _resized(stream) if terminal else contextlib.nullcontext(), _typed(stream):
                async for channel, data in stream.output():
                    await asyncio.to_thread(_write, ERRORS if channel == STDERR else OUTPUT, data)
    assert stream.exit_code is not None, "the output ends with it"  # noqa: S101
    return stream.exit_code


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def _raw() -> Iterator[None]:
    """Set the terminal to raw mode, so that it passes on every key, and restore it at the end."""
    before = termios.tcgetattr(INPUT)
    tty.setraw(INPUT)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # it was closed
            termios.tcsetattr(INPUT, termios.TCSANOW, before)


@contextlib.asynccontextmanager
async def _signals() -> AsyncIterator[None]:
    """End the block at a signal that would end the process, so that its clean-up runs."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    received: list[signal.Signals] = []

    def end(signum: signal.Signals) -> None:
        received.append(signum)
        if task is not None:
            task.cancel()

    for signum in _ENDING:
        loop.add_signal_handler(signum, end, signum)
    try:
        yield
    except asyncio.CancelledError:
        if not received:
            raise
        raise FailedError(f"ended by {received[0].name}", 128 + received[0]) from None
    finally:
        for signum in _ENDING:
            loop.remove_signal_handler(signum)


@contextlib.asynccontextmanager
async def _resized(stream: ExecStream) -> AsyncIterator[None]:
    """Keep the far terminal's size equal to this one's."""
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    changed.set()

    async def send_sizes() -> None:
        while await changed.wait():
            changed.clear()
            with contextlib.suppress(OSError):
                await stream.resize(*os.get_terminal_size(OUTPUT))

    loop.add_signal_handler(signal.SIGWINCH, changed.set)
    try:
        async with _beside(send_sizes()):
            yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


@contextlib.asynccontextmanager
async def _typed(stream: ExecStream) -> AsyncIterator[None]:
    """Send our standard input, and its end."""

    async def copy() -> None:
        async for data in _input():
            await stream.send(data)
        await stream.close_input()

    async with _beside(copy()):
        yield


async def _input() -> AsyncIterator[bytes]:
    """Yield standard input to its end; nothing is read before the last piece was taken."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()

    def seen() -> None:
        loop.remove_reader(INPUT)
        ready.set()

    try:
        while True:
            ready.clear()
            try:
                loop.add_reader(INPUT, seen)
            except PermissionError:  # a file: it never makes one wait
                ready.set()
            await ready.wait()
            data = os.read(INPUT, _CHUNK)
            if not data:
                return
            yield data
    except OSError:  # closed, or a terminal that is gone
        return
    finally:
        with contextlib.suppress(OSError):
            loop.remove_reader(INPUT)


@contextlib.asynccontextmanager
async def _beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run `work` as a task beside the block, and cancel it with the block's end.

    Its LostError is ignored, as the block raises one too. Any other error of it ends the block.
    """
    owner = asyncio.current_task()
    assert owner is not None, "it is awaited by a task"  # noqa: S101
    failed: list[Exception] = []

    async def done() -> None:
        try:
            with contextlib.suppress(LostError):
                await work
        except Exception as error:  # noqa: BLE001
            failed.append(error)
            owner.cancel()

    task = asyncio.ensure_future(done())
    try:
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
    except asyncio.CancelledError:
        if not failed:
            raise
        owner.uncancel()
        raise failed[0] from None
