"""What users, sessions, tokens and grants are now: remembered, and never older than two seconds.

Each change raises a number in the database, in its own transaction. A request that comes two seconds or more
after the last look at that number asks for it first; if it has changed, all that is remembered is forgotten.
So a revocation is seen by every replica without a task in the background; and where the database is away for
longer, requests are refused rather than answered by what was true once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio

from restful.store import groups, revision, sessions, tokens, users

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.database import Database
    from restful.identity.scopes import GrantRole
    from restful.store.sessions import SessionKind, SessionRecord
    from restful.store.tokens import TokenRecord
    from restful.store.users import UserRecord

Remembered = TypeVar("Remembered")

MAX_REMEMBERED = 20_000
"""Answers; beyond it all are forgotten."""


class Authority:
    """Answers from memory where the database has not changed since."""

    def __init__(self, database: Database, now: Callable[[], float], interval: float) -> None:
        self._database = database
        self._now = now
        self._interval = interval
        self._revision = -1
        self._checked: float | None = None
        self._generation = 0
        self._remembered: dict[Hashable, Any] = {}
        self._written: dict[str, float] = {}
        self._lock = anyio.Lock()

    def forget(self) -> None:
        """Ask for everything anew from now on: this process has changed it, or was notified."""
        self._generation += 1
        self._remembered.clear()
        self._checked = None

    async def remember(
        self, key: Hashable, load: Callable[[AsyncConnection], Awaitable[Remembered]]
    ) -> Remembered:
        """Return what `load` returned since the last change; None is not remembered."""
        await self._check()
        if key in self._remembered:
            return cast(Remembered, self._remembered[key])
        generation = self._generation
        async with self._database.read() as connection:
            found = await load(connection)
        # What was read before a change must not be remembered after it.
        if found is not None and generation == self._generation:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = found
        return found

    def drop(self, key: Hashable) -> None:
        """Forget one answer, in this process alone."""
        self._remembered.pop(key, None)

    def due(self, key: str, interval: float) -> bool:
        """Return whether something was not done by this process within an interval; it is now."""
        now = self._now()
        last = self._written.get(key)
        if last is not None and 0 <= now - last < interval:
            return False
        if len(self._written) >= MAX_REMEMBERED:
            self._written.clear()
        self._written[key] = now
        return True

    async def user(self, user: str) -> UserRecord | None:
        """Return a user, without his password's hash."""

        async def load(connection: AsyncConnection) -> UserRecord | None:
            found = await users.by_id(connection, user)
            return None if found is None else replace(found, password=None)

        return await self.remember(("user", user), load)

    async def token(self, sha256: str) -> TokenRecord | None:
        """Return the token with a digest."""
        return await self.remember(("token", sha256), lambda each: tokens.by_digest(each, sha256))

    async def session(self, kind: SessionKind, sha256: str) -> SessionRecord | None:
        """Return the session of a kind with a digest."""
        key = ("session", sha256)
        return await self.remember(key, lambda each: sessions.by_digest(each, kind, sha256))

    async def alive(self, family: str) -> bool:
        """Return whether a family of refresh tokens, or a client's secret, is not revoked."""

        async def load(connection: AsyncConnection) -> bool | None:
            if await sessions.alive(connection, family):
                return True
            secret = await tokens.by_id(connection, family)
            return True if secret is not None and secret.good(self._now()) else None

        return bool(await self.remember(("alive", family), load))

    async def grants(self, user: str) -> Mapping[str, frozenset[GrantRole]]:
        """Return what a user was granted, by cluster."""
        return await self.remember(("grants", user), lambda each: groups.grants_of(each, user))

    async def _check(self) -> None:
        if not self._stale():
            return
        async with self._lock:
            if not self._stale():
                return
            at = self._now()
            async with self._database.read() as connection:
                number = await revision.read(connection)
            if number != self._revision:
                self._generation += 1
                self._remembered.clear()
                self._revision = number
            self._checked = at

    def _stale(self) -> bool:
        # A clock that was put back makes it stale as well.
        return self._checked is None or not 0 <= self._now() - self._checked < self._interval
