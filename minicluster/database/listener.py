"""What other replicas announce: PostgreSQL's LISTEN on a connection of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from minicluster.database import postgresql
from minicluster.database.errors import DatabaseError

if TYPE_CHECKING:
    import asyncpg

    from minicluster.database.address import DatabaseUrl
    from minicluster.database.channels import Channels

log = logging.getLogger(__name__)

RETRY = 0.5
"""Seconds until the next attempt to connect."""
PROBE = 10.0
"""Seconds without news until the server is asked whether it is still there."""


class ChannelListener:
    """Follows channels of a schema, from the first that somebody waits for until it is closed."""

    def __init__(self, url: DatabaseUrl, schema: str, channels: Channels) -> None:
        self._url = url
        self._schema = schema
        self._channels = channels
        self._wanted: set[str] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def name(self, channel: str) -> str:
        """Return a channel's name at the server; two schemas may be in one database."""
        return f"{self._schema}.{channel}"

    def follow(self, channel: str) -> None:
        """Listen to a channel from now on; that it does is the first change."""
        self._wanted.add(channel)
        self._wake.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        lost = False
        while True:
            try:
                await self._listen()
            except DatabaseError as error:
                if not lost:
                    log.warning("changes of other replicas are not seen: %s", error)
                lost = True
            else:
                lost = False
            await asyncio.sleep(RETRY)

    async def _listen(self) -> None:
        """Listen until the connection is lost; raise DatabaseError where there is none."""
        import asyncpg  # noqa: PLC0415 - an extra of its own

        lost: tuple[type[Exception], ...] = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
        connection = await postgresql.connect(self._url)
        try:
            connection.add_termination_listener(lambda _: self._wake.set())
            await self._follow(connection)
        except lost as error:
            log.info("the connection for changes ended: %s", type(error).__name__)
        finally:
            connection.terminate()

    async def _follow(self, connection: asyncpg.Connection) -> None:
        following: set[str] = set()
        while not connection.is_closed():
            for channel in sorted(self._wanted - following):
                await connection.add_listener(self.name(channel), self._announced)
                following.add(channel)
                # Before, somebody may have announced what was not received.
                self._channels.change([channel])
            self._wake.clear()
            if not connection.is_closed():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PROBE):
                        await self._wake.wait()
                    continue
                await connection.fetchval("SELECT 1", timeout=postgresql.CONNECT_TIMEOUT)

    def _announced(self, _connection: object, _pid: int, name: str, _payload: str) -> None:
        self._channels.change([name.removeprefix(f"{self._schema}.")])
