"""The ledger, open: its transactions, those of the service checked by the fence of its lease."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from burst.ledger import bursts, installation, journal, lease
from minicluster.database import DatabaseError, new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.database import Database

    LedgerWork = Callable[[AsyncConnection], Coroutine[Any, Any, "T"]]

T = TypeVar("T")
LEASE_SECONDS = 15.0
POLL = 0.2
"""Seconds between two looks for requests on SQLite, where nothing announces those of other processes."""
_REQUESTS = "requests"


class BurstLedger:
    """The ledger, as one process has it."""

    def __init__(
        self,
        database: Database,
        holder: str,
        now: Callable[[], float],
        make_id: Callable[[float], str] = new_id,
    ) -> None:
        self._database = database
        self._holder = holder
        self.now = now
        """Seconds since 1970."""
        self._make_id = make_id
        self.fence = 0
        """Of this process's lease; 0: it has none."""
        self._renewed = 0.0
        self._announced = 0
        self._line: int | None = None
        """The last one of the journal that was looked at for requests."""

    async def acquire(self) -> None:
        """Take the lease, or go on with it. Raises LeaseLost while another process has it."""

        async def work(connection: AsyncConnection) -> int:
            return await lease.acquire(connection, self._holder, self.now(), LEASE_SECONDS)

        renewed = self.now()
        self.fence = await self._database.writing(work)
        self._renewed = renewed

    async def keep(self) -> None:
        """Go on with the lease in time, where work takes longer than it. Raises LeaseLost."""
        if self.now() - self._renewed >= LEASE_SECONDS / 3:
            await self.acquire()

    async def release(self) -> None:
        """Let another process have the lease at once."""
        fence, now = self.fence, self.now()
        await self._database.writing(lambda connection: lease.release(connection, fence, now))

    async def read(self, work: LedgerWork[T]) -> T:
        """Return what a function returns that reads one state of the ledger."""
        return await self._database.reading(work)

    async def write(self, work: LedgerWork[T]) -> T:
        """Return what a function returns that has one transaction. Raises LeaseLost: nothing is written."""

        async def checked(connection: AsyncConnection) -> T:
            await lease.check(connection, self.fence)
            return await work(connection)

        return await self._database.writing(checked)

    async def request(self, work: LedgerWork[T]) -> T:
        """The same without a lease: for what anybody may ask of the service, which `requested` tells it."""

        async def announced(connection: AsyncConnection) -> T:
            found = await work(connection)
            await self._database.notify(connection, _REQUESTS)
            return found

        return await self._database.writing(announced)

    async def requested(self) -> None:
        """Wait until another process has asked for something; once may be too often, never too late."""
        if self._database.changes(_REQUESTS) is None:
            self._announced = await self._database.changed(_REQUESTS, self._announced)
            return
        while not await self._has_request():
            await asyncio.sleep(POLL)

    async def _has_request(self) -> bool:
        """Return whether the journal has lines since the last time of anybody who has no lease."""
        try:
            if self._line is None:
                [(self._line,)] = await self._database.rows(journal.LAST)
            lines = await self._database.rows(journal.LATER, {"number": self._line}, few=True)
        except DatabaseError:
            return False  # who advances bursts meets it too
        if lines:
            self._line = lines[-1].id
        return any(line.fence == 0 for line in lines)

    async def note(self, burst: str, text: str, **values: Any) -> None:
        """Set values of a burst, with a line in its journal."""

        async def work(connection: AsyncConnection) -> None:
            if values:
                await bursts.change(connection, burst, **values)
            await self.line(connection, burst, text)

        await self.write(work)

    async def line(self, connection: AsyncConnection, burst: str, text: str) -> None:
        """Add a line to a burst's journal, in a transaction."""
        await journal.add(connection, burst, self.fence, text, self.now())

    def new_id(self) -> str:
        """Return an id for something new: a ULID in lower case."""
        return self._make_id(self.now()).lower()

    async def installation(self) -> str:
        """Return the id of this installation."""

        async def work(connection: AsyncConnection) -> str:
            return await installation.ensure(connection, self.new_id())

        return await self._database.writing(work)
