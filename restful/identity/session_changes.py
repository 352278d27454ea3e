"""Ending logins: one of one's own, all but the one that asks, or, for an admin, all of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restful import audit
from restful.errors import HttpProblem
from restful.store import device_codes, sessions

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.identity.identities import Identities
    from restful.identity.principal import Principal


async def end_all(connection: AsyncConnection, user: str, now: float, but: str = "") -> None:
    """End all logins of a user but one: sessions, refresh tokens, links, and devices that he has approved."""
    await sessions.revoke_all(connection, user, now, but=but)
    await device_codes.withdraw(connection, user)


async def end(identities: Identities, principal: Principal, session: str) -> None:
    """End a login by its id. Raises the problem `not-found` if it is not one's own, or has ended."""
    async with identities.change() as connection:
        now = identities.now()
        if not await sessions.revoke_family(connection, session, now, principal.user):
            raise HttpProblem("not-found")
        await audit.record(connection, audit.by(principal, "session.revoke", f"session:{session}"), now)


async def end_others(identities: Identities, principal: Principal) -> None:
    """End all of one's logins but the one that asks."""
    async with identities.change() as connection:
        now = identities.now()
        await end_all(connection, principal.user, now, but=principal.token)
        await audit.record(connection, audit.by(principal, "session.revoke", "session:others"), now)
