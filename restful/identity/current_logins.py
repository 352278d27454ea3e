"""Whether what was verified before still holds, in the transaction that makes something of it.

A password takes a while to compare, and a replica believes for two seconds what it has read of users.
Meanwhile an admin may have reset that password, or disabled the user. Transactions that write come one after
the other: what is found here is so until the end of the one that asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from restful.errors import HttpProblem
from restful.identity.refused_logins import RefusedLogin
from restful.store import sessions, users
from restful.store.users import UserState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.identity.caller import Caller
    from restful.identity.identities import Identities
    from restful.identity.principal import Principal
    from restful.store.users import UserRecord

CHANGED = "Meanwhile your password or your account was changed: log in again."
ENDED = "The login has ended; log in again."
_CHALLENGE = {  # RFC 6750 section 3
    "WWW-Authenticate": 'Bearer realm="minicluster", error="invalid_token"'
}


async def is_current(connection: AsyncConnection, verified: UserRecord) -> bool:
    """Return whether nothing has ended a user's logins since somebody was verified to be him."""
    found = await users.by_id(connection, verified.id)
    return found is not None and found.state is UserState.ACTIVE and found.epoch == verified.epoch


async def require_user(connection: AsyncConnection, verified: UserRecord) -> None:
    """Raise the problem `forbidden` if a user's logins have ended since somebody was verified to be him."""
    if not await is_current(connection, verified):
        raise HttpProblem("forbidden", CHANGED)


async def require_principal(connection: AsyncConnection, principal: Principal) -> None:
    """Raise the problem `unauthenticated` if the login of the one who asks has ended, or his role changed."""
    found = await users.by_id(connection, principal.user)
    good = found is not None and found.state is UserState.ACTIVE and found.role is principal.role
    if good and principal.logged_in and principal.token:
        good = await sessions.alive(connection, principal.token)
    if not good:
        raise HttpProblem("unauthenticated", ENDED, headers=_CHALLENGE)


async def record_refusal(identities: Identities, user: UserRecord, caller: Caller) -> None:
    """Record a login that was refused because the user changed while it was under way."""
    await identities.refusals.note(RefusedLogin("login", "changed meanwhile", caller.address, user.id))
