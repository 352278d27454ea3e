"""/v1 over an embedded instance: other users' jobs are not there, and refusals have the reference's form."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2
import pytest

from restful.compat.routes import router
from tests.conformance.laboratory import Laboratory
from tests.restful.identity.service import PASSWORD
from tests.restful.identity.service import opened as opened_identities
from tests.restful.jobs.service import Service, opened, spec_of, within

Work = Callable[[Service], Coroutine[Any, Any, Any]]


@pytest.fixture
def ask(embedded: Laboratory, tmp_path: Path) -> Callable[[Work], Any]:
    """Run work with a service of one cluster, or of those that are named."""

    def run(work: Work, *names: str) -> Any:
        async def served() -> Any:
            specs = [spec_of(embedded, name=name) for name in names or ("mc",)]
            async with opened(tmp_path, *specs, routers=(router,)) as here:
                return await work(here)

        return within(served())

    return run


async def v1(here: Service, user: str, method: str, path: str, **more: Any) -> httpx2.Response:
    """Send a request as a user."""
    headers = {"authorization": f"Bearer {user}"}
    return await here.client.request(method, path, headers=headers, **more)


async def submitted(here: Service, user: str = "alice", **parameters: Any) -> int:
    """Submit a job, and return its id."""
    answer = await v1(here, user, "POST", "/v1/jobs/submit", params={"command": "true", **parameters})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["Message"] == "Job submit."
    assert isinstance(found["id"], int)
    return int(found["id"])


def test_a_job_is_submitted_and_ends(ask: Callable[[Work], Any]) -> None:
    async def work(here: Service) -> Any:
        job = await submitted(here, command="sh -c 'exit 3'", num_tasks=2, runtime=60, envars="{'A': 'b'}")
        return await here.ended("alice", str(job)), (await v1(here, "alice", "GET", f"/v1/jobs/{job}")).json()

    ended, found = ask(work)
    assert found["id"] == int(ended["number"])
    assert (found["state"], found["result"], found["returncode"]) == ("INACTIVE", "FAILED", 3)
    assert (found["ntasks"], found["duration"]) == (2, 60.0)


def test_other_users_jobs_are_not_there(ask: Callable[[Work], Any]) -> None:
    async def work(here: Service) -> Any:
        job = await submitted(here, command="sleep 60")
        other = [
            (await v1(here, "bob", "GET", f"/v1/jobs/{job}")).json(),
            (await v1(here, "bob", "GET", "/v1/jobs")).json(),
            (await v1(here, "bob", "GET", "/v1/jobs/search")).json()["recordsTotal"],
            (await v1(here, "bob", "POST", f"/v1/jobs/{job}/cancel")).status_code,
        ]
        absent = [
            (await v1(here, "bob", "GET", "/v1/jobs/7")).json(),
            {"jobs": []},
            0,
            (await v1(here, "bob", "POST", "/v1/jobs/7/cancel")).status_code,
        ]
        await v1(here, "alice", "POST", f"/v1/jobs/{job}/cancel")
        return other, absent

    other, absent = ask(work)
    assert other == absent == [None, {"jobs": []}, 0, 400]


def test_a_job_is_cancelled_once(ask: Callable[[Work], Any]) -> None:
    async def work(here: Service) -> Any:
        job = await submitted(here, command="sleep 60")
        first = await v1(here, "alice", "POST", f"/v1/jobs/{job}/cancel")
        await here.ended("alice", str(job))
        second = await v1(here, "alice", "POST", f"/v1/jobs/{job}/cancel")
        return job, first, second

    job, first, second = ask(work)
    assert (first.status_code, first.json()) == (
        200,
        {"Message": "Job is requested to cancel.", "id": str(job)},
    )
    assert second.status_code == 400
    assert second.json()["Message"].startswith("Job cannot be cancelled: ")


def test_listings(ask: Callable[[Work], Any]) -> None:
    async def work(here: Service) -> Any:
        ids = [await submitted(here) for _ in range(3)]
        details = "?details=true"
        queries = ("", details, f"{details}&listing=true", f"{details}&limit=0", "?details=1&limit=2",
                   f"{details}&limit=x")  # fmt: skip
        return ids, [(await v1(here, "alice", "GET", f"/v1/jobs{query}")).json() for query in queries]

    ids, (plain, details, listing, none, two, all_of_them) = ask(work)
    latest = ids[::-1]
    assert [job["id"] for job in plain["jobs"]] == latest
    assert list(details) == list(all_of_them) == [str(job) for job in latest]
    assert all(len(job) > 20 for job in details.values())
    assert [job["id"] for job in listing] == latest
    assert (none, list(two)) == ({}, [str(job) for job in latest[:2]])


def test_a_search_counts_all_jobs_and_its_own_page(ask: Callable[[Work], Any]) -> None:
    async def work(here: Service) -> Any:
        for _ in range(3):
            await submitted(here)
        return (await v1(here, "alice", "GET", "/v1/jobs/search?start=1&length=1&draw=4")).json()

    found = ask(work)
    assert len(found["data"]) == 1
    assert (found["recordsTotal"], found["recordsFiltered"], found["draw"]) == (3, 1, 4)


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("POST", "/v1/jobs/submit", 400, "A 'command' is minimally required."),
        ("POST", "/v1/jobs/submit?command=x&num_tasks=0", 400, "Invalid submit request"),
        ("POST", "/v1/jobs/submit?command=x&option_flags=initrc=/x", 400, "shell_options/initrc: "),
        ("POST", "/v1/jobs/submit?command=x&is_launcher=true", 403, "is_launcher is not offered: "),
        ("POST", "/v1/service/stop", 410, "A service of many users is not stopped by one of them"),
        ("GET", "/clusters/other/v1/jobs", 404, "there is no cluster 'other'"),
    ],
)
def test_refusals_have_words(
    ask: Callable[[Work], Any], method: str, path: str, status: int, message: str
) -> None:
    answer = ask(lambda here: v1(here, "alice", method, path))
    assert answer.status_code == status
    assert answer.json()["Message"].startswith(message)


def test_one_of_several_clusters_is_named_in_the_address(ask: Callable[..., Any]) -> None:
    async def work(here: Service) -> Any:
        plain = await v1(here, "alice", "GET", "/v1/nodes")
        return plain, await v1(here, "alice", "GET", "/clusters/two/v1/nodes")

    plain, named = ask(work, "one", "two")
    assert plain.status_code == 409
    assert plain.json() == {
        "Message": "There are several clusters: name one in the address, as http://test/clusters/one",
        "Clusters": ["one", "two"],
    }
    assert named.json() == {"nodes": ["mc-0", "mc-1"]}


WITHOUT_LOGIN = {"/v1/token", "/v1/login/access-token"}


def test_each_route_needs_a_login(ask: Callable[[Work], Any]) -> None:
    async def work(here: Service) -> Any:
        paths = here.app.openapi()["paths"]
        routes = [(method, path) for path in paths if path.startswith("/v1/") for method in paths[path]]
        return {
            path: await here.client.request(method.upper(), path)
            for method, path in routes
            if path not in WITHOUT_LOGIN
        }

    answers = ask(work)
    assert len(answers) == 9
    assert {each.status_code for each in answers.values()} == {401}
    assert all("www-authenticate" in each.headers and "Message" in each.json() for each in answers.values())


def test_tokens_are_for_a_name_and_a_password(tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened_identities(tmp_path) as here:
            here.app.include_router(router)
            await here.add_user("alice")
            form = {"username": "alice", "password": PASSWORD}
            good = await here.client.post("/v1/login/access-token", data=form)
            token = good.json()["access_token"]
            me = await here.client.get("/v2/me", headers={"Authorization": f"Bearer {token}"})
            wrong = [
                await here.client.post("/v1/login/access-token", data={**form, "password": "wrong"}),
                await here.client.post("/v1/login/access-token", json=form),
                await here.client.post("/v1/token"),
            ]
            limited = await here.client.post("/v1/login/access-token", data=form)
            return good, me, wrong, limited

    good, me, wrong, limited = within(work())
    assert set(good.json()) == {"access_token", "token_type"}
    assert (good.headers["cache-control"], me.json()["name"]) == ("no-store", "alice")
    assert [(each.status_code, each.json()) for each in wrong] == [(400, {"Message": "Denied"})] * 3
    assert limited.status_code == 429
    assert limited.json()["Message"].startswith("Too many logins failed")
