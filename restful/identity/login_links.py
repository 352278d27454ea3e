"""Links that log a user in once, made by an admin: for who has no password yet, or has forgotten it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restful import audit
from restful.errors import HttpProblem
from restful.identity import current_logins, session_changes, web_sessions
from restful.identity.login_requirement import require_login
from restful.store import tokens, users
from restful.store.users import UserKind, UserState

if TYPE_CHECKING:
    from restful.identity.identities import Identities
    from restful.identity.principal import Principal


async def for_user(
    identities: Identities, principal: Principal, user: str, *, reset: bool, keep_tokens: bool = False
) -> str:
    """Return the token of a link that logs a user in, once.

    With `reset` his password goes, all his logins end, and his personal tokens are revoked unless they are to
    be kept: he sets another password behind the link.
    Raises the problems `forbidden` where nobody has logged in, `not-found`, and `conflict` for a user who may
    not log in, or to reset oneself.
    """
    require_login(principal, "make a link that logs in")
    if reset and user == principal.user:
        raise HttpProblem("conflict", "This is you: change your password, which ends your other logins.")
    async with identities.change() as connection:
        await current_logins.require_principal(connection, principal)
        found = await users.by_id(connection, user)
        if found is None or found.kind is not UserKind.USER:
            raise HttpProblem("not-found")
        if found.state is not UserState.ACTIVE:
            raise HttpProblem("conflict", f"The user is {found.state}, and a link would not log him in.")
        now = identities.now()
        if reset:
            await users.change(connection, user, {"password": None}, end=True)
            await session_changes.end_all(connection, user, now)
            if not keep_tokens:
                await tokens.revoke_all(connection, user, now)
        action = "password.reset" if reset else "link.create"
        detail = audit.fields({"tokens": "kept" if keep_tokens else "revoked"}) if reset else ""
        await audit.record(connection, audit.by(principal, action, f"user:{user}", detail=detail), now)
        return await web_sessions.add_link(identities, connection, found)
