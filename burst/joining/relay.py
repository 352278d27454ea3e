"""The relay of a tunnel: pairs each follower's connection with one that the lead's side has opened before.

It runs in a pod beside the followers, as `python3 relay.py PORT REACH_PORT MOST`, and needs nothing but
Python 3.8. Followers connect to PORT at any address, the lead's side to REACH_PORT at the pod's own loopback,
where `pods/portforward` arrives. What passes is CURVE's: nothing is read, and nothing is secret here.

On an idle connection both sides send IDLE from time to time. With TAKEN the relay says that the follower's
bytes are next; the other side answers with TAKEN, after which come the lead's.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

IDLE, TAKEN = b".", b"!"
SILENT_SECONDS = 30.0
"""An idle connection without a sign for so long is dead."""
WAIT_SECONDS = 10.0
"""How long a follower waits for a connection to the lead's side; it tries again by itself."""
MAX_IDLE_CONNECTIONS = 64
CHUNK = 1 << 16
END = 143
"""The exit code after SIGTERM: with 0 the Job would be complete, and none would follow on another node."""


class ReachConnection:
    """A connection of the lead's side, which waits for a follower."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.writer = writer
        self._reader = reader
        self._is_taken = False
        self.acknowledged = asyncio.Event()
        """Whether the lead's side knows that it is taken."""
        self.ended = asyncio.Event()
        """Whether the pair that has it is over."""

    async def idle(self) -> None:
        """Answer its signs until it acknowledges that it is taken. Raises OSError, EOFError, TimeoutError."""
        while (sign := await asyncio.wait_for(self._reader.readexactly(1), SILENT_SECONDS)) != TAKEN:
            if sign != IDLE:
                raise EOFError
            if not self._is_taken:  # behind TAKEN a sign would be taken for the follower's
                self.writer.write(IDLE)
        self.acknowledged.set()

    def take(self) -> None:
        """Give it to a follower."""
        self._is_taken = True
        self.writer.write(TAKEN)

    async def copy_to(self, writer: StreamWriter) -> None:
        """Pass on what the lead sends."""
        await self.acknowledged.wait()
        await copy(self._reader, writer)


class TunnelRelay:
    """The connections of both sides. `most` followers may be connected at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._followers = 0
        self._idle: deque[ReachConnection] = deque()
        self._waiting: deque[asyncio.Future[ReachConnection]] = deque()

    async def on_reach(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Keep a connection of the lead's side until a follower has been served by it."""
        if len(self._idle) >= MAX_IDLE_CONNECTIONS:
            writer.close()
            return
        found = ReachConnection(reader, writer)
        self._offer(found)
        try:
            await found.idle()
            await found.ended.wait()
        except (TimeoutError, OSError, EOFError):
            pass  # the pair that has it reads its end
        finally:
            if found in self._idle:
                self._idle.remove(found)
            writer.close()
            found.acknowledged.set()

    async def on_follower(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Connect a follower with the lead's side, until either ends."""
        if self._followers >= self._most:
            writer.close()
            return
        self._followers += 1
        try:
            found = await self._take()
            await self._join(reader, writer, found)
        except TimeoutError:
            log("a follower came, and no connection to the lead's side is idle")
        finally:
            self._followers -= 1
            writer.close()

    def _offer(self, found: ReachConnection) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(found)
                return
        self._idle.append(found)

    async def _take(self) -> ReachConnection:
        """Return an idle connection. Raises TimeoutError."""
        if self._idle:
            return self._idle.popleft()
        waiting: asyncio.Future[ReachConnection] = asyncio.get_event_loop().create_future()
        self._waiting.append(waiting)
        return await asyncio.wait_for(waiting, WAIT_SECONDS)

    async def _join(self, reader: StreamReader, writer: StreamWriter, found: ReachConnection) -> None:
        found.take()
        copies = [
            asyncio.ensure_future(copy(reader, found.writer)),
            asyncio.ensure_future(found.copy_to(writer)),
        ]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in copies:
                each.cancel()
            found.ended.set()
            found.writer.close()


async def copy(reader: StreamReader, writer: StreamWriter) -> None:
    """Pass bytes on until either side ends."""
    try:
        while True:
            data = await reader.read(CHUNK)
            if not data:
                return
            writer.write(data)
            await writer.drain()
    except OSError:
        return


def log(text: str) -> None:
    """Write a line to the log of the pod."""
    print("relay: " + text, file=sys.stderr, flush=True)


async def serve(port: int, reach_port: int, most: int) -> None:
    """Serve until SIGTERM. Raises OSError where a port is not free."""
    relay, over = TunnelRelay(most), asyncio.Event()
    asyncio.get_event_loop().add_signal_handler(signal.SIGTERM, over.set)
    await asyncio.start_server(relay.on_reach, "127.0.0.1", reach_port)
    try:
        await asyncio.start_server(relay.on_follower, None, port)
    except OSError:  # there is no IPv6
        await asyncio.start_server(relay.on_follower, "0.0.0.0", port)  # noqa: S104 - followers are in other pods
    log("followers are served at port {}".format(port))  # noqa: UP032 - as old as Python 3.8 may be
    await over.wait()


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:4])))
    sys.exit(END)
