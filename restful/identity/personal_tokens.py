"""Personal tokens: made for programs, shown once, with no more scopes than their maker has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from restful import audit
from restful.audit import AuditEntry
from restful.errors import FieldError, HttpProblem
from restful.identity import current_logins, token_format
from restful.identity.login_requirement import require_login
from restful.identity.scopes import SCOPES, quoted, write
from restful.identity.token_format import TokenKind
from restful.store import tokens
from restful.store.tokens import CredentialKind, TokenRecord

if TYPE_CHECKING:
    from restful.identity.caller import Caller
    from restful.identity.identities import Identities
    from restful.identity.principal import Principal
    from restful.identity.settings import IdentitySettings


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token, and its text, which nobody can show again."""

    record: TokenRecord
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TokenWish:
    """What a token shall be."""

    name: str
    scopes: frozenset[str]
    lifetime: float
    """Seconds."""


async def create(identities: Identities, principal: Principal, wish: TokenWish) -> NewToken:
    """Make a personal token of the one who asks.

    Raises the problems `forbidden` where nobody has logged in, `invalid` for scopes beyond his own and for a
    lifetime that is too long, `conflict` where he has too many.
    """
    require_login(principal, "make a personal token")
    require_scopes(wish.scopes, principal.scopes)
    require_lifetime(wish.lifetime, identities.settings)
    now = identities.now()
    new = made(identities, principal.user, wish, CredentialKind.PERSONAL)
    async with identities.change() as connection:
        await current_logins.require_principal(connection, principal)
        if await tokens.count(connection, principal.user, now) >= identities.settings.tokens_per_user:
            limit = identities.settings.tokens_per_user
            raise HttpProblem("conflict", f"A user has at most {limit} personal tokens: revoke one.")
        await tokens.add(connection, new.record)
        detail = audit.fields(
            {"name": wish.name, "scopes": write(wish.scopes), "expires": new.record.expires}
        )
        entry = audit.by(principal, "token.create", f"token:{new.record.id}", detail=detail)
        await audit.record(connection, entry, now)
    return new


def made(identities: Identities, user: str, wish: TokenWish, kind: CredentialKind) -> NewToken:
    """Return a new token of a user, not stored yet."""
    text = identities.new_token(TokenKind.CLIENT if kind is CredentialKind.CLIENT else TokenKind.PERSONAL)
    now = identities.now()
    record = TokenRecord(
        id=identities.new_id(),
        user=user,
        kind=kind,
        prefix=token_format.prefix(text),
        sha256=token_format.digest(text),
        scopes=wish.scopes,
        created=now,
        expires=now + wish.lifetime,
        name=wish.name,
    )
    return NewToken(record, text)


def require_scopes(wanted: frozenset[str], own: frozenset[str]) -> None:
    """Raise the problem `invalid` if scopes are wanted that are unknown, or beyond one's own."""
    for beyond, message in (
        (wanted - SCOPES, "there is no such scope"),
        (wanted - own, "beyond what this login may do"),
    ):
        if beyond:
            error = FieldError("/scopes", f"{message}: {quoted(beyond)}")
            raise HttpProblem("invalid", "The scopes are not accepted.", (error,))


def require_lifetime(lifetime: float, settings: IdentitySettings) -> None:
    """Raise the problem `invalid` if a token would live for too long."""
    if lifetime > settings.token_lifetime_max:
        days = int(settings.token_lifetime_max // 86_400)
        error = FieldError("/expires_in", f"a token lives for {days} days at most")
        raise HttpProblem("invalid", "The lifetime is not accepted.", (error,))


async def revoke(identities: Identities, principal: Principal, token: str) -> None:
    """Revoke a token of the one who asks. Raises the problem `not-found` if he has none with this id."""
    async with identities.change() as connection:
        now = identities.now()
        if not await tokens.revoke(connection, principal.user, token, now):
            raise HttpProblem("not-found")
        await audit.record(connection, audit.by(principal, "token.revoke", f"token:{token}"), now)


async def surrender(identities: Identities, text: str, caller: Caller) -> None:
    """Revoke a token that somebody has, no matter who that is: who found one may end it (RFC 7009)."""
    async with identities.database.read() as connection:
        record = await tokens.by_digest(connection, token_format.digest(text))
    if record is None:
        return
    async with identities.change() as connection:
        now = identities.now()
        if await tokens.revoke(connection, record.user, record.id, now):
            entry = AuditEntry(
                record.user, record.id, caller.address, "token.surrender", f"token:{record.id}"
            )
            await audit.record(connection, entry, now)
