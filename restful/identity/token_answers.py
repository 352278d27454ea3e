"""Access and refresh tokens after a login: issued, refreshed and revoked (RFC 6749, RFC 7009)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from restful import audit
from restful.audit import AuditEntry
from restful.errors import HttpProblem
from restful.identity import current_logins, refresh, token_format
from restful.identity.addresses import counted_as
from restful.identity.refresh import RefreshOutcome, RefreshState
from restful.identity.scopes import BY_ROLE, effective, parse, quoted
from restful.identity.token_format import TokenKind
from restful.store import sessions, users
from restful.store.sessions import SessionKind, SessionRecord
from restful.store.users import UserState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.identity.caller import Caller
    from restful.identity.identities import Identities
    from restful.store.users import UserRecord


class OAuthError(Exception):
    """A request for a token that is refused, in OAuth's words (RFC 6749 section 5.2)."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(error, description)
        self.error = error
        self.description = description


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """What a client gets."""

    access: str = field(repr=False)
    expires_in: int
    scopes: frozenset[str]
    refresh: str = field(default="", repr=False)
    """Empty for service accounts, which have their secret."""


def requested(text: str | None, user: UserRecord) -> frozenset[str]:
    """Return the scopes that a user gets; all of his role if none are named.

    Raises OAuthError if one is unknown, or his role has it not.
    """
    if not text:
        return BY_ROLE[user.role]
    try:
        scopes = parse(text)
    except ValueError as error:
        raise OAuthError("invalid_scope", str(error)) from error
    if beyond := scopes - BY_ROLE[user.role]:
        raise OAuthError("invalid_scope", f"the role {user.role} has not: {quoted(beyond)}")
    return scopes


async def after_login(
    identities: Identities, user: UserRecord, scopes: frozenset[str], caller: Caller
) -> TokenAnswer:
    """Return the tokens of a user who has just logged in: the first of a family.

    Raises OAuthError if his logins have ended meanwhile.
    """
    token = identities.new_token(TokenKind.REFRESH)
    family = identities.new_id()
    try:
        async with identities.database.write() as connection:
            await current_logins.require_user(connection, user)
            await sessions.add(connection, _session(identities, token, family, user.id, scopes, caller))
    except HttpProblem as problem:
        await current_logins.record_refusal(identities, user, caller)
        raise _invalid(problem.detail) from problem
    access = await identities.access_token(user, family, scopes, caller.client)
    return TokenAnswer(access, int(identities.settings.access_lifetime), effective(scopes, user.role), token)


async def refreshed(identities: Identities, token: str, wanted: str | None, caller: Caller) -> TokenAnswer:
    """Return the tokens that follow a refresh token.

    Raises OAuthError; what was used before ends its family.
    """
    if token_format.kind_of(token) is not TokenKind.REFRESH:
        raise _invalid("the refresh token is none")
    async with identities.database.write() as connection:
        stored = await sessions.by_digest(connection, SessionKind.REFRESH, token_format.digest(token))
        if stored is None:
            raise _invalid("the refresh token is unknown")
        outcome = await _judged(identities, connection, stored, token, caller)
        user = await users.by_id(connection, stored.user)
    if outcome is RefreshOutcome.REUSED:
        await _reused(identities, stored, caller)
    if outcome not in {RefreshOutcome.ROTATE, RefreshOutcome.REPEAT}:
        raise _invalid(_REFUSALS[outcome])
    if user is None or user.state is not UserState.ACTIVE:
        raise _invalid("the user may not log in")
    scopes = _narrowed(stored.scopes, wanted)
    access = await identities.access_token(user, stored.family, scopes, caller.client)
    successor = refresh.successor(token, _key(identities))
    lifetime = int(identities.settings.access_lifetime)
    return TokenAnswer(access, lifetime, effective(scopes, user.role), successor)


async def _judged(
    identities: Identities, connection: AsyncConnection, stored: SessionRecord, token: str, caller: Caller
) -> RefreshOutcome:
    """Judge a refresh token, and store its successor if it gets one."""
    now, first = identities.now(), await sessions.by_id(connection, stored.family)
    family_alive = first is not None and first.revoked is None
    end = (first or stored).created + identities.settings.family_lifetime
    outcome = refresh.judge(_state(stored, family_alive, end), caller.client, caller.fingerprint, now)
    if outcome is not RefreshOutcome.ROTATE:
        return outcome
    if not await sessions.use(connection, stored.id, caller.fingerprint, now):
        # Another replica was faster, or the family has just been revoked.
        again = await sessions.by_digest(connection, SessionKind.REFRESH, stored.sha256)
        state = _state(again or stored, family_alive, end)
        return refresh.judge(state, caller.client, caller.fingerprint, now)
    successor = refresh.successor(token, _key(identities))
    session = _session(identities, successor, stored.family, stored.user, stored.scopes, caller, stored.id)
    await sessions.add(connection, replace(session, expires=min(session.expires, end)))
    return outcome


async def _reused(identities: Identities, stored: SessionRecord, caller: Caller) -> None:
    async with identities.change() as connection:
        now = identities.now()
        if await sessions.revoke_family(connection, stored.family, now):
            entry = AuditEntry(
                stored.user,
                stored.id,
                caller.address,
                "session.reuse",
                f"session:{stored.family}",
                "denied",
                "a refresh token was used twice, so its family is revoked",
            )
            await audit.record(connection, entry, now)


async def revoke(identities: Identities, token: str, caller: Caller) -> None:
    """Revoke a refresh token with its family; what is unknown is no error (RFC 7009 section 2.2)."""
    async with identities.database.read() as connection:
        stored = await sessions.by_digest(connection, SessionKind.REFRESH, token_format.digest(token))
    if stored is None:
        return
    async with identities.change() as connection:
        now = identities.now()
        if await sessions.revoke_family(connection, stored.family, now):
            entry = AuditEntry(
                stored.user, stored.id, caller.address, "session.revoke", f"session:{stored.family}"
            )
            await audit.record(connection, entry, now)


_REFUSALS = {
    RefreshOutcome.REUSED: "the refresh token was used before, so all that followed it is revoked",
    RefreshOutcome.OTHER_CLIENT: "the refresh token was given to another client",
    RefreshOutcome.EXPIRED: "the refresh token has expired",
    RefreshOutcome.REVOKED: "the refresh token is revoked",
}


def _invalid(description: str) -> OAuthError:
    return OAuthError("invalid_grant", description)


def _narrowed(scopes: frozenset[str], wanted: str | None) -> frozenset[str]:
    """Return the scopes of the next access token: fewer if the client wants so (RFC 6749 section 6)."""
    if not wanted:
        return scopes
    if beyond := frozenset(wanted.split()) - scopes:
        raise OAuthError("invalid_scope", f"the login was without: {quoted(beyond)}")
    return frozenset(wanted.split())


def _state(stored: SessionRecord, family_alive: bool, end: float) -> RefreshState:
    """Return what is known of a refresh token; `end` is that of its family."""
    return RefreshState(
        client=stored.client,
        expires=min(stored.expires, end),
        used_at=stored.used_at,
        used_by=stored.used_by,
        revoked=stored.revoked is not None or not family_alive,
    )


def _session(
    identities: Identities,
    token: str,
    family: str,
    user: str,
    scopes: frozenset[str],
    caller: Caller,
    parent: str | None = None,
) -> SessionRecord:
    now = identities.now()
    return SessionRecord(
        id=family if parent is None else identities.new_id(),
        user=user,
        kind=SessionKind.REFRESH,
        family=family,
        sha256=token_format.digest(token),
        created=now,
        expires=now + identities.settings.refresh_lifetime,
        client=caller.client,
        scopes=scopes,
        parent=parent,
        address=caller.address,
        agent=caller.agent,
        network=counted_as(caller.address),
    )


def _key(identities: Identities) -> bytes:
    return identities.master.derived("refresh successor")
