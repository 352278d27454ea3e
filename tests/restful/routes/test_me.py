"""What users do about themselves."""

from pathlib import Path
from typing import Any

import pytest

from restful.identity import token_format
from restful.identity.principal import Role
from restful.identity.token_format import TokenKind
from tests.restful.identity import service
from tests.restful.identity.service import PASSWORD, bearer, within

NEW = "another good password"


def test_a_personal_token_is_shown_once(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            headers = await here.headers("alice")
            body = {"name": "script", "scopes": ["jobs:read"]}
            made = await here.client.post("/v2/me/tokens", json=body, headers=headers)
            listed = await here.client.get("/v2/me/tokens", headers=headers)
            return made, listed

    made, listed = within(work())
    token = made.json()["token"]
    assert token_format.kind_of(token) is TokenKind.PERSONAL
    assert made.headers["cache-control"] == "no-store"
    assert (made.json()["created"], made.json()["expires"]) == (
        "2027-01-15T08:00:00Z",
        "2027-04-15T08:00:00Z",
    )
    assert token[4:] not in listed.text
    assert [each["prefix"] for each in listed.json()] == [token[:8]]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            {"scopes": ["users:manage"]},
            "beyond what this login may do: 'users:manage'",
            id="beyond one's own",
        ),
        pytest.param({"scopes": ["jobs:eat"]}, "there is no such scope: 'jobs:eat'", id="unknown"),
        pytest.param({"expires_in": 366 * 86_400}, "a token lives for 365 days at most", id="too long"),
    ],
)
def test_a_personal_token_is_refused(tmp_path: Path, body: dict[str, Any], message: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            sent = {"name": "script", "scopes": ["jobs:read"], **body}
            return await here.client.post("/v2/me/tokens", json=sent, headers=await here.headers("alice"))

    answer = within(work())
    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (422, message)


def test_a_login_with_fewer_scopes_makes_no_token_with_more(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            headers = await here.headers("alice", scope="tokens jobs:read")
            body = {"name": "script", "scopes": ["jobs:submit"]}
            return await here.client.post("/v2/me/tokens", json=body, headers=headers)

    answer = within(work())
    assert answer.json()["errors"][0]["message"] == "beyond what this login may do: 'jobs:submit'"


@pytest.mark.parametrize(
    ("method", "path", "body", "detail"),
    [
        pytest.param(
            "POST",
            "/v2/me/tokens",
            {"name": "x", "scopes": ["tokens"]},
            "A personal token may not make a personal token: log in.",
            id="another token",
        ),
        pytest.param(
            "PATCH",
            "/v2/me/password",
            {"current": PASSWORD, "new": NEW},
            "A personal token may not change the password: log in.",
            id="the password",
        ),
        pytest.param(
            "POST",
            "/v2/me/device",
            {"user_code": "BCDF-GHJK", "approve": True},
            "A personal token may not log in a device: log in.",
            id="a device",
        ),
    ],
)
def test_a_personal_token_makes_nothing_that_outlives_it(
    tmp_path: Path, method: str, path: str, body: dict[str, Any], detail: str
) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            token = (await here.personal("alice", "tokens"))["token"]
            return await here.client.request(method, path, json=body, headers=bearer(token))

    answer = within(work())
    assert (answer.status_code, answer.json()["detail"]) == (403, detail)


def test_a_user_has_a_bounded_number_of_tokens(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path, tokens_per_user=1) as here:
            await here.add_user("alice")
            await here.personal("alice", "jobs:read")
            body = {"name": "second", "scopes": ["jobs:read"]}
            return await here.client.post("/v2/me/tokens", json=body, headers=await here.headers("alice"))

    answer = within(work())
    assert answer.status_code == 409
    assert answer.json()["detail"] == "A user has at most 1 personal tokens: revoke one."


def test_the_last_use_is_written_at_most_once_a_minute(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            token = (await here.personal("alice", "tokens"))["token"]
            found = []
            for gap in (0, 59, 1):
                here.clock.time += gap
                answer = await here.client.get("/v2/me/tokens", headers=bearer(token))
                found.append((answer.json()[0]["last_used"], answer.json()[0]["last_address"]))
            return found

    assert within(work()) == [
        ("2027-01-15T08:00:00Z", "192.0.2.1"),
        ("2027-01-15T08:00:00Z", "192.0.2.1"),
        ("2027-01-15T08:01:00Z", "192.0.2.1"),
    ]


def test_a_token_has_no_more_than_the_role_has_now(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice", Role.OPERATOR)
            await here.ensure_admin("root")
            token = (await here.personal("alice", "jobs:read", "nodes:drain"))["token"]
            found = [(await here.client.get("/v2/me", headers=bearer(token))).json()["scopes"]]
            root = await here.headers("root")
            await here.client.patch(f"/v2/users/{alice.id}", json={"role": "user"}, headers=root)
            found.append((await here.client.get("/v2/me", headers=bearer(token))).json()["scopes"])
            return found

    assert within(work()) == ["jobs:read nodes:drain", "jobs:read"]


def test_a_new_password_ends_all_other_logins(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            other, own = await here.login("alice"), await here.login("alice")
            body = {"current": PASSWORD, "new": NEW}
            changed = await here.client.patch(
                "/v2/me/password", json=body, headers=bearer(own["access_token"])
            )
            old = await here.token(grant_type="password", username="alice", password=PASSWORD)
            here.clock.time += 2
            new = await here.token(grant_type="password", username="alice", password=NEW)
            refreshed = [
                (
                    await here.token(grant_type="refresh_token", refresh_token=each["refresh_token"])
                ).status_code
                for each in (other, own)
            ]
            stale = await here.client.get("/v2/me", headers=bearer(own["access_token"]))
            return changed.status_code, old.status_code, new.status_code, refreshed, stale.status_code

    assert within(work()) == (204, 400, 200, [400, 200], 401)


@pytest.mark.parametrize(
    ("current", "new", "status", "message"),
    [
        pytest.param("not this one", NEW, 403, "this is not the password", id="wrong"),
        pytest.param(PASSWORD, "short", 422, "a password has 12 to 1024 characters", id="short"),
    ],
)
def test_a_password_is_not_changed(tmp_path: Path, current: str, new: str, status: int, message: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            body = {"current": current, "new": new}
            return await here.client.patch("/v2/me/password", json=body, headers=await here.headers("alice"))

    answer = within(work())
    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (status, message)
    assert current not in answer.text


def test_sessions_are_listed_and_ended(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            other, own = await here.login("alice"), await here.login("alice")
            headers = bearer(own["access_token"])
            listed = (await here.client.get("/v2/me/sessions", headers=headers)).json()
            ended = [each["id"] for each in listed if not each["current"]]
            gone = await here.client.delete(f"/v2/me/sessions/{ended[0]}", headers=headers)
            after = await here.client.get("/v2/me", headers=bearer(other["access_token"]))
            left = (await here.client.get("/v2/me/sessions", headers=headers)).json()
            return listed, gone.status_code, after.status_code, left

    listed, gone, after, left = within(work())
    assert [(each["kind"], each["address"], each["current"]) for each in listed] == [
        ("refresh", "192.0.2.1", True),
        ("refresh", "192.0.2.1", False),
    ]
    assert (gone, after) == (204, 401)
    assert [each["current"] for each in left] == [True]


def test_all_other_sessions_end_at_once(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            logins = [await here.login("alice") for _ in range(3)]
            headers = bearer(logins[0]["access_token"])
            await here.client.delete("/v2/me/sessions", headers=headers)
            return [
                (await here.client.get("/v2/me", headers=bearer(each["access_token"]))).status_code
                for each in logins
            ]

    assert within(work()) == [200, 401, 401]


def test_another_users_things_are_absent(tmp_path: Path) -> None:
    """The answer about what is another's is the one about what is not there."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            await here.add_user("bob")
            token = (await here.personal("alice", "jobs:read"))["id"]
            alice = await here.headers("alice")
            session = (await here.client.get("/v2/me/sessions", headers=alice)).json()[0]["id"]
            bob = await here.headers("bob")
            found = []
            for path in (f"tokens/{token}", f"sessions/{session}", "tokens/absent", "sessions/absent"):
                answer = await here.client.delete(f"/v2/me/{path}", headers=bob)
                found.append({**answer.json(), "instance": ""})
            still = await here.client.get("/v2/me/tokens", headers=alice)
            return found, len(still.json())

    found, still = within(work())
    assert found == [found[0]] * 4
    assert (found[0]["status"], still) == (404, 1)


def test_grants_are_seen_by_who_has_them(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            await here.ensure_admin("root")
            root = await here.headers("root")
            made = await here.client.post("/v2/groups", json={"name": "physics"}, headers=root)
            group = made.json()["id"]
            await here.client.put(f"/v2/groups/{group}/members/{alice.id}", headers=root)
            for body in (
                {"cluster": "a", "role": "use", "user": alice.id},
                {"cluster": "b", "role": "operate", "group": group},
                {"cluster": "*", "role": "use"},
            ):
                await here.client.post("/v2/grants", json=body, headers=root)
            headers = await here.headers("alice", scope="jobs:read tokens")
            return (await here.client.get("/v2/me", headers=headers)).json()["clusters"]

    assert within(work()) == {"a": "jobs:read", "b": "jobs:read", "*": "jobs:read"}


def test_a_code_that_no_device_waits_with(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            body = {"user_code": "BCDF-GHJK", "approve": True}
            return await here.client.post("/v2/me/device", json=body, headers=await here.headers("alice"))

    answer = within(work())
    assert (answer.status_code, answer.json()["detail"]) == (422, "The code is wrong, or has expired.")
