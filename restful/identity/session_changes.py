"""Ending one's own logins: one of them, or all but the one that asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restful import audit
from restful.errors import HttpProblem
from restful.store import sessions

if TYPE_CHECKING:
    from restful.identity.identities import Identities
    from restful.identity.principal import Principal


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
        await sessions.revoke_all(connection, principal.user, now, but=principal.token)
        await audit.record(connection, audit.by(principal, "session.revoke", "session:others"), now)
