"""Who asks, for every route: `Depends(requires("jobs:read"))` gives a Principal, or refuses (RFC 6750).

A bearer token is a personal one or an access token. A browser's cookie is good for streams of events alone,
as EventSource cannot send a header.
"""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Annotated, cast

from fastapi import Depends, Request, Security
from fastapi.openapi.models import HTTPBearer as BearerModel
from fastapi.security.base import SecurityBase
from sqlalchemy.ext.asyncio import AsyncConnection

from minicluster.database import DatabaseError
from restful import audit
from restful.errors import HttpProblem
from restful.identity import access_tokens, cookies, token_format, web_sessions
from restful.identity.access_tokens import EndedToken, InvalidToken
from restful.identity.caller import Caller
from restful.identity.identities import Identities
from restful.identity.principal import Principal
from restful.identity.refused_logins import RefusedLogin
from restful.identity.scopes import BY_ROLE, OF_LOOPBACK, SCOPES, effective
from restful.identity.token_format import TokenKind
from restful.routes.admission import admit, services_of
from restful.store import tokens, users
from restful.store.tokens import CredentialKind
from restful.store.users import UserKind, UserRecord, UserState

REALM = 'Bearer realm="minicluster"'
EVENTS = "text/event-stream"


class _Bearer(SecurityBase):
    """Describes the header in the OpenAPI document; the routes' dependency reads it."""

    def __init__(self) -> None:
        self.model = BearerModel(description="A personal token, or an access token of POST /v2/oauth/token.")
        self.scheme_name = "bearer"

    async def __call__(self) -> None:
        """Do nothing."""


BEARER = _Bearer()
PrincipalDependency = Callable[..., Awaitable[Principal]]


def identities_of(request: Request) -> Identities:
    """Return what this service knows of users."""
    return cast(Identities, request.app.state.services.identities)


def caller_of(request: Request, client: str = "") -> Caller:
    """Return where a request comes from; a proxy that is trusted has stated its client's address."""
    stated = getattr(request.state, "address", None)
    address = stated if isinstance(stated, str) else request.client.host if request.client is not None else ""
    return Caller(address, request.headers.get("user-agent", "")[:200], client)


IdentitiesHere = Annotated[Identities, Depends(identities_of)]
CallerHere = Annotated[Caller, Depends(caller_of)]


@cache
def requires(scope: str = "", *, stream: bool = False) -> PrincipalDependency:
    """Return the dependency of a route: who asks, if he has a scope; "" is any token that is good.

    With `stream`, a cookie of ours is as good for a GET of events. The request counts in the user's rate.
    """
    if scope and scope not in SCOPES:
        raise ValueError(f"there is no scope {scope}")

    async def principal(
        request: Request,
        _: Annotated[None, Security(BEARER, scopes=[scope] if scope else [])],
    ) -> Principal:
        found = await principal_of(request, stream=stream)
        admit(services_of(request), found)
        if scope and not found.may(scope):
            await _refuse(request, found, scope)
        return found

    return principal


async def principal_of(request: Request, *, stream: bool = False) -> Principal:
    """Return who asks, which counts nothing. Raises the problem `unauthenticated`."""
    found = await _by_cookie(request) if stream and _is_stream(request) else None
    return found or await authenticated(request)


async def anonymous(request: Request) -> None:
    """Count a request for what anybody may ask. Raises the problem `too-many-requests`."""
    identities_of(request).attempts.request(caller_of(request).address)


async def authenticated(request: Request) -> Principal:
    """Return whose token a request has. Raises the problem `unauthenticated`."""
    identities = identities_of(request)
    stated = request.headers.getlist("authorization")
    if not stated and identities.settings.no_auth:
        return await _on_loopback(request)
    if not stated:
        raise HttpProblem("unauthenticated", headers={"WWW-Authenticate": REALM})
    scheme, _, token = stated[0].partition(" ")
    if len(stated) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise invalid_token("send one header `Authorization: Bearer TOKEN`")
    address = caller_of(request).address
    if token.startswith("mc"):
        return await _by_personal_token(identities, token.strip(), address)
    try:
        return await _by_access_token(identities, token.strip(), address)
    except EndedToken as error:
        raise invalid_token(str(error)) from error
    except InvalidToken as error:
        raise await wrong_token(identities, address, str(error)) from error


def invalid_token(description: str) -> HttpProblem:
    """Return the problem of a token that is not to be believed (RFC 6750 section 3.1)."""
    words = f'{REALM}, error="invalid_token", error_description="{description.replace(chr(34), chr(39))}"'
    return HttpProblem("unauthenticated", _sentence(description), headers={"WWW-Authenticate": words})


async def wrong_token(identities: Identities, address: str, description: str) -> HttpProblem:
    """Count a token that was never issued here, and return its problem. Raises `too-many-requests`."""
    await identities.refusals.note(RefusedLogin("token", description, address))
    identities.attempts.wrong_token(address)
    return invalid_token(description)


async def _by_personal_token(identities: Identities, token: str, address: str) -> Principal:
    if token_format.kind_of(token) is not TokenKind.PERSONAL:
        raise await wrong_token(
            identities, address, "the token is no personal token, or was copied with a fault"
        )
    record = await identities.authority.token(token_format.digest(token))
    if record is None:
        raise await wrong_token(identities, address, "the token is unknown or revoked")
    if record.kind is not CredentialKind.PERSONAL or record.revoked is not None:
        raise invalid_token("the token is unknown or revoked")
    now, interval = identities.now(), identities.settings.last_used_interval
    if now >= record.expires:
        raise invalid_token("the token has expired")
    user = await _active(identities, record.user)
    if identities.authority.due(f"token {record.id}", interval):
        await _touch(identities, record.id, address)
    return _principal(user, effective(record.scopes, user.role), "pat", record.id, address)


async def _by_access_token(identities: Identities, token: str, address: str) -> Principal:
    claims = access_tokens.verify(
        token, await identities.keys.public(), identities.audience, identities.now()
    )
    user = await _active(identities, claims.user)
    if claims.epoch > user.epoch:  # another replica has issued it after a change that is not seen here yet
        identities.authority.forget()
        user = await _active(identities, claims.user)
    if claims.epoch != user.epoch or not await identities.authority.alive(claims.session):
        raise invalid_token("the login has ended; log in again")
    kind = "client" if user.kind is UserKind.SERVICE else "access"
    return _principal(user, effective(claims.scopes, user.role), kind, claims.session, address)


async def _by_cookie(request: Request) -> Principal | None:
    """Return whose cookie a request of a page of ours has; None without one."""
    identities = identities_of(request)
    policy = cookies.policy(identities.settings.issuer)
    value = policy.value(request.headers.get("cookie", ""))
    if not value or "authorization" in request.headers:
        return None
    if not cookies.same_origin(request.headers, policy.origin):
        raise invalid_token("a cookie is accepted from pages of this service alone")
    session = await web_sessions.find(identities, value)
    if session is None:
        raise invalid_token("the session has ended; log in again")
    user = await _active(identities, session.user)
    return _principal(user, BY_ROLE[user.role], "session", session.id, caller_of(request).address)


async def _on_loopback(request: Request) -> Principal:
    """Return the admin, for a request that no page of others has sent: a browser would send it as well."""
    identities = identities_of(request)
    if not cookies.same_origin(request.headers, cookies.policy(identities.settings.issuer).origin):
        raise invalid_token("a request without a token is accepted from pages of this service alone")

    async def load(connection: AsyncConnection) -> UserRecord | None:
        return await users.by_name(connection, web_sessions.FIRST_ADMIN)

    user = await identities.authority.remember("first admin", load)
    if user is None:
        raise invalid_token(f"there is no user {web_sessions.FIRST_ADMIN}")
    return _principal(user, OF_LOOPBACK, "loopback", "", caller_of(request).address)


def _is_stream(request: Request) -> bool:
    return request.method == "GET" and EVENTS in request.headers.get("accept", "")


async def _active(identities: Identities, user: str) -> UserRecord:
    found = await identities.authority.user(user)
    if found is None or found.state is not UserState.ACTIVE:
        raise invalid_token("the user may not log in")
    return found


def _principal(user: UserRecord, scopes: frozenset[str], kind: str, token: str, address: str) -> Principal:
    return Principal(user.id, user.name, user.role, scopes, kind, token, address)


async def _touch(identities: Identities, token: str, address: str) -> None:
    """Write when a token was used; a request does not fail where only that cannot be written."""
    try:
        async with identities.database.write() as connection:
            interval = identities.settings.last_used_interval
            await tokens.touch(connection, token, address, identities.now(), interval)
    except DatabaseError:
        return


async def record_refusal(request: Request, principal: Principal, scope: str) -> None:
    """Record that a request lacked a scope."""
    route = request.scope.get("route")
    what = f"{request.method} {getattr(route, 'path', '')}"
    detail = audit.fields({"lacks": scope})
    await identities_of(request).record(audit.by(principal, "request", what, "denied", detail))


async def _refuse(request: Request, principal: Principal, scope: str) -> None:
    """Record that a scope was lacking, and raise the problem `forbidden` (RFC 6750 section 3.1)."""
    await record_refusal(request, principal, scope)
    words = f'{REALM}, error="insufficient_scope", scope="{scope}"'
    raise HttpProblem("forbidden", f"This needs the scope {scope}.", headers={"WWW-Authenticate": words})


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
