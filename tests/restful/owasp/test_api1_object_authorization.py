"""API1:2023, broken object level authorization: somebody else's object is as one that is not there.

That it is so on every route is tried by the matrix: tests/restful/authorization/test_matrix.py. Here is what
takes more than one request of a route.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats.jobid import dothex, f58, kvs, parse
from tests.restful.authorization.objects import ABSENT_JOB
from tests.restful.authorization.requests import Sent
from tests.restful.authorization.service import SHARED, Everything, opened
from tests.restful.authorization.users import Asker
from tests.restful.identity.service import bearer, within
from tests.restful.owasp.document import shown

if TYPE_CHECKING:
    from pathlib import Path

C = f"/v2/clusters/{SHARED}"


async def as_user(here: Everything, asker: Asker, method: str, path: str, **more: Any) -> Any:
    """Send a request with an asker's token."""
    token = (await shown(here, asker)).bearer
    return await here.ask(Sent(method, path, bearer(token), **more))


def test_no_form_of_an_id_shows_more(tmp_path: Path) -> None:
    async def work() -> set[tuple[int, bool]]:
        async with opened(tmp_path) as here:
            other, found = parse(here.job_of[SHARED, "dave"]), set()
            for form in (f58, dothex, kvs, str, hex):
                for end in ("", "/jobspec", "/why", "/output", "/events"):
                    pair = [
                        await as_user(here, Asker.OWNER, "GET", f"{C}/jobs/{form(each)}{end}")
                        for each in (other, ABSENT_JOB)
                    ]
                    same = pair[0].text.replace(form(other), "") == pair[1].text.replace(form(ABSENT_JOB), "")
                    found.add((pair[0].status, same))
            return found

    assert within(work()) == {(404, True)}


def test_of_many_jobs_only_ones_own_are_cancelled(tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path) as here:
            ids = [here.job_of[SHARED, name] for name in ("alice", "dave", "carol")]
            answer = await as_user(here, Asker.OWNER, "POST", f"{C}/jobs:cancel", body={"ids": ids})
            done = [each for each in here.instances[SHARED].done if each[0] == "cancel"]
            return [each["status"] for each in answer.json()["results"]], done, parse(ids[0])

    statuses, done, own = within(work())
    assert statuses == [202, 404, 404]
    assert done == [("cancel", own)]


def test_a_key_of_somebody_else_names_no_job_of_his(tmp_path: Path) -> None:
    """The same Idempotency-Key with the same job, by two users, is two jobs."""

    async def work() -> list[Any]:
        async with opened(tmp_path) as here:
            found = []
            for asker in (Asker.OWNER, Asker.BYSTANDER, Asker.OWNER):
                token = (await shown(here, asker)).bearer
                headers = {**bearer(token), "Idempotency-Key": "the same"}
                answer = await here.ask(Sent("POST", f"{C}/jobs", headers, body={"command": ["true"]}))
                found.append((answer.status, answer.json()["id"], "idempotency-replayed" in answer.headers))
            return found

    first, other, again = within(work())
    assert (first[0], other[0], again[0]) == (201, 201, 201)
    assert first[1] == again[1] != other[1]
    assert (first[2], other[2], again[2]) == (False, False, True)


def test_a_cursor_of_somebody_else_is_none(tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path) as here:
            for _ in range(2):
                await as_user(here, Asker.BYSTANDER, "POST", f"{C}/jobs", body={"command": ["true"]})
            page = await as_user(here, Asker.BYSTANDER, "GET", f"{C}/jobs", query={"limit": "1"})
            cursor = page.json()["next"]
            whole = await as_user(here, Asker.BYSTANDER, "GET", f"{C}/jobs", query={"cursor": cursor})
            changed = f"{'A' if cursor[0] != 'A' else 'B'}{cursor[1:]}"
            return whole.status, [
                (await as_user(here, asker, "GET", f"{C}/jobs", query={"cursor": text})).json()["type"]
                for asker, text in (
                    (Asker.OWNER, cursor),
                    (Asker.BYSTANDER, changed),
                    (Asker.OPERATOR, cursor),
                )
            ]

    status, types = within(work())
    assert status == 200
    assert types == ["/problems/cursor"] * 3


def test_others_use_is_for_operators_of_a_cluster(tmp_path: Path) -> None:
    """An operator by role, who was not granted to operate a cluster, is a user there."""

    async def work() -> Any:
        async with opened(tmp_path) as here:
            found = {}
            for asker in (Asker.OWNER, Asker.BYSTANDER, Asker.OPERATOR, Asker.ADMIN):
                query = {"user": "*", "by": "user"}
                answer = await as_user(here, asker, "GET", "/v2/usage", query=query)
                found[asker] = answer.json().get("usage", answer.status)
            return found, here.users["dave"].id

    found, dave = within(work())
    assert found == {
        Asker.OWNER: 403,
        Asker.BYSTANDER: [],
        Asker.OPERATOR: [{"user": dave, "node_seconds": 3.0, "core_seconds": 4.0}],
        Asker.ADMIN: [{"user": dave, "node_seconds": 6.0, "core_seconds": 8.0}],
    }
