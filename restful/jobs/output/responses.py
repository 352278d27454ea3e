"""The answer to a request that follows something: it ends with its feed, its reader, or his rights."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import anyio
from starlette.responses import Response

from restful.errors import HttpProblem
from restful.jobs.output.endings import EndReason, FeedEnd
from restful.jobs.output.sse import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractAsyncContextManager

    from starlette.types import Receive, Scope, Send

    from restful.jobs.output.entries import FeedEntry
    from restful.jobs.output.limits import StreamLimiter, StreamLimits

T = TypeVar("T")
StillAllowed = Callable[[], Awaitable[bool]]
"""Whether the reader may still read: the token is valid, and the grant is there."""

CLOSED = FeedEnd(EndReason.CLOSED)
COMPLETE_TIMEOUT = 1.0
"""Seconds for the last bytes to a reader who may not read any more."""


class Outcome(Enum):
    """What ended a response."""

    COMPLETE = auto()
    DISCONNECTED = auto()
    DENIED = auto()
    SLOW = auto()


HEADERS = {
    "Cache-Control": "no-store, no-transform",  # RFC 9111: not even compressed, which would gather it
    "X-Accel-Buffering": "no",  # nginx passes on what it gets
    "X-Content-Type-Options": "nosniff",  # a job writes what it likes
}

log = logging.getLogger(__name__)


class Form(Protocol[T]):
    """Bytes for one reader, in the order in which they are sent."""

    media_type: str
    comment: bytes
    """What shows that a quiet stream is there; empty where the form has no such thing."""
    marks_its_end: bool
    """Whether a client sees by what `end` returns that it has had everything."""

    def start(self) -> bytes:
        """Return what comes first."""

    def entry(self, entry: FeedEntry[T]) -> Iterator[bytes]:
        """Yield what is wanted of an entry."""

    def end(self, end: FeedEnd) -> bytes:
        """Return what comes last."""


class FeedReader(Protocol[T]):
    """What `restful.jobs.output.readers.Reader` does for a response."""

    @property
    def end(self) -> FeedEnd | None:
        """Why `batch` has returned None."""

    @property
    def failure(self) -> FeedEnd | None:
        """How the feed ended, where it did."""

    async def opened(self, timeout: float) -> bool:
        """Wait until the instance has answered; False where that takes longer."""

    async def lapsed(self) -> None:
        """Wait until this reader is too slow."""

    async def batch(self, timeout: float) -> tuple[FeedEntry[T], ...] | None:
        """Wait for the next entries; none where `timeout` seconds pass without. None: that was all."""


@dataclass(frozen=True, slots=True)
class Live(Generic[T]):
    """What a response sends, and for how long."""

    user: str
    """Whose stream it is."""
    follow: Callable[[], AbstractAsyncContextManager[FeedReader[T]]]
    form: Form[T]
    still_allowed: StillAllowed
    limiter: StreamLimiter


class LiveResponse(Response, Generic[T]):
    """Sends what a reader gets. Raises HttpProblem before it begins.

    Where the client is too slow, or text is cut off by the end of a token, the body is not completed, so
    that it is not taken for all of the output.
    """

    def __init__(self, live: Live[T], limits: StreamLimits) -> None:
        self._live = live
        self._limits = limits
        self._begun = False
        super().__init__(status_code=200, headers=HEADERS, media_type=live.form.media_type)
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as ASGI has it
        """Send the response."""
        with self._live.limiter.one(self._live.user):
            async with self._live.follow() as reader:
                await self._await_opened(reader)
                outcome = await self._outcome(reader, receive, send)
                if outcome is Outcome.DENIED and self._begun and self._live.form.marks_its_end:
                    await self._complete(send)

    async def _await_opened(self, reader: FeedReader[T]) -> None:
        """Raise HttpProblem where there is nothing to begin with.

        A browser that gets anything but 200 never connects again. So while an instance is away, events are
        begun all the same, and it is followed once it is back.
        """
        opened = await reader.opened(self._limits.open_timeout)
        reason = reader.failure.reason if reader.failure is not None else None
        if reason is EndReason.GONE:
            raise HttpProblem(
                "output-gone", "The instance that ran this job is gone, and its output with it."
            )
        if (not opened or reason is EndReason.AWAY) and self.media_type != MEDIA_TYPE:
            raise HttpProblem("instance-away", headers={"Retry-After": "2"})

    async def _outcome(self, reader: FeedReader[T], receive: Receive, send: Send) -> Outcome:
        """Send the body; return what ended it first."""
        found: list[Outcome] = []

        async def first(work: Coroutine[Any, Any, Outcome]) -> None:
            found.append(await work)
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(first, _disconnected(receive))
            group.start_soon(first, _lapsed(reader))
            group.start_soon(first, self._denied())
            group.start_soon(first, self._sent(reader, send))
        return found[0]

    async def _sent(self, reader: FeedReader[T], send: Send) -> Outcome:
        try:
            await self._send_body(reader, send)
        except TimeoutError:
            return Outcome.SLOW
        except OSError:
            return Outcome.DISCONNECTED
        return Outcome.COMPLETE

    async def _send_body(self, reader: FeedReader[T], send: Send) -> None:
        form, clock = self._live.form, asyncio.get_running_loop().time
        async with asyncio.timeout(self._limits.send_timeout):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        self._begun = True
        await self._send(send, form.start())
        sent = clock()
        while True:
            batch = await reader.batch(max(0.0, sent + self._limits.comment_interval - clock()))
            if batch is None:
                break
            for data in self._gathered(batch):
                await self._send(send, data)
                del data  # it may be large, and the next one may be long in coming
                sent = clock()
            del batch
            if clock() - sent >= self._limits.comment_interval:
                await self._send(send, form.comment)
                sent = clock()
        await self._send(send, form.end(reader.end or CLOSED), more=False)

    def _gathered(self, batch: tuple[FeedEntry[T], ...]) -> Iterator[bytes]:
        """Yield the bytes of some entries, not many at a time and not a few."""
        parts, size = [], 0
        for entry in batch:
            for part in self._live.form.entry(entry):
                parts.append(part)
                size += len(part)
                if size >= self._limits.batch_bytes:
                    yield b"".join(parts)
                    parts, size = [], 0
        if size:
            yield b"".join(parts)

    async def _send(self, send: Send, data: bytes, *, more: bool = True) -> None:
        """Send a part of the body. Raises TimeoutError where the client takes too long for it."""
        if data or not more:
            message: dict[str, Any] = {"type": "http.response.body", "body": data, "more_body": more}
            async with asyncio.timeout(self._limits.send_timeout):
                await send(message)

    async def _complete(self, send: Send) -> None:
        """Send the end of the body, if the client takes it now."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(COMPLETE_TIMEOUT):
                await self._send(send, b"", more=False)

    async def _denied(self) -> Outcome:
        """Wait until the reader may not read any more, or nobody knows."""
        clock, limits = asyncio.get_running_loop().time, self._limits
        confirmed = clock()
        while clock() - confirmed < limits.access_timeout:
            await asyncio.sleep(limits.access_interval)
            try:
                async with asyncio.timeout_at(confirmed + limits.access_timeout):
                    if not await self._live.still_allowed():
                        break
                    confirmed = clock()
            except Exception as error:  # noqa: BLE001 - a database, or what an authenticator raises
                log.warning("cannot check who follows: %s", error)
        return Outcome.DENIED


async def _lapsed(reader: FeedReader[T]) -> Outcome:
    await reader.lapsed()
    return Outcome.SLOW


async def _disconnected(receive: Receive) -> Outcome:
    while (await receive())["type"] != "http.disconnect":
        pass
    return Outcome.DISCONNECTED
