"""Tokens by OAuth's grants (RFC 6749, RFC 8628, RFC 7009), and what describes them (RFC 8414, RFC 7517)."""

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote_plus

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from restful import audit
from restful.audit import AuditEntry
from restful.identity import devices, logins, personal_tokens, token_answers, token_format, web_sessions
from restful.identity.caller import Caller
from restful.identity.identities import Identities
from restful.identity.refused_logins import RefusedLogin
from restful.identity.scopes import SCOPES, effective, parse, quoted, write
from restful.identity.token_answers import OAuthError, TokenAnswer
from restful.identity.token_format import TokenKind
from restful.routes.access import IdentitiesHere, anonymous, caller_of
from restful.store import tokens, users
from restful.store.tokens import CredentialKind, TokenRecord
from restful.store.users import UserRecord, UserState

router = APIRouter(tags=["oauth"])
Anonymous = [Depends(anonymous)]

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
LINK_GRANT = "urn:flux-framework.org:grant-type:login-link"
PUBLIC_CLIENT = "minicluster"
"""The id of a client that states none: programs of users have no secret, so an id proves nothing."""
MAX_PARAMETER = 5000
"""Characters."""
NO_STORE = {"Cache-Control": "no-store"}
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {"type": "object", "additionalProperties": {"type": "string"}}
            }
        },
    }
}


class TokenAnswerView(BaseModel):
    """Tokens (RFC 6749 section 5.1)."""

    access_token: str
    token_type: str
    expires_in: int = Field(description="Seconds for which the access token is good.")
    scope: str
    refresh_token: str | None = Field(None, description="None for service accounts, which have a secret.")


class DeviceView(BaseModel):
    """The codes of a device (RFC 8628 section 3.2)."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int = Field(description="Seconds between two polls.")


class OAuthErrorView(BaseModel):
    """A refusal (RFC 6749 section 5.2)."""

    error: str
    error_description: str


class NothingView(BaseModel):
    """Nothing."""


class KeysView(BaseModel):
    """Public keys (RFC 7517 section 5)."""

    keys: list[dict[str, Any]]


_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": OAuthErrorView, "description": "Refused, in the words of RFC 6749 section 5.2"},
    401: {"model": OAuthErrorView, "description": "The client's secret is wrong"},
    429: {"description": "Too many logins, or too many that failed"},
    503: {"description": "Too many logins at once, or the database is away"},
}


def _answers(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": model, "description": "As asked."}, **_ERRORS}


_KEYS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The keys.",
        "content": {"application/jwk-set+json": {"schema": KeysView.model_json_schema()}},
    }
}


@router.post(
    "/v2/oauth/token", openapi_extra=_FORM, responses=_answers(TokenAnswerView), dependencies=Anonymous
)
async def token(request: Request, identities: IdentitiesHere) -> Response:
    """Return an access token for a password, a secret, a refresh token, a device's code or a link."""
    try:
        form = await _form(request)
        grant = _GRANTS.get(_needed(form, "grant_type"), _unsupported)
        return _answered(await grant(identities, form, _caller(request, form)))
    except OAuthError as error:
        return _refused(error)


@router.post("/v2/oauth/device", openapi_extra=_FORM, responses=_answers(DeviceView), dependencies=Anonymous)
async def device(request: Request, identities: IdentitiesHere) -> Response:
    """Return a code for a device, and one that its user types on the page (RFC 8628 section 3.2)."""
    try:
        form = await _form(request)
        answer = await devices.start(identities, form.get("scope"), _caller(request, form))
    except OAuthError as error:
        return _refused(error)
    page = f"{identities.settings.issuer}/device"
    content = {
        "device_code": answer.device_code,
        "user_code": answer.user_code,
        "verification_uri": page,
        "verification_uri_complete": f"{page}?user_code={answer.user_code}",
        "expires_in": answer.expires_in,
        "interval": answer.interval,
    }
    return JSONResponse(content, headers=NO_STORE)


@router.post("/v2/oauth/revoke", openapi_extra=_FORM, responses=_answers(NothingView), dependencies=Anonymous)
async def revoke(request: Request, identities: IdentitiesHere) -> Response:
    """Revoke a refresh token with all that followed it, or a personal token; 200 also if it is unknown."""
    try:
        form = await _form(request)
        value = _needed(form, "token")
    except OAuthError as error:
        return _refused(error)
    kind = token_format.kind_of(value)
    if kind is TokenKind.REFRESH:
        await token_answers.revoke(identities, value, _caller(request, form))
    elif kind is TokenKind.PERSONAL:
        await personal_tokens.surrender(identities, value, caller_of(request))
    elif kind is None and value.count(".") == 2:
        return _refused(OAuthError("unsupported_token_type", "an access token ends with its refresh token"))
    return JSONResponse({}, headers=NO_STORE)


@router.get("/.well-known/jwks.json", response_class=Response, responses=_KEYS)
async def jwks(identities: IdentitiesHere) -> Response:
    """Return the public keys of access tokens (RFC 7517)."""
    await identities.keys.signing()
    seconds = int(identities.settings.access_lifetime)
    headers = {"Cache-Control": f"public, max-age={seconds}"}
    return JSONResponse(await identities.keys.jwks(), headers=headers, media_type="application/jwk-set+json")


@router.get("/.well-known/oauth-authorization-server")
async def metadata(identities: IdentitiesHere) -> dict[str, Any]:
    """Return where tokens come from (RFC 8414)."""
    issuer = identities.settings.issuer
    return {
        "issuer": issuer,
        "token_endpoint": f"{issuer}/v2/oauth/token",
        "device_authorization_endpoint": f"{issuer}/v2/oauth/device",
        "revocation_endpoint": f"{issuer}/v2/oauth/revoke",
        "jwks_uri": f"{issuer}/.well-known/jwks.json",
        "grant_types_supported": sorted(_GRANTS),
        "response_types_supported": [],
        "scopes_supported": sorted(SCOPES),
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "revocation_endpoint_auth_methods_supported": ["none"],
    }


async def _by_password(identities: Identities, form: Mapping[str, str], caller: Caller) -> TokenAnswer:
    name, password = _needed(form, "username"), _needed(form, "password")
    user = await logins.authenticate(identities, name, password, caller)
    if user is None:
        raise OAuthError("invalid_grant", logins.REFUSED)
    scopes = token_answers.requested(form.get("scope"), user)
    return await token_answers.after_login(identities, user, scopes, caller)


async def _by_link(identities: Identities, form: Mapping[str, str], caller: Caller) -> TokenAnswer:
    """Log in by a link as a browser does: without one the first admin has no other way."""
    user = await web_sessions.user_of_link(identities, _needed(form, "token"), caller)
    if user is None:
        raise OAuthError("invalid_grant", "the link was used before, has expired, or is not whole")
    scopes = token_answers.requested(form.get("scope"), user)
    return await token_answers.after_login(identities, user, scopes, caller)


async def _by_refresh_token(identities: Identities, form: Mapping[str, str], caller: Caller) -> TokenAnswer:
    value = _needed(form, "refresh_token")
    return await token_answers.refreshed(identities, value, form.get("scope"), caller)


async def _by_device_code(identities: Identities, form: Mapping[str, str], caller: Caller) -> TokenAnswer:
    return await devices.poll(identities, _needed(form, "device_code"), caller)


async def _by_client_secret(identities: Identities, form: Mapping[str, str], caller: Caller) -> TokenAnswer:
    found, now = await _client_of(identities, _needed(form, "client_secret"), caller), identities.now()
    if found is None:
        refused = RefusedLogin("secret", "unknown, or its secret wrong, revoked or expired", caller.address)
        await identities.refusals.note(refused)
        raise OAuthError("invalid_client", "the client is unknown, or its secret wrong, revoked or expired")
    user, record = found
    scopes = _of_client(form.get("scope"), record.scopes)
    async with identities.database.write() as connection:
        await tokens.touch(connection, record.id, caller.address, now, identities.settings.last_used_interval)
        entry = AuditEntry(user.id, record.id, caller.address, "login", f"user:{user.id}", detail="by secret")
        await audit.record(connection, entry, now)
    access = await identities.access_token(user, record.id, scopes, caller.client)
    return TokenAnswer(access, int(identities.settings.access_lifetime), effective(scopes, user.role))


async def _client_of(
    identities: Identities, secret: str, caller: Caller
) -> tuple[UserRecord, TokenRecord] | None:
    """Return the service account that asks, with its secret; None if it may not log in with that."""
    if token_format.kind_of(secret) is not TokenKind.CLIENT:
        return None
    async with identities.database.read() as connection:
        record = await tokens.by_digest(connection, token_format.digest(secret))
        user = None if record is None else await users.by_id(connection, record.user)
    if record is None or record.kind is not CredentialKind.CLIENT or not record.good(identities.now()):
        return None
    if user is None or user.name != caller.client or user.state is not UserState.ACTIVE:
        return None
    return user, record


async def _unsupported(identities: Identities, form: Mapping[str, str], caller: Caller) -> TokenAnswer:  # noqa: ARG001
    raise OAuthError("unsupported_grant_type", f"grant_type is one of: {', '.join(sorted(_GRANTS))}")


_Grant = Callable[[Identities, Mapping[str, str], Caller], Awaitable[TokenAnswer]]
_GRANTS: dict[str, _Grant] = {
    "password": _by_password,
    "client_credentials": _by_client_secret,
    "refresh_token": _by_refresh_token,
    DEVICE_GRANT: _by_device_code,
    LINK_GRANT: _by_link,
}


def _of_client(text: str | None, own: frozenset[str]) -> frozenset[str]:
    try:
        scopes = parse(text or "") or own
    except ValueError as error:
        raise OAuthError("invalid_scope", str(error)) from error
    if beyond := scopes - own:
        raise OAuthError("invalid_scope", f"the client has not: {quoted(beyond)}")
    return scopes


async def _form(request: Request) -> dict[str, str]:
    """Return the parameters of a form, each once, with a client's own from its header (section 2.3.1)."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/x-www-form-urlencoded":
        raise OAuthError("invalid_request", "the body must be application/x-www-form-urlencoded")
    found: dict[str, str] = {}
    for name, value in (await request.form()).multi_items():
        if name in found or not isinstance(value, str) or len(value) > MAX_PARAMETER:
            raise OAuthError("invalid_request", "a parameter is there twice, or too long")
        if "\0" in value:
            raise OAuthError("invalid_request", "a parameter has a NUL")
        found[name] = value
    header = request.headers.get("authorization", "")
    if header:
        if "client_secret" in found:
            raise OAuthError("invalid_request", "the client's secret is in the header and in the body")
        found["client_id"], found["client_secret"] = _basic(header)
    return found


def _basic(header: str) -> tuple[str, str]:
    scheme, _, value = header.partition(" ")
    try:
        text = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise OAuthError("invalid_client", "the header Authorization cannot be read") from error
    name, colon, secret = text.partition(":")
    if scheme.lower() != "basic" or not colon:
        raise OAuthError("invalid_client", "the header Authorization must be Basic here")
    if "%00" in name or "\0" in name:
        raise OAuthError("invalid_client", "the client's id has a NUL")
    return unquote_plus(name), unquote_plus(secret)


def _needed(form: Mapping[str, str], name: str) -> str:
    if not form.get(name):
        raise OAuthError("invalid_request", f"{name} is missing")
    return form[name]


def _caller(request: Request, form: Mapping[str, str]) -> Caller:
    return caller_of(request, (form.get("client_id") or PUBLIC_CLIENT)[:100])


def _answered(answer: TokenAnswer) -> Response:
    content: dict[str, Any] = {
        "access_token": answer.access,
        "token_type": "Bearer",
        "expires_in": answer.expires_in,
        "scope": write(answer.scopes),
    }
    if answer.refresh:
        content["refresh_token"] = answer.refresh
    return JSONResponse(content, headers=NO_STORE)


def _refused(error: OAuthError) -> Response:
    content = {"error": error.error, "error_description": error.description}
    if error.error == "invalid_client":
        headers = {**NO_STORE, "WWW-Authenticate": 'Basic realm="minicluster"'}
        return JSONResponse(content, 401, headers)
    return JSONResponse(content, 400, NO_STORE)
