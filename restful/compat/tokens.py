"""Tokens of /v1, for a name and a password: access tokens as /v2 has them."""

from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from restful.compat import credentials
from restful.compat.answers import NO_STORE, RESPONSES, CompatRoute, json_answer, refused
from restful.compat.credentials import LoginCredentials
from restful.compat.refusals import DENIED, CompatRefusal
from restful.identity import logins, token_answers
from restful.identity.identities import Identities
from restful.identity.scopes import BY_ROLE
from restful.identity.token_answers import OAuthError
from restful.routes.access import IdentitiesHere, anonymous, caller_of

router = APIRouter(
    route_class=CompatRoute, tags=["v1"], responses=RESPONSES, dependencies=[Depends(anonymous)]
)

CLIENT = "flux-restful-client"
MAX_FIELDS = 20
_FORM_TYPE = "application/x-www-form-urlencoded"
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            _FORM_TYPE: {
                "schema": {
                    "type": "object",
                    "required": ["username", "password"],
                    "properties": {"username": {"type": "string"}, "password": {"type": "string"}},
                }
            }
        },
    }
}


@router.post("/token", summary="A token for a name and a password")
async def token(request: Request, identities: IdentitiesHere) -> Response:
    """Return a token for the credentials in a JWT, `Authorization: Bearer JWT`, however it is signed."""
    return await _issued(request, identities, credentials.read(request.headers.get("authorization", "")))


@router.post("/login/access-token", summary="A token for a form", openapi_extra=_FORM)
async def login(request: Request, identities: IdentitiesHere) -> Response:
    """Return a token for the name and the password of a form (RFC 6749 section 4.3)."""
    return await _issued(request, identities, await _of_form(request))


async def _of_form(request: Request) -> LoginCredentials | None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
        return None
    form = await request.form(max_files=0, max_fields=MAX_FIELDS)
    return credentials.checked(form.get("username"), form.get("password"))


async def _issued(request: Request, identities: Identities, given: LoginCredentials | None) -> Response:
    """Return the answer with a token, or of a denied login: in the same words whatever is wrong."""
    caller = caller_of(request, CLIENT)
    user = None
    if given is not None:
        user = await logins.authenticate(identities, given.user, given.password, caller)
    if user is None:
        return refused(CompatRefusal(400, DENIED), NO_STORE)
    try:
        answer = await token_answers.after_login(identities, user, BY_ROLE[user.role], caller)
    except OAuthError:
        return refused(CompatRefusal(400, DENIED), NO_STORE)
    return json_answer({"access_token": answer.access, "token_type": "Bearer"}, headers=NO_STORE)
