"""`minicluster login`, `logout`, `tokens` and `users`, against the fake service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.client import oauth
from minicluster.client.logins import Login, LoginFile
from tests.client.fake_service import problem

if TYPE_CHECKING:
    from tests.client.conftest import Call
    from tests.client.fake_service import Answer, Request, Service

TOKEN = {
    "id": "01T",
    "name": "ci",
    "prefix": "mcp_0123",
    "scopes": "jobs:read",
    "created": "2026-01-01T00:00:00Z",
    "expires": "2026-04-01T00:00:00Z",
    "last_used": None,
    "last_address": None,
}
ALICE = {"id": "01U", "name": "alice", "role": "user", "state": "active", "created": "2026-01-01T00:00:00Z"}


def test_a_login_by_a_code(call: Call, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    code = {
        "device_code": "mcd_x",
        "user_code": "BCDF-GHJK",
        "verification_uri": f"{service.url}/device",
        "verification_uri_complete": f"{service.url}/device?user_code=BCDF-GHJK",
        "expires_in": 600,
        "interval": 0,
    }
    service.routes["POST", "/v2/oauth/device"] = lambda _: (200, code)
    tokens = {"access_token": "a.b.c", "refresh_token": "mcr_x", "expires_in": 600}
    service.routes["POST", "/v2/oauth/token"] = lambda _: (200, tokens)
    monkeypatch.setattr(oauth, "MIN_INTERVAL", 0.0)
    assert call("login", "--server", f"{service.url}/", "--scope", "jobs:read") == (
        0,
        (
            f"Open {service.url}/device and type the code BCDF-GHJK\n"
            f"or open {service.url}/device?user_code=BCDF-GHJK\n"
            f"logged in to {service.url} as alice (user)\n"
        ),
        "minicluster: waiting for 10 minutes; Ctrl-C ends it",
    )
    stored = LoginFile().get(service.url)
    assert stored is not None
    assert (stored.token, stored.refresh_token) == ("a.b.c", "mcr_x")


def test_a_login_by_a_token(call: Call, service: Service) -> None:
    done = call("login", "--server", service.url, "--token-stdin", stdin="mcp_mine\n")
    assert done == (0, f"logged in to {service.url} as alice (user)\n", "")
    assert LoginFile().get(service.url) == Login("mcp_mine")
    assert service.requests[0].headers["authorization"] == "Bearer mcp_mine"


TOKENS = {"access_token": "a.b.c", "refresh_token": "mcr_x", "expires_in": 600}
GRANTS = {
    "a link": (
        ("--link-stdin",),
        "{url}/login/link?token=mcl_x\n",
        {"grant_type": oauth.LINK_GRANT, "token": "mcl_x"},
    ),
    "a password": (
        ("--server", "{url}", "--user", "alice", "--scope", "jobs:read"),
        "a long password\n",
        {"grant_type": "password", "username": "alice", "password": "a long password", "scope": "jobs:read"},
    ),
}


@pytest.mark.parametrize(("words", "given", "form"), GRANTS.values(), ids=GRANTS)
def test_a_login_without_a_browser(
    call: Call, service: Service, words: tuple[str, ...], given: str, form: dict[str, str]
) -> None:
    asked: list[dict[str, str]] = []

    def grant(request: Request) -> Answer:
        asked.append(dict(request.form))
        return 200, TOKENS

    service.routes["POST", "/v2/oauth/token"] = grant
    done = call(
        "login", *(each.format(url=service.url) for each in words), stdin=given.format(url=service.url)
    )
    assert done == (0, f"logged in to {service.url} as alice (user)\n", "")
    assert asked == [{"client_id": "minicluster", **form}]
    stored = LoginFile().get(service.url)
    assert stored is not None
    assert (stored.token, stored.refresh_token) == ("a.b.c", "mcr_x")


def test_a_link_that_was_used_is_refused_by_the_servers_words(call: Call, service: Service) -> None:
    words = "the link was used before, has expired, or is not whole"
    refusal = {"error": "invalid_grant", "error_description": words}
    service.routes["POST", "/v2/oauth/token"] = lambda _: (400, refusal)
    code, out, err = call("login", "--link-stdin", stdin=f"{service.url}/login/link?token=mcl_x")
    assert (code, out, words in err, LoginFile().servers()) == (1, "", True, []), err


def test_a_link_of_another_server_goes_nowhere(call: Call, service: Service) -> None:
    """Such as where MINICLUSTER_SERVER is set."""
    link = "https://other.example/login/link?token=mcl_x"
    code, _, err = call("login", "--server", service.url, "--link-stdin", stdin=link)
    assert (code, "the link is of https://other.example, and good there alone" in err) == (2, True), err
    assert not service.requests


def test_a_token_that_is_not_good_is_not_stored(call: Call, service: Service) -> None:
    service.fault("GET", (401, problem("unauthenticated", "The token is unknown or revoked.")))
    code, out, err = call("login", "--server", service.url, "--token-stdin", stdin="mcp_other")
    assert (code, out, "The token is unknown or revoked" in err) == (1, "", True)
    assert LoginFile().servers() == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("login",), "is needed, or MINICLUSTER_SERVER"),
        (("login", "--server", "http://mc.example.org"), "a token would be sent in the clear"),
        (("login", "--server", "https://mc", "--token-stdin"), "standard input is empty"),
        (("login", "--server", "https://mc", "--token-stdin", "--scope", "x"), "only without --token-stdin"),
        (("login", "--link-stdin"), "has no link; one is an address that ends with /login/link?token=…"),
        (("login", "--server", "https://mc", "--user", "alice"), "standard input is empty"),
        (("login", "--link-stdin", "--scope", "x"), "only without --link-stdin"),
        (("login", "--link-stdin", "--token-stdin"), "is one way to log in: give one"),
        (("logout",), "is needed: you are not logged in to any"),
        (("tokens", "list"), "is needed: you are not logged in to any"),
        (("tokens", "list", "--server", "https://mc"), "you are not logged in to https://mc"),
    ],
)
def test_what_is_missing_is_named(call: Call, words: tuple[str, ...], message: str) -> None:
    code, out, err = call(*words)
    assert (code > 0, out, message in err) == (True, "", True), err


def test_a_logout_ends_the_login(call: Call, service: Service) -> None:
    with LoginFile().locked() as logins:
        logins[service.url] = Login("a.b.c", 9e9, "mcr_x")
    revoked: list[str] = []

    def revoke(request: Request) -> Answer:
        revoked.append(request.form["token"])
        return 200, {}

    service.routes["POST", "/v2/oauth/revoke"] = revoke
    assert call("logout") == (0, f"logged out of {service.url}\n", "")
    assert (revoked, LoginFile().servers()) == (["mcr_x"], [])


def test_a_logout_without_the_server(call: Call, service: Service) -> None:
    with LoginFile().locked() as logins:
        logins[service.url] = Login("a.b.c", 9e9, "mcr_x")
    service.fault("POST", (500, problem("internal", "This service failed")))
    code, out, err = call("logout")
    assert (code, out) == (0, f"logged out of {service.url}\n")
    assert err == "minicluster: warning: forgotten here; at the server it ends by itself: This service failed"


def test_tokens_are_listed(call: Call, service: Service, logged_in: LoginFile) -> None:
    service.routes["GET", "/v2/me/tokens"] = lambda _: (200, [TOKEN])
    code, out, _ = call("tokens", "list")
    assert (code, out.splitlines()[1].split()[:4]) == (0, ["01T", "ci", "mcp_0123", "jobs:read"])
    assert json.loads(call("tokens", "list", "--output", "json")[1]) == [TOKEN]


def test_a_token_is_made(call: Call, service: Service, logged_in: LoginFile) -> None:
    """Its text alone is on standard output."""
    service.routes["POST", "/v2/me/tokens"] = lambda _: (201, {**TOKEN, "token": "mcp_secret"})
    words = ("tokens", "create", "ci", "--scope", "jobs:read", "--expires", "30d")
    assert call(*words) == (
        0,
        "mcp_secret\n",
        "minicluster: token 01T ends at 2026-04-01T00:00:00Z; keep it, it is not shown again",
    )
    assert service.requests[-1].json == {"name": "ci", "scopes": ["jobs:read"], "expires_in": 2592000}
    assert json.loads(call(*words, "-o", "json")[1]) == [{**TOKEN, "token": "mcp_secret"}]


def test_tokens_are_revoked(call: Call, service: Service, logged_in: LoginFile) -> None:
    service.routes["DELETE", "/v2/me/tokens/01T"] = lambda _: (204, None)
    assert call("tokens", "revoke", "01T") == (0, "token 01T is revoked\n", "")
    code, _, err = call("tokens", "revoke", "other")
    assert (code, err) == (1, "minicluster: there is no such thing here")


@pytest.fixture
def users(service: Service, logged_in: LoginFile) -> list[Any]:
    """The bodies of changes."""
    bodies: list[Any] = []

    def change(request: Request) -> Answer:
        bodies.append(request.json)
        return 200, {**ALICE, **{k: v for k, v in request.json.items() if k != "password"}}

    service.routes |= {
        ("GET", "/v2/users"): lambda _: (200, [ALICE]),
        ("POST", "/v2/users"): change,
        ("PATCH", "/v2/users/01U"): change,
        ("DELETE", "/v2/users/01U"): lambda _: (204, None),
    }
    return bodies


def test_users(call: Call, users: list[Any]) -> None:
    assert json.loads(call("users", "list", "-o", "json")[1])[0]["name"] == "alice"
    made = call("users", "create", "alice", "--password-stdin", "--display", "A", stdin="correct horse\n")
    assert made == (0, "user alice is there, with the role user\n", "")
    changed = call("users", "change", "alice", "--role", "operator", "--state", "locked")
    assert changed == (0, "user alice: operator, locked\n", "")
    assert call("users", "delete", "alice") == (0, "user alice is deleted\n", "")
    assert users == [
        {"name": "alice", "role": "user", "display": "A", "password": "correct horse"},
        {"role": "operator", "state": "locked"},
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("users", "delete", "bob"), "has no user 'bob'; `minicluster users list` lists them"),
        (("users", "change", "alice"), "give what shall be otherwise, such as --role"),
        (("users", "create", "bob", "--password-stdin"), "standard input is empty; it has the password"),
    ],
)
def test_users_that_cannot_be(call: Call, users: list[Any], words: tuple[str, ...], message: str) -> None:
    code, out, err = call(*words)
    assert (code, out, message in err) == (2, "", True), err
    assert users == []
