"""The supervisor's end of its socket: takes orders, one a connection, in the lines of control.py."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from minicluster.local.control import MAX_ORDER_BYTES, peer_is_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from minicluster.local.control import Message
    from minicluster.local.scaling import Notice

    AnswerOrder = Callable[[Message, Notice], Awaitable[Message]]


@asynccontextmanager
async def serving(path: Path, answer_order: AnswerOrder) -> AsyncIterator[None]:
    """Listen on a socket.

    `answer_order` carries an order out, reports its progress, and returns the answer.
    """
    server = await asyncio.start_unix_server(partial(_serve, answer_order), path=path, limit=MAX_ORDER_BYTES)
    path.chmod(0o600)
    try:
        yield
    finally:
        server.close()


async def _serve(
    answer_order: AnswerOrder, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    def send(message: Message) -> None:
        writer.write(json.dumps(message).encode() + b"\n")

    try:
        if peer_is_owner(writer.get_extra_info("socket")):
            order = json.loads(await reader.readline() or b"{}")
            send(await answer_order(order, lambda text: send({"notice": text})))
            await writer.drain()
    except (ConnectionError, ValueError):
        return  # the client has gone, or sent no JSON
    finally:
        writer.close()
