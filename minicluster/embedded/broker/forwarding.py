"""Requests taken on a follower and answered by the lead, over the overlay.

Messages up: rpc {id, topic, payload}, rpc-cancel {id}, rpc-ack {id};
down: rpc-reply {id, response, last}. A stream has CREDIT responses on their way at most: the lead's handler
waits until the client took them.
"""

from __future__ import annotations

import asyncio
import errno
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.embedded.services import Calls, Encoded, Registry, Reply, RpcRequest, failure

if TYPE_CHECKING:
    from minicluster.embedded.overlay.overlay import FollowerOverlay, LeadOverlay
    from minicluster.embedded.ports import JSON

CREDIT = 8


@dataclass(slots=True)
class _Caller:
    """A follower as the lead sees it."""

    calls: Calls
    credits: dict[int, asyncio.Semaphore] = field(default_factory=dict)


class LeadSide:
    """Serves followers' requests from the lead's registry."""

    def __init__(self, overlay: LeadOverlay, registry: Registry) -> None:
        self._overlay = overlay
        self._registry = registry
        self._callers: dict[int, _Caller] = {}
        overlay.on("rpc", self._call)
        overlay.on("rpc-cancel", lambda rank, message, _body: self._caller(rank).calls.cancel(message["id"]))
        overlay.on("rpc-ack", self._ack)

    def _caller(self, rank: int) -> _Caller:
        if rank not in self._callers:
            self._callers[rank] = _Caller(Calls(self._registry))
        return self._callers[rank]

    def _call(self, rank: int, message: JSON, _body: bytes) -> None:
        caller, number = self._caller(rank), message["id"]
        room = caller.credits[number] = asyncio.Semaphore(CREDIT)

        async def reply(response: JSON, *, last: bool) -> None:
            if last:
                caller.credits.pop(number, None)
            else:
                await room.acquire()
                if isinstance(payload := response["payload"], Encoded):
                    response = {"payload": payload.decoded()}
            self._overlay.send(rank, {"type": "rpc-reply", "id": number, "response": response, "last": last})

        caller.calls.start(number, RpcRequest(message["topic"], message["payload"]), reply)

    def _ack(self, rank: int, message: JSON, _body: bytes) -> None:
        room = self._caller(rank).credits.get(message["id"])
        if room is not None:
            room.release()

    def rank_gone(self, rank: int) -> None:
        """End the requests of a follower that left."""
        caller = self._callers.pop(rank, None)
        if caller is not None:
            caller.calls.cancel_all()


class FollowerSide:
    """Sends requests up; `forward` is the registry's fallback."""

    def __init__(self, overlay: FollowerOverlay) -> None:
        self._overlay = overlay
        self._last = 0
        self._replies: dict[int, asyncio.Queue[JSON]] = {}
        overlay.on("rpc-reply", self._replied)

    def _replied(self, _rank: int, message: JSON, _body: bytes) -> None:
        queue = self._replies.get(message["id"])
        if queue is not None:
            queue.put_nowait(message)

    async def forward(self, request: RpcRequest, reply: Reply) -> None:
        """Have the lead answer `request`."""
        await asyncio.shield(self._overlay.welcome)
        self._last += 1
        number = self._last
        queue = self._replies[number] = asyncio.Queue()
        up = {"id": number, "topic": request.topic, "payload": request.payload}
        if not self._overlay.send(0, {"type": "rpc", **up}):
            await reply(failure(errno.EHOSTUNREACH, "the lead broker is gone"), last=True)
            return
        try:
            await self._relay(number, queue, reply)
        except asyncio.CancelledError:
            self._overlay.send(0, {"type": "rpc-cancel", "id": number})
            raise
        finally:
            del self._replies[number]

    async def _relay(self, number: int, queue: asyncio.Queue[JSON], reply: Reply) -> None:
        while True:
            message = await queue.get()
            await reply(message["response"], last=message["last"])
            if message["last"]:
                return
            self._overlay.send(0, {"type": "rpc-ack", "id": number})
