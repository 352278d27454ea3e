"""What admins do about users, service accounts, groups and grants."""

from pathlib import Path
from typing import Any

import pytest

from restful.identity.principal import Role
from tests.restful.identity import service
from tests.restful.identity.service import PASSWORD, Service, bearer, within

ABSENT = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


async def as_root(here: Service, method: str, path: str, body: Any = None) -> Any:
    await here.ensure_admin("root")
    return await here.client.request(method, f"/v2{path}", json=body, headers=await here.headers("root"))


def test_a_user_is_made_and_logs_in(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            body = {"name": "alice", "display": "Alice", "email": "a@example.org", "password": PASSWORD}
            made = await as_root(here, "POST", "/users", body)
            read = await as_root(here, "GET", f"/users/{made.json()['id']}")
            listed = await as_root(here, "GET", "/users?limit=1")
            await here.login("alice")
            return made, read.json(), listed.json()

    made, read, listed = within(work())
    assert (made.status_code, made.json()) == (201, read)
    assert [each["name"] for each in listed] == ["alice"]
    assert (read["role"], read["state"], read["has_password"]) == ("user", "active", True)
    assert PASSWORD not in made.text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({"name": "root"}, 409, id="a name that is taken"),
        pytest.param({"name": "alice", "password": "short"}, 422, id="a short password"),
        pytest.param({"name": "Alice"}, 422, id="capitals"),
        pytest.param({"name": "a\n"}, 422, id="a line feed"),
        pytest.param({"name": "alice", "role": "king"}, 422, id="a role"),
        pytest.param({"name": "alice", "epoch": 3}, 422, id="a member that is not known"),
    ],
)
def test_a_user_is_refused(tmp_path: Path, body: dict[str, Any], status: int) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            return await as_root(here, "POST", "/users", body)

    answer = within(work())
    assert answer.status_code == status
    assert "short" not in answer.text or "password" in answer.text


def test_a_taken_name_is_reported(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            answers = [await as_root(here, "POST", path, {"name": "root"}) for path in ("/users", "/groups")]
            answers.append(await as_root(here, "POST", "/groups", {"name": "root"}))
            client = {"name": "root", "scopes": ["jobs:read"]}
            answers.append(await as_root(here, "POST", "/clients", client))
            return [(each.status_code, each.json().get("detail")) for each in answers]

    taken = (409, "The name root is taken.")
    assert within(work()) == [taken, (201, None), taken, taken]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"role": "operator"}, id="demoted"),
        pytest.param({"state": "disabled"}, id="disabled"),
        pytest.param({"state": "locked"}, id="locked"),
        pytest.param(None, id="deleted"),
    ],
)
def test_the_last_admin_stays(tmp_path: Path, body: dict[str, str] | None) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            root = await here.ensure_admin("root")
            method = "DELETE" if body is None else "PATCH"
            refused = await as_root(here, method, f"/users/{root.id}", body)
            other = await here.add_user("other", Role.ADMIN)
            accepted = await as_root(here, method, f"/users/{other.id}", body)
            return refused, accepted.status_code

    refused, accepted = within(work())
    assert refused.status_code == 409
    assert refused.json()["detail"] == "This is the last active admin: make another one first."
    assert accepted in {200, 204}


@pytest.mark.parametrize(
    ("body", "refresh"),
    [
        pytest.param({"state": "disabled"}, 400, id="disabled"),
        pytest.param({"state": "locked"}, 400, id="locked"),
        pytest.param({"password": "another good password"}, 400, id="another password"),
        pytest.param({"role": "operator"}, 200, id="another role"),
    ],
)
def test_a_change_ends_access_tokens_at_once(tmp_path: Path, body: dict[str, str], refresh: int) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            found = await here.login("alice")
            changed = await as_root(here, "PATCH", f"/users/{alice.id}", body)
            me = await here.client.get("/v2/me", headers=bearer(found["access_token"]))
            form = {"grant_type": "refresh_token", "refresh_token": found["refresh_token"]}
            return changed.status_code, me.status_code, (await here.token(**form)).status_code

    assert within(work()) == (200, 401, refresh)


def test_a_change_of_display_ends_nothing(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            headers = await here.headers("alice")
            changed = await as_root(here, "PATCH", f"/users/{alice.id}", {"display": "A", "role": "user"})
            return changed.json()["display"], (await here.client.get("/v2/me", headers=headers)).status_code

    assert within(work()) == ("A", 200)


def test_a_deleted_user_is_gone_with_his_tokens(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            token = (await here.personal("alice", "jobs:read"))["token"]
            before = await here.client.get("/v2/me", headers=bearer(token))
            gone = await as_root(here, "DELETE", f"/users/{alice.id}")
            after = await here.client.get("/v2/me", headers=bearer(token))
            again = await here.add_user("alice")
            return before.status_code, gone.status_code, after.status_code, again.id == alice.id

    assert within(work()) == (200, 204, 401, False)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "/users/{}", None, id="read a user"),
        pytest.param("PATCH", "/users/{}", {}, id="change a user"),
        pytest.param("DELETE", "/users/{}", None, id="delete a user"),
        pytest.param("DELETE", "/clients/{}", None, id="delete a client"),
        pytest.param("GET", "/groups/{}", None, id="read a group"),
        pytest.param("DELETE", "/groups/{}", None, id="delete a group"),
        pytest.param("PUT", "/groups/{}/members/{}", None, id="put into a group"),
        pytest.param("DELETE", "/groups/{}/members/{}", None, id="take out of a group"),
        pytest.param("DELETE", "/grants/{}", None, id="delete a grant"),
    ],
)
def test_what_is_not_there(tmp_path: Path, method: str, path: str, body: Any) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            return await as_root(here, method, path.format(ABSENT, ABSENT), body)

    answer = within(work())
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")


def test_a_service_account_is_no_user(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            made = await as_root(here, "POST", "/clients", {"name": "robot", "scopes": ["jobs:read"]})
            read = await as_root(here, "GET", f"/users/{made.json()['id']}")
            users = [each["name"] for each in (await as_root(here, "GET", "/users")).json()]
            clients = [each["name"] for each in (await as_root(here, "GET", "/clients")).json()]
            return made, read.status_code, users, clients

    made, read, users, clients = within(work())
    assert (read, users, clients) == (404, ["root"], ["robot"])
    assert (made.json()["client_id"], made.headers["cache-control"]) == ("robot", "no-store")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"scopes": ["nodes:drain"]}, "beyond what this login may do: 'nodes:drain'", id="role"),
        pytest.param({"scopes": ["jobs:eat"]}, "there is no such scope: 'jobs:eat'", id="scope"),
        pytest.param(
            {"scopes": ["jobs:read"], "expires_in": 10**9},
            "a token lives for 365 days at most",
            id="too long",
        ),
    ],
)
def test_a_service_account_is_not_made(tmp_path: Path, body: dict[str, Any], message: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            return await as_root(here, "POST", "/clients", {"name": "robot", **body})

    answer = within(work())
    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (422, message)


def test_a_group_has_members(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            group = (await as_root(here, "POST", "/groups", {"name": "physics"})).json()["id"]
            member = f"/groups/{group}/members/{alice.id}"
            for _ in range(2):
                await as_root(here, "PUT", member)
            with_her = (await as_root(here, "GET", f"/groups/{group}")).json()["members"]
            await as_root(here, "DELETE", member)
            without = (await as_root(here, "GET", f"/groups/{group}")).json()["members"]
            names = [each["name"] for each in (await as_root(here, "GET", "/groups")).json()]
            gone = await as_root(here, "DELETE", f"/groups/{group}")
            return with_her == [alice.id], without, names, gone.status_code

    assert within(work()) == (True, [], ["physics"], 204)


def test_grants_are_made_once_and_taken_back(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            bodies = [{"cluster": "a", "role": "use", "user": alice.id}, {"cluster": "a", "role": "use"}]
            made = [await as_root(here, "POST", "/grants", body) for body in bodies]
            again = [await as_root(here, "POST", "/grants", body) for body in bodies]
            unknown = await as_root(here, "POST", "/grants", {**bodies[0], "cluster": "b", "user": ABSENT})
            both = await as_root(here, "POST", "/grants", {**bodies[0], "group": ABSENT})
            listed = (await as_root(here, "GET", "/grants?cluster=a")).json()
            gone = await as_root(here, "DELETE", f"/grants/{made[0].json()['id']}")
            left = (await as_root(here, "GET", "/grants")).json()
            return made, [*again, unknown], both, (len(listed), gone.status_code, len(left))

    made, refused, both, counts = within(work())
    assert [each.status_code for each in made] == [201, 201]
    assert {(each.status_code, each.json()["detail"]) for each in refused} == {
        (409, "There is such a grant already, or no such user or group.")
    }
    assert both.json()["errors"][0]["message"] == "a grant is a user's or a group's"
    assert counts == (2, 204, 1)
