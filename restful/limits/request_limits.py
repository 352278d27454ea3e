"""Limits on a request's head and body, before any route has it; each refusal names its limit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from restful.errors import HttpProblem
from restful.limits.problem_answer import answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from restful.settings import RequestLimits


class RequestLimiter:
    """ASGI middleware. What it refuses is answered here, whatever the route made of its half of a body."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._head(scope)
        if refusal is not None:
            await answer(refusal, scope["path"])(scope, receive, send)
            return
        body = LimitedBody(receive, self._limits)
        answered = GuardedSend(send, body, scope)
        try:
            await self._app(scope, body.receive, answered.send)
        except HttpProblem:
            if body.refusal is None or answered.started:
                raise
        if body.refusal is not None and not answered.started:
            await answer(body.refusal, scope["path"])(scope, receive, send)

    def _head(self, scope: Scope) -> HttpProblem | None:
        """Return why a request is refused by its head alone."""
        size = len(scope.get("raw_path") or scope["path"].encode()) + len(scope.get("query_string", b""))
        size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        limit = self._limits.head_bytes
        if size > limit:
            return HttpProblem(
                "head-too-large", f"the head has {size} bytes; the limit is {limit}", headers=CLOSE
            )
        stated = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        return too_large(self._limits.body_bytes) if _number(stated) > self._limits.body_bytes else None


CLOSE = {"Connection": "close"}


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 20 else 0


def too_large(limit: int) -> HttpProblem:
    """Return the refusal of a body."""
    return HttpProblem("too-large", f"the body has more than the limit of {limit} bytes", headers=CLOSE)


class LimitedBody:
    """A request's body, up to a size, and within a time."""

    def __init__(self, receive: Receive, limits: RequestLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._size = 0
        self._whole = False
        self._deadline: float | None = None
        self.refusal: HttpProblem | None = None

    async def receive(self) -> Message:
        """Return the next message. Raises HttpProblem "too-large", "too-slow"."""
        if self._whole:
            return await self._receive()  # only that the client has gone can come
        if self.refusal is not None:
            raise self.refusal
        message = await self._within()
        if message["type"] != "http.request":
            return message
        self._size += len(message.get("body", b""))
        if self._size > self._limits.body_bytes:
            self.refusal = too_large(self._limits.body_bytes)
            raise self.refusal
        self._whole = not message.get("more_body", False)
        return message

    async def _within(self) -> Message:
        loop = asyncio.get_running_loop()
        if self._deadline is None:
            self._deadline = loop.time() + self._limits.body_seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._receive()
        except TimeoutError:
            seconds = self._limits.body_seconds
            self.refusal = HttpProblem(
                "too-slow", f"the body did not arrive within the limit of {seconds:g} s", headers=CLOSE
            )
            raise self.refusal from None


class GuardedSend:
    """Sends an answer, unless the body was refused meanwhile: then that is the answer."""

    def __init__(self, send: Send, body: LimitedBody, scope: Scope) -> None:
        self._send = send
        self._body = body
        self._scope = scope
        self.started = False

    async def send(self, message: Message) -> None:
        """Send a message of the route's, or drop it."""
        if self._body.refusal is not None and not self.started:
            return
        self.started = True
        await self._send(message)
