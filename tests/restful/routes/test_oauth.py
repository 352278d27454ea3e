"""Tokens by OAuth's grants: what each gives, and what each refuses."""

import base64
from pathlib import Path
from typing import Any

import pytest

from restful.identity import token_format
from restful.identity.principal import Role
from restful.identity.token_format import TokenKind
from restful.routes import oauth
from tests.restful.identity import service
from tests.restful.identity.service import PASSWORD, Service, bearer, within

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


def test_a_password_gives_tokens(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            answer = await here.token(grant_type="password", username="alice", password=PASSWORD)
            me = await here.client.get("/v2/me", headers=bearer(answer.json()["access_token"]))
            return answer, me.json()

    answer, me = within(work())
    found = answer.json()
    assert (found["token_type"], found["expires_in"]) == ("Bearer", 600)
    assert found["scope"] == me["scopes"] == "clusters:read jobs:cancel jobs:read jobs:submit tokens"
    assert token_format.kind_of(found["refresh_token"]) is TokenKind.REFRESH
    assert answer.headers["cache-control"] == "no-store"
    assert me["name"] == "alice"


UNKNOWN = token_format.write(TokenKind.REFRESH, b"x" * 32)
GOOD = {"grant_type": "password", "username": "alice", "password": PASSWORD}


@pytest.mark.parametrize(
    ("form", "error", "description"),
    [
        pytest.param({"a": "b"}, "invalid_request", "grant_type is missing", id="nothing"),
        pytest.param(
            {"grant_type": "implicit"}, "unsupported_grant_type", "grant_type is one of", id="grant"
        ),
        pytest.param({**GOOD, "password": ""}, "invalid_request", "password is missing", id="no password"),
        pytest.param(
            {**GOOD, "password": "wrong"}, "invalid_grant", "password is wrong", id="wrong password"
        ),
        pytest.param({**GOOD, "username": "bob"}, "invalid_grant", "password is wrong", id="unknown user"),
        pytest.param({**GOOD, "username": "x" * 999}, "invalid_grant", "password is wrong", id="a long name"),
        pytest.param({**GOOD, "username": "carol"}, "invalid_grant", "may not log in", id="no password set"),
        pytest.param(
            {**GOOD, "scope": "jobs:eat"}, "invalid_scope", "unknown scopes: 'jobs:eat'", id="scope"
        ),
        pytest.param(
            {**GOOD, "scope": "users:manage"}, "invalid_scope", "role user has not: 'users:manage'", id="role"
        ),
        pytest.param(
            {"grant_type": oauth.LINK_GRANT, "token": "x"}, "invalid_grant", "is not whole", id="link"
        ),
        pytest.param(
            {"grant_type": "refresh_token", "refresh_token": "x"}, "invalid_grant", "is none", id="refresh"
        ),
        pytest.param(
            {
                "grant_type": "refresh_token",
                "refresh_token": token_format.write(TokenKind.REFRESH, b"x" * 32),
            },
            "invalid_grant",
            "the refresh token is unknown",
            id="an unknown refresh token",
        ),
        pytest.param({"grant_type": DEVICE, "device_code": "x"}, "invalid_grant", "is none", id="device"),
        pytest.param(
            {"grant_type": DEVICE, "device_code": token_format.write(TokenKind.DEVICE, b"x" * 32)},
            "invalid_grant",
            "unknown, or of another client",
            id="an unknown device code",
        ),
        pytest.param({**GOOD, "username": "a\0"}, "invalid_request", "a parameter has a NUL", id="NUL"),
        pytest.param({**GOOD, "client_id": "x" * 6000}, "invalid_request", "too long", id="a long parameter"),
    ],
)
def test_a_token_is_refused(tmp_path: Path, form: dict[str, str], error: str, description: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            await here.add_user("carol", password=None)
            return await here.token(**form)

    answer = within(work())
    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert description in answer.json()["error_description"]


@pytest.mark.parametrize(
    ("request_of", "description"),
    [
        pytest.param({"json": GOOD}, "must be application/x-www-form-urlencoded", id="JSON"),
        pytest.param(
            {
                "content": "grant_type=password&grant_type=refresh_token",
                "headers": {"content-type": "application/x-www-form-urlencoded"},
            },
            "a parameter is there twice",
            id="twice",
        ),
        pytest.param(
            {"data": {**GOOD, "client_secret": "x"}, "auth": ("a", "b")},
            "in the header and in the body",
            id="both",
        ),
    ],
)
def test_a_request_that_is_no_form(tmp_path: Path, request_of: dict[str, Any], description: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            return await here.client.post("/v2/oauth/token", **request_of)

    answer = within(work())
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert description in answer.json()["error_description"]


def test_a_refresh_token_is_good_once(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            first = (await here.login("alice"))["refresh_token"]
            second = (await refreshed(here, first)).json()
            here.clock.time += 11
            again = await refreshed(here, first)
            after = await refreshed(here, second["refresh_token"])
            me = await here.client.get("/v2/me", headers=bearer(second["access_token"]))
            return again.json(), after.json(), me.json(), await here.audit()

    again, after, me, log = within(work())
    assert (
        again["error_description"] == "the refresh token was used before, so all that followed it is revoked"
    )
    assert after["error_description"] == "the refresh token is revoked"
    assert me["detail"] == "The login has ended; log in again."
    assert ("session.reuse", "denied") in log


def test_two_tabs_that_race_get_the_same_successor(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            first = (await here.login("alice"))["refresh_token"]
            one = (await refreshed(here, first)).json()["refresh_token"]
            here.clock.time += 9
            other = (await refreshed(here, first)).json()["refresh_token"]
            return one, other, (await refreshed(here, one)).status_code

    one, other, status = within(work())
    assert one == other
    assert status == 200


def test_another_client_gets_no_successor(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            first = (await here.login("alice"))["refresh_token"]
            await refreshed(here, first)
            form = {"grant_type": "refresh_token", "refresh_token": first}
            return (await here.at("198.51.100.9").post("/v2/oauth/token", data=form)).json()

    assert within(work())["error"] == "invalid_grant"


def test_a_refresh_may_ask_for_less_and_not_for_more(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            first = (await here.login("alice", scope="jobs:read tokens"))["refresh_token"]
            less = (await refreshed(here, first, scope="jobs:read")).json()
            more = (await refreshed(here, less["refresh_token"], scope="jobs:submit")).json()
            return less["scope"], more

    less, more = within(work())
    assert less == "jobs:read"
    assert more["error_description"] == "the login was without: 'jobs:submit'"


@pytest.mark.parametrize("hint", ["refresh_token", "unheard-of"])
def test_who_revokes_ends_the_login(tmp_path: Path, hint: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            found = await here.login("alice")
            form = {"token": found["refresh_token"], "token_type_hint": hint}
            revoked = await here.client.post("/v2/oauth/revoke", data=form)
            me = await here.client.get("/v2/me", headers=bearer(found["access_token"]))
            return revoked.status_code, me.status_code, (await refreshed(here, found["refresh_token"])).json()

    revoked, me, after = within(work())
    assert (revoked, me, after["error"]) == (200, 401, "invalid_grant")


def test_a_personal_token_is_revoked_by_who_has_it(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            token = (await here.personal("alice", "jobs:read"))["token"]
            before = await here.client.get("/v2/me", headers=bearer(token))
            await here.client.post("/v2/oauth/revoke", data={"token": token})
            after = await here.client.get("/v2/me", headers=bearer(token))
            return before.status_code, after.json()["detail"]

    assert within(work()) == (200, "The token is unknown or revoked.")


def test_what_cannot_be_revoked(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            answers = [
                await here.client.post("/v2/oauth/revoke", data=form)
                for form in ({"token": UNKNOWN}, {"token": "x"}, {"token": "a.b.c"}, {})
            ]
            return [(each.status_code, each.json().get("error", "")) for each in answers]

    assert within(work()) == [
        (200, ""),
        (200, ""),
        (400, "unsupported_token_type"),
        (400, "invalid_request"),
    ]


async def _client(here: Service, *scopes: str, role: Role = Role.USER) -> dict[str, Any]:
    await here.ensure_admin("root")
    body = {"name": "robot", "scopes": scopes, "role": role}
    answer = await here.client.post("/v2/clients", json=body, headers=await here.headers("root"))
    found: dict[str, Any] = answer.json()
    return found


def test_a_service_account_logs_in_with_its_secret(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            secret = (await _client(here, "jobs:read", "jobs:submit"))["client_secret"]
            header = {"Authorization": f"Basic {base64.b64encode(f'robot:{secret}'.encode()).decode()}"}
            form = {"grant_type": "client_credentials", "scope": "jobs:read"}
            by_header = await here.client.post("/v2/oauth/token", data=form, headers=header)
            by_body = await here.token(
                grant_type="client_credentials", client_id="robot", client_secret=secret
            )
            me = await here.client.get("/v2/me", headers=bearer(by_header.json()["access_token"]))
            return by_header.json(), by_body.json(), me.json()["name"]

    by_header, by_body, name = within(work())
    assert (by_header["scope"], by_body["scope"], name) == ("jobs:read", "jobs:read jobs:submit", "robot")
    assert "refresh_token" not in by_header


@pytest.mark.parametrize(
    ("change", "status", "description"),
    [
        pytest.param({"client_id": "root"}, 401, "the client is unknown, or its secret wrong", id="name"),
        pytest.param({"client_secret": "x"}, 401, "the client is unknown, or its secret wrong", id="secret"),
        pytest.param({"scope": "jobs:cancel"}, 400, "the client has not: 'jobs:cancel'", id="beyond its own"),
        pytest.param({"scope": "jobs:eat"}, 400, "unknown scopes: 'jobs:eat'", id="an unknown scope"),
    ],
)
def test_a_service_account_is_refused(
    tmp_path: Path, change: dict[str, str], status: int, description: str
) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            secret = (await _client(here, "jobs:read"))["client_secret"]
            form = {"grant_type": "client_credentials", "client_id": "robot", "client_secret": secret}
            return await here.token(**{**form, **change})

    answer = within(work())
    assert answer.status_code == status
    assert description in answer.json()["error_description"]


@pytest.mark.parametrize("header", ["Bearer x", "Basic !", "Basic eA==", "Basic AGE6Yg=="])
def test_a_header_that_is_no_client(tmp_path: Path, header: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            form = {"grant_type": "client_credentials"}
            return await here.client.post("/v2/oauth/token", data=form, headers={"Authorization": header})

    answer = within(work())
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert answer.headers["www-authenticate"].startswith("Basic")


def test_a_deleted_service_account_ends_at_once(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            made = await _client(here, "jobs:read")
            form = {"client_id": "robot", "client_secret": made["client_secret"]}
            access = (await here.token(grant_type="client_credentials", **form)).json()["access_token"]
            root = await here.headers("root")
            gone = await here.client.delete(f"/v2/clients/{made['id']}", headers=root)
            me = await here.client.get("/v2/me", headers=bearer(access))
            return gone.status_code, me.json()["detail"]

    assert within(work()) == (204, "The user may not log in.")


def test_a_device_logs_in_once_its_user_approves(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            asked = (await here.client.post("/v2/oauth/device", data={"scope": "jobs:read"})).json()
            found = [await polled(here, asked)]
            found.append(await polled(here, asked))
            body = {"user_code": asked["user_code"].lower(), "approve": True}
            answer = await here.client.post("/v2/me/device", json=body, headers=await here.headers("alice"))
            here.clock.time += 10
            last = await polled(here, asked)
            here.clock.time += 10
            return asked, [*found, await polled(here, asked)], answer.json(), last

    asked, refused, approved, last = within(work())
    assert [each["error"] for each in refused] == ["authorization_pending", "slow_down", "invalid_grant"]
    assert approved == {"client": "minicluster", "state": "approved"}
    assert last["scope"] == "jobs:read"
    assert "refresh_token" in last
    assert asked["verification_uri"] == "https://mc.example/device"
    assert (asked["interval"], asked["expires_in"]) == (5, 600)


def test_a_device_that_is_denied_or_late_gets_nothing(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            headers = await here.headers("alice")
            form = {"client_id": "cli"}
            denied, late = [(await here.client.post("/v2/oauth/device", data=form)).json() for _ in "ab"]
            body = {"user_code": denied["user_code"], "approve": False}
            await here.client.post("/v2/me/device", json=body, headers=headers)
            found = [(await polled(here, denied, "cli"))["error"]]
            here.clock.time += 601
            found.append((await polled(here, late, "cli"))["error"])
            return found

    assert within(work()) == ["access_denied", "expired_token"]


def test_a_device_gets_no_more_than_who_approves_it_has(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            form = {"scope": "jobs:read jobs:submit"}
            asked = (await here.client.post("/v2/oauth/device", data=form)).json()
            headers = await here.headers("alice", scope="jobs:read tokens")
            body = {"user_code": asked["user_code"], "approve": True}
            await here.client.post("/v2/me/device", json=body, headers=headers)
            return (await polled(here, asked))["scope"]

    assert within(work()) == "jobs:read"


def test_the_keys_are_public_and_verify_what_was_issued(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            return await here.client.get("/.well-known/jwks.json")

    answer = within(work())
    (key,) = answer.json()["keys"]
    assert {name: key[name] for name in ("kty", "crv", "alg", "use")} == {
        "kty": "OKP",
        "crv": "Ed25519",
        "alg": "Ed25519",
        "use": "sig",
    }
    assert "d" not in key
    assert answer.headers["cache-control"] == "public, max-age=600"


def test_the_metadata_names_routes_that_exist(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            found = (await here.client.get("/.well-known/oauth-authorization-server")).json()
            return found, here.app.openapi()["paths"]

    found, paths = within(work())
    named = {found[name].removeprefix("https://mc.example") for name in found if name.endswith("_endpoint")}
    assert named < set(paths)
    assert found["issuer"] == "https://mc.example"
    assert DEVICE in found["grant_types_supported"]


async def refreshed(here: Service, token: str, **form: str) -> Any:
    return await here.token(grant_type="refresh_token", refresh_token=token, **form)


async def polled(here: Service, asked: dict[str, Any], client: str = "minicluster") -> dict[str, Any]:
    form = {"grant_type": DEVICE, "device_code": asked["device_code"], "client_id": client}
    found: dict[str, Any] = (await here.token(**form)).json()
    return found
