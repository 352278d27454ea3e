"""Changes of users: by admins, and of one's own password. The last active admin stays one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from restful import audit
from restful.errors import FieldError, HttpProblem
from restful.identity import current_logins, logins, personal_tokens, session_changes
from restful.identity.login_requirement import require_login
from restful.identity.principal import Role
from restful.identity.scopes import BY_ROLE
from restful.store import tokens, users
from restful.store.tokens import CredentialKind
from restful.store.users import UserKind, UserRecord, UserState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.identity.caller import Caller
    from restful.identity.identities import Identities
    from restful.identity.personal_tokens import NewToken, TokenWish
    from restful.identity.principal import Principal


@dataclass(frozen=True, slots=True)
class NewUser:
    """What a user shall be."""

    name: str
    role: Role = Role.USER
    display: str = ""
    email: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class UserChange:
    """What shall be otherwise; None stays as it is."""

    role: Role | None = None
    state: UserState | None = None
    display: str | None = None
    email: str | None = None
    password: str | None = field(default=None, repr=False)
    keep_tokens: bool = False
    """Whether his personal tokens stay good behind another password: it may be another one as the old one was
    lost, and who found that has made tokens."""

    def values(self) -> dict[str, object]:
        """Return the columns without the password."""
        found = {"role": self.role, "state": self.state, "display": self.display, "email": self.email}
        return {name: value for name, value in found.items() if value is not None}


async def create(identities: Identities, principal: Principal, new: NewUser) -> UserRecord:
    """Make a user.

    Raises the problems `forbidden` where nobody has logged in and the user gets a password, or another role
    than `user`; `conflict` if the name is taken, `invalid` for a bad password.
    """
    _require_login(principal, new.role, new.password)
    user = _user(identities, new, UserKind.USER, await _hashed(identities, new.password))
    try:
        async with identities.change() as connection:
            await current_logins.require_principal(connection, principal)
            await users.add(connection, user)
            detail = audit.fields({"name": user.name, "role": user.role})
            entry = audit.by(principal, "user.create", f"user:{user.id}", detail=detail)
            await audit.record(connection, entry, identities.now())
    except IntegrityError as error:
        raise name_taken(new.name) from error
    return user


async def create_client(
    identities: Identities, principal: Principal, new: NewUser, wish: TokenWish
) -> tuple[UserRecord, NewToken]:
    """Make a service account with its secret.

    Raises the problems `forbidden` where nobody has logged in, `conflict`, and `invalid`, also for scopes
    beyond those of the one who asks.
    """
    require_login(principal, "make a service account")
    personal_tokens.require_scopes(wish.scopes, BY_ROLE[new.role] & principal.scopes)
    personal_tokens.require_lifetime(wish.lifetime, identities.settings)
    user = _user(identities, new, UserKind.SERVICE, None)
    secret = personal_tokens.made(identities, user.id, wish, CredentialKind.CLIENT)
    try:
        async with identities.change() as connection:
            await current_logins.require_principal(connection, principal)
            await users.add(connection, user)
            await tokens.add(connection, secret.record)
            detail = audit.fields({"name": user.name, "role": user.role, "scopes": sorted(wish.scopes)})
            entry = audit.by(principal, "client.create", f"user:{user.id}", detail=detail)
            await audit.record(connection, entry, identities.now())
    except IntegrityError as error:
        raise name_taken(new.name) from error
    return user, secret


async def change(
    identities: Identities, principal: Principal, user: str, kind: UserKind, wanted: UserChange
) -> UserRecord:
    """Change a user.

    Raises the problems `forbidden` where nobody has logged in and the change lets somebody in, or lets him do
    more: a password, a role, the state `active`; `not-found`, `invalid`, and `conflict` for the last admin.
    """
    _require_login(principal, wanted.role, wanted.password, wanted.state)
    password = await _hashed(identities, wanted.password)
    values = wanted.values()
    async with identities.change() as connection:
        await current_logins.require_principal(connection, principal)
        before = await _existing(connection, user, kind)
        if wanted.role not in {None, Role.ADMIN} or wanted.state not in {None, UserState.ACTIVE}:
            await _keep_an_admin(connection, user)
        then = (wanted.role or before.role, wanted.state or before.state)
        otherwise = then != (before.role, before.state)
        ends = otherwise or password is not None
        stored = {**values, "password": password} if password is not None else values
        await users.change(connection, user, stored, end=ends)
        now = identities.now()
        if password is not None or wanted.state not in {None, UserState.ACTIVE}:
            await session_changes.end_all(connection, user, now)
        if password is not None and not wanted.keep_tokens:
            await tokens.revoke_all(connection, user, now)
        changed = [*values, *(["password"] if password is not None else [])]
        shown = {name: value for name, value in values.items() if name in {"role", "state"}}
        detail = audit.fields({"changed": sorted(changed), **shown})
        await audit.record(connection, audit.by(principal, "user.change", f"user:{user}", detail=detail), now)
        return await _existing(connection, user, kind)


async def remove(identities: Identities, principal: Principal, user: str, kind: UserKind) -> None:
    """Delete a user with all that is his. Raises the problems `not-found` and `conflict`."""
    try:
        async with identities.change() as connection:
            found = await _existing(connection, user, kind)
            await _keep_an_admin(connection, user)
            await users.remove(connection, user)
            detail = audit.fields({"name": found.name})
            entry = audit.by(principal, "user.delete", f"user:{user}", detail=detail)
            await audit.record(connection, entry, identities.now())
    except IntegrityError as error:
        raise HttpProblem("conflict", "Something here refers to this user: disable him instead.") from error


async def change_password(
    identities: Identities,
    principal: Principal,
    current: str,
    new: str,
    caller: Caller,
    *,
    revoke_tokens: bool = False,
) -> None:
    """Change one's own password; all sessions end but the one that asks, personal tokens if that is wanted.

    Raises the problems `forbidden` where nobody has logged in, the current one is wrong, or it is not kept
    here: who logs in elsewhere would outlive his account there. `invalid`, and those of a login.
    """
    require_login(principal, "change the password")
    identities.passwords.require_good(new, "/new")
    if await logins.authenticate(identities, principal.name, current, caller) is None:
        error = FieldError("/current", "this is not the password")
        raise HttpProblem("forbidden", "The current password is wrong.", (error,))
    hashed = await _hashed(identities, new)
    async with identities.change() as connection:
        await current_logins.require_principal(connection, principal)
        now, user = identities.now(), await users.by_id(connection, principal.user)
        if user is None or user.password is None or await users.linked(connection, principal.user):
            raise _kept_elsewhere()
        await users.change(connection, principal.user, {"password": hashed}, end=True)
        await session_changes.end_all(connection, principal.user, now, but=principal.token)
        if revoke_tokens:
            await tokens.revoke_all(connection, principal.user, now)
        detail = audit.fields({"tokens": "revoked" if revoke_tokens else "kept"})
        entry = audit.by(principal, "password.change", f"user:{principal.user}", detail=detail)
        await audit.record(connection, entry, now)


async def set_first_password(identities: Identities, principal: Principal, new: str) -> None:
    """Set the password of a user who has none, as after a login by link; all other sessions end.

    Raises the problems `forbidden` where nobody has logged in, and for users who log in elsewhere: there
    somebody decides whether they still may. `conflict` where there is a password; `invalid`.
    """
    require_login(principal, "set the password")
    identities.passwords.require_good(new, "/new")
    hashed = await _hashed(identities, new)
    async with identities.change() as connection:
        await current_logins.require_principal(connection, principal)
        now, user = identities.now(), await users.by_id(connection, principal.user)
        if user is None or user.password is not None:
            raise HttpProblem("conflict", "You have a password: state it to change it.")
        if await users.linked(connection, principal.user):
            raise _kept_elsewhere()
        await users.change(connection, principal.user, {"password": hashed}, end=True)
        await session_changes.end_all(connection, principal.user, now, but=principal.token)
        entry = audit.by(principal, "password.set", f"user:{principal.user}")
        await audit.record(connection, entry, now)


def _require_login(
    principal: Principal, role: Role | None, password: str | None, state: UserState | None = None
) -> None:
    """Raise the problem `forbidden` for what lets somebody in, or do more, where nobody has logged in.

    Otherwise who finds an admin's token makes himself an admin, and stays one when the token is revoked.
    """
    if password is not None:
        require_login(principal, "set a user's password")
    if role not in {None, Role.USER}:
        require_login(principal, f"give the role {role}")
    if state is UserState.ACTIVE:
        require_login(principal, "let a user in again")


def _kept_elsewhere() -> HttpProblem:
    return HttpProblem("forbidden", "You log in elsewhere: that is where your password is.")


def name_taken(name: str) -> HttpProblem:
    """Return the problem of a name that is in use."""
    return HttpProblem("conflict", f"The name {name} is taken.", (FieldError("/name", "is taken"),))


async def _existing(connection: AsyncConnection, user: str, kind: UserKind) -> UserRecord:
    found = await users.by_id(connection, user)
    if found is None or found.kind is not kind:
        raise HttpProblem("not-found")
    return found


async def _keep_an_admin(connection: AsyncConnection, user: str) -> None:
    """Raise the problem `conflict` if a user is the only active admin."""
    if list(await users.admins(connection)) == [user]:
        raise HttpProblem("conflict", "This is the last active admin: make another one first.")


async def _hashed(identities: Identities, password: str | None) -> str | None:
    if password is None:
        return None
    identities.passwords.require_good(password, "/password")
    async with identities.passwords.slot():
        return await identities.passwords.hash(password)


def _user(identities: Identities, new: NewUser, kind: UserKind, password: str | None) -> UserRecord:
    return UserRecord(
        id=identities.new_id(),
        name=new.name,
        kind=kind,
        role=new.role,
        state=UserState.ACTIVE,
        epoch=0,
        created=identities.now(),
        display=new.display,
        email=new.email,
        password=password,
    )
