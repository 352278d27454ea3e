"""What admins do about users, service accounts, groups and grants."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, Field, SecretStr

from restful.errors import HttpProblem
from restful.identity import group_changes, user_changes
from restful.identity.group_changes import NewGrant
from restful.identity.personal_tokens import TokenWish
from restful.identity.principal import Principal, Role
from restful.identity.scopes import GrantRole, write
from restful.identity.user_changes import NewUser, UserChange
from restful.request_model import RequestModel
from restful.routes.access import IdentitiesHere, requires
from restful.routes.me import NO_STORE
from restful.routes.parameters import NO_NUL, AfterQuery, ClusterQuery, LimitQuery, ObjectId
from restful.routes.times import utc
from restful.store import groups, users
from restful.store.groups import GrantRecord, GroupRecord
from restful.store.users import UserKind, UserRecord, UserState

router = APIRouter(prefix="/v2", tags=["users"])

ReaderHere = Annotated[Principal, Depends(requires("users:read"))]
AdminHere = Annotated[Principal, Depends(requires("users:manage"))]
UserName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z_][a-z0-9_.@-]*$")]
DisplayName = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
MailAddress = Annotated[str, Field(max_length=254, pattern=r"^[^@\s\x00-\x1f]+@[^@\s\x00-\x1f]+$")]


class UserRequest(RequestModel):
    """A user; without a password he logs in by a provider or a link."""

    name: UserName
    role: Role = Role.USER
    display: DisplayName = ""
    email: MailAddress | None = None
    password: SecretStr | None = None


class UserPatch(RequestModel):
    """What of a user shall be otherwise."""

    role: Role | None = None
    state: UserState | None = None
    display: DisplayName | None = None
    email: MailAddress | None = None
    password: SecretStr | None = None
    keep_tokens: bool = False
    """Whether his personal tokens stay good behind another password; else they are revoked."""


class ClientRequest(RequestModel):
    """A service account."""

    name: UserName
    role: Role = Role.USER
    display: DisplayName = ""
    scopes: frozenset[str] = Field(min_length=1, max_length=20)
    expires_in: int | None = Field(default=None, ge=60, strict=True)
    """Seconds; 90 days if it is left out."""


class GroupRequest(RequestModel):
    """A group."""

    name: UserName


class GrantRequest(RequestModel):
    """A grant to a user or a group; to everyone if neither is named."""

    cluster: str = Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x20\x7f]+$")
    role: GrantRole
    user: str | None = Field(default=None, max_length=26, pattern=NO_NUL)
    group: str | None = Field(default=None, max_length=26, pattern=NO_NUL)


class UserView(BaseModel):
    """A user, without his password."""

    id: str
    name: str
    kind: UserKind
    display: str
    email: str | None
    role: Role
    state: UserState
    created: datetime
    has_password: bool


class NewClientView(UserView):
    """A service account when it is made: its secret is never shown again."""

    client_id: str
    client_secret: str
    scopes: str
    expires: datetime


class GroupView(BaseModel):
    """A group."""

    id: str
    name: str
    created: datetime
    members: list[str] | None = None
    """Their users' ids; in the answer about one group."""


class GrantView(BaseModel):
    """A grant."""

    id: str
    cluster: str
    role: GrantRole
    user: str | None
    group: str | None
    created: datetime


@router.get("/users")
async def list_users(
    _: ReaderHere, identities: IdentitiesHere, after: AfterQuery = "", limit: LimitQuery = 100
) -> list[UserView]:
    """Return users by name, those after a name."""
    async with identities.database.read() as connection:
        return [_user(each) for each in await users.page(connection, UserKind.USER, after, limit)]


@router.post("/users", status_code=201, responses={409: {}, 503: {}})
async def create_user(admin: AdminHere, identities: IdentitiesHere, body: UserRequest) -> UserView:
    """Make a user."""
    new = NewUser(body.name, body.role, body.display, body.email, _secret(body.password))
    return _user(await user_changes.create(identities, admin, new))


@router.get("/users/{user}", responses={404: {}})
async def read_user(user: ObjectId, _: ReaderHere, identities: IdentitiesHere) -> UserView:
    """Return a user."""
    return _user(await _found(identities, user, UserKind.USER))


@router.patch("/users/{user}", responses={404: {}, 409: {}, 503: {}})
async def change_user(
    user: ObjectId, admin: AdminHere, identities: IdentitiesHere, body: UserPatch
) -> UserView:
    """Change a user; another role, state or password ends his access tokens.

    Another password ends all his logins, and revokes his personal tokens unless they are to be kept.
    """
    password = _secret(body.password)
    wanted = UserChange(body.role, body.state, body.display, body.email, password, body.keep_tokens)
    return _user(await user_changes.change(identities, admin, user, UserKind.USER, wanted))


@router.delete("/users/{user}", status_code=204, responses={404: {}, 409: {}})
async def delete_user(user: ObjectId, admin: AdminHere, identities: IdentitiesHere) -> None:
    """Delete a user with his tokens, sessions and grants."""
    await user_changes.remove(identities, admin, user, UserKind.USER)


@router.get("/clients")
async def list_clients(
    _: ReaderHere, identities: IdentitiesHere, after: AfterQuery = "", limit: LimitQuery = 100
) -> list[UserView]:
    """Return service accounts by name, those after a name."""
    async with identities.database.read() as connection:
        return [_user(each) for each in await users.page(connection, UserKind.SERVICE, after, limit)]


@router.post("/clients", status_code=201, responses={409: {}})
async def create_client(
    admin: AdminHere, identities: IdentitiesHere, body: ClientRequest, response: Response
) -> NewClientView:
    """Make a service account. Its secret is in this answer alone."""
    new = NewUser(body.name, body.role, body.display)
    wish = TokenWish("secret", body.scopes, body.expires_in or identities.settings.token_lifetime)
    user, secret = await user_changes.create_client(identities, admin, new, wish)
    response.headers.update(NO_STORE)
    return NewClientView(
        **_members(user),
        client_id=user.name,
        client_secret=secret.text,
        scopes=write(secret.record.scopes),
        expires=utc(secret.record.expires),
    )


@router.delete("/clients/{client}", status_code=204, responses={404: {}, 409: {}})
async def delete_client(client: ObjectId, admin: AdminHere, identities: IdentitiesHere) -> None:
    """Delete a service account with its secret."""
    await user_changes.remove(identities, admin, client, UserKind.SERVICE)


@router.get("/groups")
async def list_groups(_: ReaderHere, identities: IdentitiesHere) -> list[GroupView]:
    """Return all groups by name."""
    async with identities.database.read() as connection:
        return [_group(each) for each in await groups.groups(connection)]


@router.post("/groups", status_code=201, responses={409: {}})
async def create_group(admin: AdminHere, identities: IdentitiesHere, body: GroupRequest) -> GroupView:
    """Make a group."""
    return _group(await group_changes.create_group(identities, admin, body.name))


@router.get("/groups/{group}", responses={404: {}})
async def read_group(group: ObjectId, _: ReaderHere, identities: IdentitiesHere) -> GroupView:
    """Return a group with its members."""
    async with identities.database.read() as connection:
        found = await groups.group_by_id(connection, group)
        members = list(await groups.members(connection, group))
    if found is None:
        raise HttpProblem("not-found")
    return _group(found, members)


@router.delete("/groups/{group}", status_code=204, responses={404: {}})
async def delete_group(group: ObjectId, admin: AdminHere, identities: IdentitiesHere) -> None:
    """Delete a group with its grants."""
    await group_changes.remove_group(identities, admin, group)


@router.put("/groups/{group}/members/{user}", status_code=204, responses={404: {}})
async def add_member(group: ObjectId, user: ObjectId, admin: AdminHere, identities: IdentitiesHere) -> None:
    """Put a user into a group."""
    await group_changes.add_member(identities, admin, group, user)


@router.delete("/groups/{group}/members/{user}", status_code=204, responses={404: {}})
async def remove_member(
    group: ObjectId, user: ObjectId, admin: AdminHere, identities: IdentitiesHere
) -> None:
    """Take a user out of a group."""
    await group_changes.remove_member(identities, admin, group, user)


@router.get("/grants")
async def list_grants(
    _: ReaderHere, identities: IdentitiesHere, cluster: ClusterQuery = None
) -> list[GrantView]:
    """Return all grants, or those at one cluster."""
    async with identities.database.read() as connection:
        return [_grant(each) for each in await groups.grants(connection, cluster)]


@router.post("/grants", status_code=201, responses={409: {}})
async def create_grant(admin: AdminHere, identities: IdentitiesHere, body: GrantRequest) -> GrantView:
    """Let a user, a group or everyone use a cluster, or operate it."""
    new = NewGrant(body.cluster, body.role, body.user, body.group)
    return _grant(await group_changes.create_grant(identities, admin, new))


@router.delete("/grants/{grant}", status_code=204, responses={404: {}})
async def delete_grant(grant: ObjectId, admin: AdminHere, identities: IdentitiesHere) -> None:
    """Take a grant back."""
    await group_changes.remove_grant(identities, admin, grant)


async def _found(identities: IdentitiesHere, user: str, kind: UserKind) -> UserRecord:
    async with identities.database.read() as connection:
        found = await users.by_id(connection, user)
    if found is None or found.kind is not kind:
        raise HttpProblem("not-found")
    return found


def _secret(value: SecretStr | None) -> str | None:
    return None if value is None else value.get_secret_value()


def _user(record: UserRecord) -> UserView:
    return UserView(**_members(record))


def _members(record: UserRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "kind": record.kind,
        "display": record.display,
        "email": record.email,
        "role": record.role,
        "state": record.state,
        "created": utc(record.created),
        "has_password": record.password is not None,
    }


def _group(record: GroupRecord, members: list[str] | None = None) -> GroupView:
    return GroupView(id=record.id, name=record.name, created=utc(record.created), members=members)


def _grant(record: GrantRecord) -> GrantView:
    return GrantView(
        id=record.id,
        cluster=record.cluster,
        role=record.role,
        user=record.user,
        group=record.group,
        created=utc(record.created),
    )
