"""Topics and their handlers: a broker answers requests by topic, the same over every transport.

A handler takes one `RpcRequest` and returns the payload of its answer: a dict, or an awaitable of one. For a
stream it returns an async iterator of dicts (or `Encoded` ones). Its next item is asked for once the client
took the last one; at its end the client gets ENODATA (RFC 6). A handler raises `RpcError` to refuse. Requests
for unknown topics go to `fallback`, which on a follower is the lead.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from minicluster.embedded.errors import RpcError, StorageFull
from minicluster.embedded.ports import JSON


@dataclass(frozen=True, slots=True)
class Encoded:
    """A payload that is JSON text already: it is sent as it is, and not encoded once more."""

    text: str

    def decoded(self) -> JSON:
        """Return the payload as an object."""
        found: JSON = json.loads(self.text)
        return found


ServiceAnswer = JSON | Awaitable[JSON] | AsyncIterator[JSON | Encoded]


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """One request of the instance's owner; no other user is admitted."""

    topic: str
    payload: Mapping[str, Any]

    def need(self, key: str, kind: type | tuple[type, ...]) -> Any:
        """Return payload[key]. Raises RpcError (EPROTO) where it is absent or of another type."""
        value = self.payload.get(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise RpcError(errno.EPROTO, f"{self.topic}: {key!r} is missing or of the wrong type")
        return value


RpcHandler = Callable[[RpcRequest], ServiceAnswer]


class Reply(Protocol):
    """Sends one response, whose payload may be `Encoded`; returns when there is room for the next."""

    def __call__(self, response: JSON, *, last: bool) -> Awaitable[None]:
        """Send `response`; no other follows the `last`."""


Fallback = Callable[[RpcRequest, Reply], Awaitable[None]]


class Registry:
    """The topics of one broker."""

    def __init__(self, log: Callable[[int, str], None] = lambda _level, _text: None) -> None:
        self._handlers: dict[str, RpcHandler] = {}
        self._log = log
        self.fallback: Fallback | None = None

    def register(self, topic: str, handler: RpcHandler) -> None:
        """Serve `topic`; a topic has one handler."""
        if topic in self._handlers:
            raise ValueError(f"topic {topic} is already served")
        self._handlers[topic] = handler

    async def serve(self, request: RpcRequest, reply: Reply) -> None:
        """Answer `request`, also where its handler fails. Raises OSError where the connection is lost."""
        try:
            await self._serve(request, reply)
        except RpcError as refusal:
            await reply(failure(refusal.errnum, refusal.text), last=True)
        except StorageFull as refusal:
            await reply(failure(errno.ENOSPC, str(refusal)), last=True)
        except OSError:
            raise
        except Exception as bug:  # noqa: BLE001 - one bad handler must not end the instance
            self._log(3, f"{request.topic}: {type(bug).__name__}: {bug}")
            await reply(failure(errno.EIO, f"{request.topic}: {type(bug).__name__}: {bug}"), last=True)

    async def _serve(self, request: RpcRequest, reply: Reply) -> None:
        handler = self._handlers.get(request.topic)
        if handler is None:
            if self.fallback is None:
                raise RpcError(errno.ENOSYS, f"No service matching {request.topic} is registered")
            await self.fallback(request, reply)
            return
        answer = handler(request)
        if isinstance(answer, dict):
            await reply({"payload": answer}, last=True)
        elif inspect.isawaitable(answer):
            await reply({"payload": await answer}, last=True)
        else:
            await _send_stream(answer, reply)


async def _send_stream(items: AsyncIterator[JSON | Encoded], reply: Reply) -> None:
    try:
        async for item in items:
            await reply({"payload": item}, last=False)
    finally:
        if inspect.isasyncgen(items):
            await items.aclose()
    await reply(failure(errno.ENODATA, "No data available"), last=True)


def failure(errnum: int, text: str) -> JSON:
    """Return the response that refuses, or ends a stream."""
    return {"errnum": errnum, "errstr": text}


class Calls:
    """The requests under way of one client or one follower; each can be cancelled by its number."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def start(self, number: int, request: RpcRequest, reply: Reply) -> None:
        """Serve `request` in the background."""
        task = asyncio.get_running_loop().create_task(self._registry.serve(request, reply))
        self._tasks[number] = task
        task.add_done_callback(lambda done: self._ended(number, done))

    def _ended(self, number: int, task: asyncio.Task[None]) -> None:
        if self._tasks.get(number) is task:
            del self._tasks[number]
        if not task.cancelled():
            task.exception()  # read, so that asyncio does not log it: the client has closed its connection

    def cancel(self, number: int) -> None:
        """End one request; an unknown number is ignored, as its request has ended."""
        task = self._tasks.get(number)
        if task is not None:
            task.cancel()

    def cancel_all(self) -> None:
        """End every request, when the client is gone."""
        for task in tuple(self._tasks.values()):
            task.cancel()
