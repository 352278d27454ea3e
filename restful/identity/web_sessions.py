"""Browsers' sessions: an opaque cookie, made anew at each login, and links that log in once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from restful import audit
from restful.audit import AuditEntry
from restful.errors import HttpProblem
from restful.identity import current_logins, token_format
from restful.identity.addresses import counted_as
from restful.identity.caller import Caller
from restful.identity.principal import Role
from restful.identity.refused_logins import RefusedLogin
from restful.identity.token_format import TokenKind
from restful.store import sessions, users
from restful.store.sessions import SessionKind, SessionRecord
from restful.store.users import UserKind, UserRecord, UserState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.identity.identities import Identities

FIRST_ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class WebSession:
    """A browser's session."""

    record: SessionRecord
    cookie: str = field(repr=False)
    """The value of the cookie."""


async def open_session(identities: Identities, user: UserRecord, caller: Caller) -> WebSession:
    """Return a new session of a user who has just logged in; an older cookie of this browser is not kept.

    Raises the problem `forbidden` if his logins have ended meanwhile.
    """
    try:
        async with identities.database.write() as connection:
            await current_logins.require_user(connection, user)
            return await _opened(identities, connection, user, caller)
    except HttpProblem:
        await current_logins.record_refusal(identities, user, caller)
        raise


async def _opened(
    identities: Identities, connection: AsyncConnection, user: UserRecord, caller: Caller
) -> WebSession:
    cookie = identities.new_token(TokenKind.SESSION)
    lifetime = min(identities.settings.session_idle, identities.settings.session_lifetime)
    record = _record(identities, cookie, user.id, SessionKind.WEB, lifetime, caller)
    await sessions.purge(connection, identities.now() - identities.settings.session_memory)
    await sessions.add(connection, record)
    return WebSession(record, cookie)


async def find(identities: Identities, cookie: str) -> SessionRecord | None:
    """Return the session of a cookie, which goes on for another idle time; None if it has ended.

    It ends some time after its login, however it is used.
    """
    if token_format.kind_of(cookie) is not TokenKind.SESSION:
        return None
    digest = token_format.digest(cookie)
    record = await identities.authority.session(SessionKind.WEB, digest)
    now, settings = identities.now(), identities.settings
    if record is None or record.revoked is not None:
        return None
    end = record.created + settings.session_lifetime
    if now >= min(record.expires, end):
        return None
    if identities.authority.due(f"session {record.id}", settings.last_used_interval):
        async with identities.database.write() as connection:
            await sessions.touch(connection, record.id, now, min(now + settings.session_idle, end))
        identities.authority.drop(("session", digest))
    return record


async def close(identities: Identities, record: SessionRecord, address: str) -> None:
    """End a session: the user logged out."""
    async with identities.change() as connection:
        await sessions.revoke_family(connection, record.family, identities.now())
        entry = AuditEntry(record.user, record.id, address, "logout", f"session:{record.id}")
        await audit.record(connection, entry, identities.now())


async def login_link(identities: Identities, user: UserRecord) -> str:
    """Return a token that logs a user in once, within a quarter of an hour; for who owns the database."""
    async with identities.database.write() as connection:
        entry = AuditEntry("", "", "", "link.create", f"user:{user.id}")
        await audit.record(connection, entry, identities.now())
        return await add_link(identities, connection, user)


async def redeem(identities: Identities, token: str, caller: Caller) -> WebSession | None:
    """Return a session for the token of a link; None if it was used, has expired or is unknown."""
    async with identities.database.write() as connection:
        found = await _used(identities, connection, token, caller)
        if isinstance(found, UserRecord):
            return await _opened(identities, connection, found, caller)
    await _note_refusal(identities, found, caller)
    return None


async def user_of_link(identities: Identities, token: str, caller: Caller) -> UserRecord | None:
    """Return who logs in by a link, which is used up then; None as `redeem` does."""
    async with identities.database.write() as connection:
        found = await _used(identities, connection, token, caller)
    if isinstance(found, UserRecord):
        return found
    await _note_refusal(identities, found, caller)
    return None


async def _used(
    identities: Identities, connection: AsyncConnection, token: str, caller: Caller
) -> UserRecord | str:
    """Use a link up, and return who logs in by it; else the id of whose it was, or nothing."""
    if token_format.kind_of(token) is not TokenKind.LINK:
        return ""
    link = await sessions.by_digest(connection, SessionKind.LINK, token_format.digest(token))
    now = identities.now()
    if link is None:
        return ""
    if now >= link.expires or not await sessions.use(connection, link.id, caller.fingerprint, now):
        return link.user
    user = await users.by_id(connection, link.user)
    if user is None or user.state is not UserState.ACTIVE:
        return link.user
    entry = AuditEntry(user.id, link.id, caller.address, "login", f"user:{user.id}", detail="by link")
    await audit.record(connection, entry, now)
    return user


async def _note_refusal(identities: Identities, user: str, caller: Caller) -> None:
    await identities.refusals.note(RefusedLogin("link", "used, expired or unknown", caller.address, user))


async def first_admin_link(identities: Identities) -> str | None:
    """Return the token of a link for an admin, where none can log in; the first one is made if there is none.

    None where an admin can: he has a password, is known at a provider, or is logged in now. Who comes by a
    link, sets no password and logs out cannot; so who starts the service, and owns its database, lets him
    in again.
    """
    async with identities.change() as connection:
        admins = [await users.by_id(connection, each) for each in await users.admins(connection)]
        there = [each for each in admins if each is not None]
        for each in there:
            if await _can_log_in(identities, connection, each):
                return None
        user = next((each for each in there if each.name == FIRST_ADMIN), next(iter(there), None))
        if user is None:
            user = await _made_first_admin(identities, connection)
        return await add_link(identities, connection, user)


async def _can_log_in(identities: Identities, connection: AsyncConnection, user: UserRecord) -> bool:
    if user.password is not None or await users.linked(connection, user.id):
        return True
    return bool(await sessions.of_user(connection, user.id, identities.now()))


async def _made_first_admin(identities: Identities, connection: AsyncConnection) -> UserRecord:
    if await users.by_name(connection, FIRST_ADMIN) is not None:
        raise RuntimeError(f"the user {FIRST_ADMIN} is there and no admin: make one in the database")
    user = _first_admin(identities)
    await users.add(connection, user)
    entry = AuditEntry("", "", "", "user.create", f"user:{user.id}", detail="the first admin")
    await audit.record(connection, entry, identities.now())
    return user


def _first_admin(identities: Identities) -> UserRecord:
    return UserRecord(
        id=identities.new_id(),
        name=FIRST_ADMIN,
        kind=UserKind.USER,
        role=Role.ADMIN,
        state=UserState.ACTIVE,
        epoch=0,
        created=identities.now(),
    )


async def add_link(identities: Identities, connection: AsyncConnection, user: UserRecord) -> str:
    """Return a token that logs a user in once, within a quarter of an hour; in a transaction that is open."""
    token = identities.new_token(TokenKind.LINK)
    lifetime = identities.settings.link_lifetime
    record = _record(identities, token, user.id, SessionKind.LINK, lifetime, Caller("", ""))
    await sessions.add(connection, record)
    return token


def _record(
    identities: Identities, token: str, user: str, kind: SessionKind, lifetime: float, caller: Caller
) -> SessionRecord:
    own, now = identities.new_id(), identities.now()
    return SessionRecord(
        id=own,
        user=user,
        kind=kind,
        family=own,
        sha256=token_format.digest(token),
        created=now,
        expires=now + lifetime,
        address=caller.address,
        agent=caller.agent,
        csrf=secrets.token_urlsafe(32),
        network=counted_as(caller.address) if caller.address else "",
    )
