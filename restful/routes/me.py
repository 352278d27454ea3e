"""What users do about themselves: who they are, their password, sessions, tokens and devices."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, Field, SecretStr

from restful.identity import devices, personal_tokens, session_changes, user_changes
from restful.identity.personal_tokens import TokenWish
from restful.identity.principal import Principal
from restful.identity.scopes import at_cluster, stronger, write
from restful.request_model import RequestModel
from restful.routes.access import CallerHere, IdentitiesHere, requires
from restful.routes.parameters import ObjectId
from restful.routes.times import utc
from restful.store import sessions, tokens
from restful.store.sessions import SessionRecord
from restful.store.tokens import CredentialKind, TokenRecord

router = APIRouter(prefix="/v2/me", tags=["me"])

AnyToken = Annotated[Principal, Depends(requires())]
TokensScope = Annotated[Principal, Depends(requires("tokens"))]
NO_STORE = {"Cache-Control": "no-store"}


class PasswordChange(RequestModel):
    """One's own password."""

    current: SecretStr = Field(max_length=1024)
    new: SecretStr = Field(max_length=1024)
    revoke_tokens: bool = False
    """Whether one's personal tokens are revoked as well: who knew the old password may have made one."""


class TokenRequest(RequestModel):
    """A personal token."""

    name: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")
    scopes: frozenset[str] = Field(min_length=1, max_length=20)
    expires_in: int | None = Field(default=None, ge=60, strict=True)
    """Seconds; 90 days if it is left out."""


class DeviceDecision(RequestModel):
    """What the user answers to a device's code."""

    user_code: str = Field(max_length=20)
    approve: bool


class Me(BaseModel):
    """Who asks, and what he may do."""

    id: str
    name: str
    role: str
    scopes: str
    clusters: dict[str, str]
    """What this request may do at clusters where there is a grant; `*` stands for each of them."""


class TokenView(BaseModel):
    """A personal token, without its text."""

    id: str
    name: str
    prefix: str
    scopes: str
    created: datetime
    expires: datetime
    last_used: datetime | None
    last_address: str | None


class NewTokenView(TokenView):
    """A personal token when it is made: its text is never shown again."""

    token: str


class SessionView(BaseModel):
    """A login."""

    id: str
    kind: str
    client: str
    created: datetime
    expires: datetime
    address: str
    agent: str
    current: bool


@router.get("")
async def read(principal: AnyToken, identities: IdentitiesHere) -> Me:
    """Return who asks."""
    clusters = {}
    for cluster, granted in (await identities.authority.grants(principal.user)).items():
        clusters[cluster] = write(at_cluster(principal.scopes, principal.role, stronger(granted)))
    return Me(
        id=principal.user,
        name=principal.name,
        role=principal.role,
        scopes=write(principal.scopes),
        clusters=clusters,
    )


@router.patch("/password", status_code=204, responses={409: {}, 429: {}, 503: {}})
async def change_password(
    principal: AnyToken, identities: IdentitiesHere, caller: CallerHere, body: PasswordChange
) -> None:
    """Change one's password: all other sessions end, and access tokens are to be refreshed.

    Personal tokens stay good unless they are to be revoked.
    """
    current, new = body.current.get_secret_value(), body.new.get_secret_value()
    await user_changes.change_password(
        identities, principal, current, new, caller, revoke_tokens=body.revoke_tokens
    )


@router.get("/sessions")
async def list_sessions(principal: AnyToken, identities: IdentitiesHere) -> list[SessionView]:
    """Return one's logins that are good."""
    async with identities.database.read() as connection:
        found = await sessions.of_user(connection, principal.user, identities.now())
    return [_session(each, principal) for each in found]


@router.delete("/sessions/{session}", status_code=204, responses={404: {}})
async def end_session(session: ObjectId, principal: TokensScope, identities: IdentitiesHere) -> None:
    """End one of one's logins."""
    await session_changes.end(identities, principal, session)


@router.delete("/sessions", status_code=204)
async def end_sessions(principal: TokensScope, identities: IdentitiesHere) -> None:
    """End all of one's logins but the one that asks."""
    await session_changes.end_others(identities, principal)


@router.get("/tokens")
async def list_tokens(principal: TokensScope, identities: IdentitiesHere) -> list[TokenView]:
    """Return one's personal tokens, without their texts."""
    async with identities.database.read() as connection:
        found = await tokens.of_user(connection, principal.user, CredentialKind.PERSONAL)
    return [TokenView(**_token(each)) for each in found]


@router.post("/tokens", status_code=201, responses={409: {}})
async def create_token(
    principal: TokensScope, identities: IdentitiesHere, body: TokenRequest, response: Response
) -> NewTokenView:
    """Make a personal token. Its text is in this answer alone."""
    lifetime = body.expires_in or identities.settings.token_lifetime
    new = await personal_tokens.create(identities, principal, TokenWish(body.name, body.scopes, lifetime))
    response.headers.update(NO_STORE)
    return NewTokenView(**_token(new.record), token=new.text)


@router.delete("/tokens/{token}", status_code=204, responses={404: {}})
async def revoke_token(token: ObjectId, principal: TokensScope, identities: IdentitiesHere) -> None:
    """Revoke one of one's personal tokens."""
    await personal_tokens.revoke(identities, principal, token)


@router.post("/device")
async def decide_device(
    principal: TokensScope, identities: IdentitiesHere, body: DeviceDecision
) -> dict[str, str]:
    """Approve or deny the code that a device shows (RFC 8628)."""
    client = await devices.decide(identities, principal, body.user_code, approve=body.approve)
    return {"client": client, "state": "approved" if body.approve else "denied"}


def _token(record: TokenRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "prefix": record.prefix,
        "scopes": write(record.scopes),
        "created": utc(record.created),
        "expires": utc(record.expires),
        "last_used": None if record.last_used is None else utc(record.last_used),
        "last_address": record.last_address,
    }


def _session(record: SessionRecord, principal: Principal) -> SessionView:
    return SessionView(
        id=record.family,
        kind=record.kind,
        client=record.client,
        created=utc(record.created),
        expires=utc(record.expires),
        address=record.address,
        agent=record.agent,
        current=record.family == principal.token,
    )
