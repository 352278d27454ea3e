"""Who asks in the matrix: users with what they were granted, and what each shows with a request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from restful.identity import access_tokens, personal_tokens, token_answers, token_format, web_sessions
from restful.identity.caller import Caller
from restful.identity.personal_tokens import TokenWish
from restful.identity.principal import Role
from restful.identity.scopes import BY_ROLE
from restful.identity.token_format import TokenKind
from restful.store import sessions, tokens, users
from restful.store.sessions import SessionKind
from restful.store.tokens import CredentialKind
from restful.store.users import UserKind, UserRecord, UserState

if TYPE_CHECKING:
    from restful.identity.identities import Identities

CALLER = Caller("192.0.2.1", "matrix", "matrix")
YEAR = 365 * 86_400.0
READ_ONLY = frozenset({"jobs:read", "clusters:read"})


class Asker(StrEnum):
    """Who asks, and how."""

    NONE = "none"
    """Without a token and without a cookie."""
    EXPIRED = "expired"
    REVOKED = "revoked"
    DISABLED = "disabled"
    """With what an admin has disabled the user of."""
    ENDED = "ended"
    """With an access token of a login that has ended; on the page, with such a session."""
    OUTDATED = "outdated"
    """With an access token from before the user's role or password changed; on the page, with none."""
    OWNER = "owner"
    """With a personal token of all scopes that a user has."""
    LOGIN = "login"
    """With an access token, behind a login by password."""
    READER = "reader"
    """With a personal token that may read jobs and clusters alone."""
    NARROW = "narrow"
    """With a personal token that may see and revoke tokens alone."""
    UNGRANTED = "ungranted"
    """A user without a grant."""
    BYSTANDER = "bystander"
    """An operator who was granted to use clusters, not to operate them."""
    OPERATOR = "operator"
    ADMIN = "admin"
    """With a personal token of all scopes, as have all of these but who are named otherwise."""
    CHIEF = "chief"
    """An admin with an access token, behind a login by password."""
    ROBOT = "robot"
    """A service account with the role admin."""
    CLIENT = "client"
    """A service account, with an access token for its secret."""
    MIXED = "mixed"
    """The owner, with a cookie where a bearer token is due, and with a bearer token on the page."""


ROLES = {
    "alice": Role.USER,
    "carol": Role.USER,
    "dave": Role.USER,
    "otto": Role.OPERATOR,
    "olga": Role.OPERATOR,
    "admin": Role.ADMIN,
    "work": Role.USER,
    "robot": Role.ADMIN,
    "dora": Role.USER,
}
USER_OF = {
    **dict.fromkeys(Asker, "alice"),
    Asker.DISABLED: "dora",
    Asker.UNGRANTED: "carol",
    Asker.BYSTANDER: "otto",
    Asker.OPERATOR: "olga",
    Asker.ADMIN: "admin",
    Asker.CHIEF: "admin",
    Asker.ROBOT: "robot",
    Asker.CLIENT: "work",
}
OTHER = "dave"
"""Whose objects are others' objects for everybody."""
SERVICES = ("work", "robot")
ADMINS = (Asker.ADMIN, Asker.CHIEF, Asker.ROBOT)
BY_LOGIN = (Asker.LOGIN, Asker.CLIENT, Asker.CHIEF, Asker.ROBOT, Asker.ENDED, Asker.OUTDATED)
"""Who show an access token."""
ENDED = (Asker.REVOKED, Asker.ENDED, Asker.OUTDATED)
"""Whose session on the page was ended."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What an asker shows, on routes and on the page."""

    bearer: str = ""
    cookie: str = ""
    csrf: str = ""
    session: str = ""
    """The id of the cookie's session."""


async def add_users(identities: Identities) -> dict[str, UserRecord]:
    """Store the users, and return them by name."""
    made = {
        name: UserRecord(
            id=identities.new_id(),
            name=name,
            kind=UserKind.SERVICE if name in SERVICES else UserKind.USER,
            role=role,
            state=UserState.DISABLED if name == "dora" else UserState.ACTIVE,
            epoch=0,
            created=identities.now(),
        )
        for name, role in ROLES.items()
    }
    async with identities.change() as connection:
        for user in made.values():
            await users.add(connection, user)
    return made


async def add_token(
    identities: Identities, user: UserRecord, scopes: frozenset[str] | None = None, **changed: float
) -> tuple[str, str]:
    """Store a personal token; return its id and its text."""
    wish = TokenWish(f"token-of-{user.name}", BY_ROLE[user.role] if scopes is None else scopes, YEAR)
    new = personal_tokens.made(identities, user.id, wish, CredentialKind.PERSONAL)
    async with identities.database.write() as connection:
        await tokens.add(connection, replace(new.record, **changed))
    return new.record.id, new.text


async def add_session(identities: Identities, user: UserRecord, **changed: float) -> Shown:
    """Store a browser's session."""
    cookie = identities.new_token(TokenKind.SESSION)
    caller = replace(CALLER, agent=f"agent-of-{user.name}")
    made = web_sessions._record(identities, cookie, user.id, SessionKind.WEB, YEAR, caller)
    async with identities.database.write() as connection:
        await sessions.add(connection, replace(made, sha256=token_format.digest(cookie), **changed))
    return Shown(cookie=cookie, csrf=made.csrf, session=made.id)


async def shown_by(identities: Identities, asker: Asker, user: UserRecord) -> Shown:
    """Return what an asker shows."""
    past = identities.now() - 1
    if asker is Asker.NONE:
        return Shown()
    if asker is Asker.MIXED:
        session = await add_session(identities, user)
        return replace(session, bearer=(await add_token(identities, user))[1])
    ended = {Asker.EXPIRED: {"expires": past}, **{each: {"revoked": past} for each in ENDED}}
    changed = ended.get(asker, {})
    session = await add_session(identities, user, **changed)
    if asker in BY_LOGIN:
        async with identities.database.read() as connection:
            now = await users.by_id(connection, user.id) or user
        answer = await token_answers.after_login(identities, now, BY_ROLE[user.role], CALLER)
        if asker is Asker.ENDED:
            await token_answers.revoke(identities, answer.refresh, CALLER)
        if asker is Asker.OUTDATED:  # its login goes on
            public, time = await identities.keys.public(), identities.now()
            login = access_tokens.verify(answer.access, public, identities.audience, time).session
            then = replace(now, epoch=now.epoch - 1)
            outdated = await identities.access_token(then, login, BY_ROLE[user.role], "matrix")
            return replace(session, bearer=outdated)
        return replace(session, bearer=answer.access)
    own = {Asker.READER: READ_ONLY, Asker.NARROW: frozenset({"tokens"})}.get(asker)
    return replace(session, bearer=(await add_token(identities, user, own, **changed))[1])
