"""Who may ask for what: a table of each route by each token, and RFC 6750's words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from restful.identity.principal import Role
from restful.identity.scopes import SCOPES
from restful.identity.token_format import TokenKind, write
from restful.routes.access import requires
from tests.restful.identity import service
from tests.restful.identity.service import Service, bearer, within

PUBLIC = {
    ("POST", "/v2/oauth/token"),
    ("POST", "/v2/oauth/device"),
    ("POST", "/v2/oauth/revoke"),
    ("GET", "/.well-known/jwks.json"),
    ("GET", "/.well-known/oauth-authorization-server"),
}
"""What anyone may ask for."""

NEEDS = {
    ("GET", "/v2/me"): "",
    ("PATCH", "/v2/me/password"): "",
    ("GET", "/v2/me/sessions"): "",
    ("DELETE", "/v2/me/sessions"): "tokens",
    ("DELETE", "/v2/me/sessions/{session}"): "tokens",
    ("GET", "/v2/me/tokens"): "tokens",
    ("POST", "/v2/me/tokens"): "tokens",
    ("DELETE", "/v2/me/tokens/{token}"): "tokens",
    ("POST", "/v2/me/device"): "tokens",
    ("GET", "/v2/users"): "users:read",
    ("POST", "/v2/users"): "users:manage",
    ("GET", "/v2/users/{user}"): "users:read",
    ("PATCH", "/v2/users/{user}"): "users:manage",
    ("DELETE", "/v2/users/{user}"): "users:manage",
    ("GET", "/v2/clients"): "users:read",
    ("POST", "/v2/clients"): "users:manage",
    ("DELETE", "/v2/clients/{client}"): "users:manage",
    ("GET", "/v2/groups"): "users:read",
    ("POST", "/v2/groups"): "users:manage",
    ("GET", "/v2/groups/{group}"): "users:read",
    ("DELETE", "/v2/groups/{group}"): "users:manage",
    ("PUT", "/v2/groups/{group}/members/{user}"): "users:manage",
    ("DELETE", "/v2/groups/{group}/members/{user}"): "users:manage",
    ("GET", "/v2/grants"): "users:read",
    ("POST", "/v2/grants"): "users:manage",
    ("DELETE", "/v2/grants/{grant}"): "users:manage",
    ("GET", "/v2/audit"): "audit:read",
    ("GET", "/v2/audit/check"): "audit:read",
}
"""The scope of each route; "" is any token."""

BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("PATCH", "/v2/me/password"): {"current": "x", "new": "y"},
    ("POST", "/v2/me/tokens"): {"name": "x", "scopes": ["jobs:read"]},
    ("POST", "/v2/me/device"): {"user_code": "x", "approve": True},
    ("POST", "/v2/users"): {"name": "x"},
    ("PATCH", "/v2/users/{user}"): {},
    ("POST", "/v2/clients"): {"name": "x", "scopes": ["jobs:read"]},
    ("POST", "/v2/groups"): {"name": "x"},
    ("POST", "/v2/grants"): {"cluster": "x", "role": "use"},
}
"""Bodies in which nothing is wrong but for values."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """What is sent in place of a good token."""

    expired: str
    revoked: str
    disabled: str
    without: dict[str, str]
    """By scope: one that has all but that."""


def operations() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the operations of the OpenAPI document."""
    paths = service.mounted().openapi()["paths"]
    return {
        (method.upper(), path): operation
        for path, found in paths.items()
        for method, operation in found.items()
    }


async def _tokens(here: Service) -> Tokens:
    await here.add_user("alice", Role.ADMIN)
    await here.add_user("carol")
    headers = await here.headers("alice")

    async def made(*scopes: str) -> Any:
        body = {"name": "x", "scopes": scopes, "expires_in": 3600}
        return (await here.client.post("/v2/me/tokens", json=body, headers=headers)).json()

    revoked = await made(*SCOPES)
    await here.client.delete(f"/v2/me/tokens/{revoked['id']}", headers=headers)
    disabled = (await here.personal("carol", "jobs:read"))["token"]
    users = (await here.client.get("/v2/users", headers=headers)).json()
    carol = next(each["id"] for each in users if each["name"] == "carol")
    await here.client.patch(f"/v2/users/{carol}", json={"state": "disabled"}, headers=headers)
    expired = (await made(*SCOPES))["token"]
    here.clock.time += 3600
    headers = await here.headers("alice")
    without = {
        scope: (await made(*(SCOPES - {scope})))["token"] for scope in sorted(set(NEEDS.values()) - {""})
    }
    return Tokens(expired, revoked["token"], disabled, without)


def test_each_route_has_its_row() -> None:
    assert set(operations()) == set(NEEDS) | PUBLIC


def test_the_document_states_the_scope_of_each_route() -> None:
    stated = {
        key: " ".join(operation["security"][0]["bearer"])
        for key, operation in operations().items()
        if "security" in operation
    }
    assert stated == NEEDS


def test_each_route_refuses_what_is_no_good_token(tmp_path: Path) -> None:
    """Nothing is looked at before the token: bodies are right, and the objects absent."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            tokens = await _tokens(here)
            found = {}
            for key in NEEDS:
                sent = {
                    "none": None,
                    "malformed": "mcp_x",
                    "unknown": write(TokenKind.PERSONAL, b"x" * 32),
                    "of another kind": write(TokenKind.REFRESH, b"x" * 32),
                    "no JWT": "a.b.c",
                    "expired": tokens.expired,
                    "revoked": tokens.revoked,
                    "of a disabled user": tokens.disabled,
                }
                for name, token in sent.items():
                    found[key, name] = await asked(here, key, token)
            return found

    found = within(work())
    wrong = {key: answer.status_code for key, answer in found.items() if answer.status_code != 401}
    assert wrong == {}
    assert {answer.headers["content-type"] for answer in found.values()} == {"application/problem+json"}
    details = {name: answer.json()["detail"] for (_, name), answer in found.items()}
    assert details == {
        "none": "Log in, or send a token",
        "malformed": "The token is no personal token, or was copied with a fault.",
        "unknown": "The token is unknown or revoked.",
        "of another kind": "The token is no personal token, or was copied with a fault.",
        "no JWT": "The token cannot be read.",
        "expired": "The token has expired.",
        "revoked": "The token is unknown or revoked.",
        "of a disabled user": "The user may not log in.",
    }


def test_each_route_refuses_a_token_without_its_scope(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            tokens = await _tokens(here)
            answers = {
                key: await asked(here, key, tokens.without[scope]) for key, scope in NEEDS.items() if scope
            }
            return answers, await here.audit()

    answers, log = within(work())
    found = {key: (each.status_code, each.json()["detail"]) for key, each in answers.items()}
    assert found == {key: (403, f"This needs the scope {scope}.") for key, scope in NEEDS.items() if scope}
    assert log.count(("request", "denied")) == len(answers)
    header = answers["GET", "/v2/audit"].headers["www-authenticate"]
    assert header == 'Bearer realm="minicluster", error="insufficient_scope", scope="audit:read"'


async def asked(here: Service, key: tuple[str, str], token: str | None) -> Any:
    """Ask for something that is not there, with a body in which nothing is wrong."""
    method, path = key
    for name in ("session", "token", "user", "client", "group", "grant"):
        path = path.replace(f"{{{name}}}", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    headers = {} if token is None else bearer(token)
    return await here.client.request(method, path, json=BODIES.get(key), headers=headers)


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        pytest.param([], None, id="none"),
        pytest.param([("Authorization", "Basic YTpi")], "invalid_token", id="another scheme"),
        pytest.param([("Authorization", "Bearer")], "invalid_token", id="no token"),
        pytest.param([("Authorization", "Bearer x")] * 2, "invalid_token", id="twice"),
    ],
)
def test_a_refusal_has_the_words_of_rfc_6750(
    tmp_path: Path, headers: list[tuple[str, str]], error: str | None
) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            return await here.client.get("/v2/me", headers=headers)

    answer = within(work())
    header = answer.headers["www-authenticate"]
    assert answer.status_code == 401
    assert header.startswith('Bearer realm="minicluster"')
    assert (f'error="{error}"' in header) == (error is not None)


@pytest.mark.parametrize(
    "path",
    [
        "users/%00",
        "groups/%00",
        "grants?cluster=%00",
        "users?after=%00",
        "audit?actor=%00",
        "audit?action=%00",
    ],
)
def test_no_text_with_a_nul_gets_to_the_database(tmp_path: Path, path: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.ensure_admin("root")
            return await here.client.get(f"/v2/{path}", headers=await here.headers("root"))

    assert within(work()).status_code == 422


def test_a_token_in_the_address_is_none(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            token = (await here.personal("alice", "jobs:read"))["token"]
            return await here.client.get("/v2/me", params={"access_token": token})

    assert within(work()).status_code == 401


def test_a_scope_that_there_is_not_is_a_defect() -> None:
    with pytest.raises(ValueError, match="there is no scope jobs:eat"):
        requires("jobs:eat")
