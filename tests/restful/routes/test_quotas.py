"""Quotas: what admins set, whose jobs they hold for, and what everybody sees of his own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from restful.identity.principal import Role
from restful.store import audit as audit_rows
from restful.store import groups, usage, users
from restful.store.groups import GroupRecord
from restful.store.usage import Charge
from restful.store.users import UserKind, UserRecord, UserState
from tests.restful.jobs.service import USERS, opened, spec_of, within

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory
    from tests.restful.jobs.service import Service

ABSENT = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
ALICE = USERS["alice"].user
GROUP = "01PHYSICS00000000000000000"
NO_LIMITS = {"jobs": None, "queued_jobs": None, "nodes": None, "node_seconds": None, "window": 2_592_000.0}
WAITING = {"command": ["sleep", "60"], "urgency": 0, "time_limit": 3600}
"""A job that does not begin."""


async def with_users(here: Service) -> None:
    """Store the users, and a group with alice in it."""
    async with here.services.database.write() as connection:
        for name, each in USERS.items():
            user = UserRecord(each.user, name, UserKind.USER, Role.USER, UserState.ACTIVE, 0, 0.0)
            await users.add(connection, user)
        await groups.add_group(connection, GroupRecord(GROUP, "physics", 0.0))
        await groups.add_member(connection, GROUP, ALICE)


async def quota(here: Service, **body: Any) -> str:
    """Make a quota, and return its id."""
    answer = await here.ask("root", "POST", "/v2/quotas", json=body)
    assert answer.status_code == 201, answer.text
    found: str = answer.json()["id"]
    return found


def test_a_quota_is_made_changed_and_removed(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await with_users(here)
            body = {"cluster": "mc", "user": ALICE, "jobs": 3, "node_seconds": 7200}
            made = await here.ask("root", "POST", "/v2/quotas", json=body)
            path = f"/v2/quotas/{made.json()['id']}"
            change = {"jobs": None, "nodes": 4}
            changed = await here.ask("root", "PATCH", path, json=change)
            answers = [made, changed, await here.ask("root", "GET", path)]
            lists = [(await here.ask("root", "GET", "/v2/quotas")).json()]
            for cluster in ("mc", "other"):
                listed = await here.ask("root", "GET", "/v2/quotas", params={"cluster": cluster})
                lists.append(listed.json())
            codes = [(await here.ask("root", "DELETE", path)).status_code for _ in range(2)]
            return answers, lists, codes

    (made, changed, read), lists, codes = within(work())
    whole = {
        **NO_LIMITS,
        "id": made.json()["id"],
        "cluster": "mc",
        "user": ALICE,
        "group": None,
        "name": "alice",
    }
    assert (made.status_code, made.json()) == (201, {**whole, "jobs": 3, "node_seconds": 7200.0})
    assert changed.json() == read.json() == {**whole, "nodes": 4, "node_seconds": 7200.0}
    assert lists == [{"quotas": [read.json()]}, {"quotas": [read.json()]}, {"quotas": []}]
    assert codes == [204, 404]


WRONG: dict[str, tuple[Mapping[str, Any], str, str]] = {
    "a user and a group": (
        {"user": ALICE, "group": GROUP}, "/group", "a quota is a user's or a group's"
    ),
    "a user who is not there": ({"user": ABSENT}, "/user", "there is no user of this id"),
    "a group that is not there": ({"group": ABSENT}, "/group", "there is no group of this id"),
    "a cluster that is not there": (
        {"cluster": "mcc"}, "/cluster", "there is no cluster 'mcc'; * is all of them"
    ),
    "fewer than none": ({"jobs": -1}, "/jobs", "Input should be greater than or equal to 0"),
    "an hour": ({"window": 3600}, "/window", "Input should be greater than or equal to 86400"),
    "a text": ({"nodes": "3"}, "/nodes", "Input should be a valid integer"),
    "a truth value": ({"node_seconds": False}, "/node_seconds", "Input should be a valid number"),
    "no window": ({"window": None}, "/window", "Input should be a valid number"),
    "what is not known": ({"running": 1}, "/running", "is not known here"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "path", "message"), WRONG.values(), ids=WRONG)
def test_a_quota_that_cannot_be(
    embedded: Laboratory, tmp_path: Path, body: Mapping[str, Any], path: str, message: str
) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await with_users(here)
            answer = await here.ask("root", "POST", "/v2/quotas", json=body)
            return answer, (await here.ask("root", "GET", "/v2/quotas")).json()

    answer, listed = within(work())
    assert (answer.status_code, answer.json()["errors"]) == (422, [{"path": path, "message": message}])
    assert listed == {"quotas": []}


def test_there_is_one_quota_for_the_same_jobs(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await with_users(here)
            bodies: list[dict[str, Any]] = [
                {"user": ALICE}, {"group": GROUP}, {}, {"cluster": "mc", "user": ALICE}
            ]  # fmt: skip
            return [
                await here.ask("root", "POST", "/v2/quotas", json=body) for body in bodies for _ in range(2)
            ]

    answers = within(work())
    assert [each.status_code for each in answers] == [201, 409] * 4
    assert {each.json()["detail"] for each in answers[1::2]} == {
        "There is a quota for these jobs already: change that one."
    }


def test_users_do_not_see_or_set_quotas(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            path = f"/v2/quotas/{ABSENT}"
            asked = [
                ("GET", "/v2/quotas", None), ("POST", "/v2/quotas", {}), ("GET", path, None),
                ("PATCH", path, {}), ("DELETE", path, None),
            ]  # fmt: skip
            return {
                user: [
                    (await here.ask(user, method, to, json=body)).status_code for method, to, body in asked
                ]
                for user in ("olga", "root")
            }

    assert within(work()) == {"olga": [403] * 5, "root": [200, 201, 404, 404, 404]}


def test_changes_are_in_the_audit_log(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            made = await quota(here, jobs=3)
            await here.ask("root", "PATCH", f"/v2/quotas/{made}", json={"jobs": 4})
            await here.ask("root", "DELETE", f"/v2/quotas/{made}")
            async with here.services.database.read() as connection:
                rows = [each async for each in audit_rows.every(connection)]
            return made, [each for each in rows if each.action.startswith("quota.")]

    made, rows = within(work())
    assert [each.action for each in rows] == ["quota.create", "quota.change", "quota.delete"]
    assert {(each.actor, each.object, each.outcome) for each in rows} == {
        (USERS["root"].user, f"quota:{made}", "ok")
    }
    assert ["jobs=4" in each.detail for each in rows] == [False, True, True]


async def refusal(here: Service, user: str, **job: Any) -> str:
    """Return why a job is not submitted; empty: it was."""
    answer = await here.ask(user, "POST", "/jobs", json={**WAITING, **job})
    if answer.status_code == 201:
        await here.ask(user, "POST", f"/jobs/{answer.json()['id']}/cancel")
        return ""
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/quota")
    detail: str = answer.json()["detail"]
    return detail.partition(":")[0]


def test_the_nearest_quota_holds(embedded: Laboratory, tmp_path: Path) -> None:
    """The user's own, else each of his groups', else everyone's; for a cluster and for all of them."""

    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await with_users(here)
            found = []
            await quota(here, nodes=0)
            found.append([await refusal(here, user) for user in ("alice", "bob")])
            of_group = await quota(here, group=GROUP, queued_jobs=0)
            found.append([await refusal(here, user) for user in ("alice", "bob")])
            own = await quota(here, user=ALICE)
            found.append([await refusal(here, user) for user in ("alice", "bob")])
            await quota(here, cluster="mc", user=ALICE, jobs=0)
            found.append([await refusal(here, "alice")])
            for each in (of_group, own):
                await here.ask("root", "DELETE", f"/v2/quotas/{each}")
            found.append([await refusal(here, "alice")])
            return found

    assert within(work()) == [
        ["quota of 0 nodes", "quota of 0 nodes"],
        ["quota of 0 queued jobs", "quota of 0 nodes"],
        ["", "quota of 0 nodes"],
        ["quota of 0 jobs at a time"],
        ["quota of 0 nodes"],
    ]


def test_a_job_that_runs_is_not_queued(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await quota(here, queued_jobs=1)
            runs = await here.submit("alice", ["sleep", "60"])
            await here.until("alice", runs, lambda job: job["state"] == "RUN")
            waits = await here.submit("alice", **WAITING)
            refused = await refusal(here, "alice")
            for each in (runs, waits):
                await here.ask("alice", "POST", f"/jobs/{each}/cancel")
                await here.ended("alice", each)
            return refused

    assert within(work()) == "quota of 1 queued jobs"


@pytest.mark.parametrize(
    "limits", [{"jobs": 3}, {"queued_jobs": 3}, {"nodes": 3}, {"node_seconds": 3 * 3600}]
)
def test_requests_at_once_do_not_exceed_a_quota(
    embedded: Laboratory, tmp_path: Path, limits: Mapping[str, Any]
) -> None:
    """Two of them are at the limit's edge: one gets the last place."""

    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await quota(here, **limits)
            first = [await here.submit("alice", **WAITING, nodes=1) for _ in range(2)]
            job = {**WAITING, "nodes": 1}
            edge = await asyncio.gather(*(here.ask("alice", "POST", "/jobs", json=job) for _ in range(2)))
            there = [*first, *(each.json()["id"] for each in edge if each.status_code == 201)]
            for each in there:
                await here.ask("alice", "POST", f"/jobs/{each}/cancel")
                await here.ended("alice", each)
            return [each.status_code for each in edge], await refusal(here, "alice", nodes=1)

    codes, after = within(work())
    assert sorted(codes) == [201, 403]
    assert after == ""


def test_ones_own_quotas_and_what_is_used(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await with_users(here)
            await quota(here, group=GROUP, node_seconds=36_000)
            job = await here.submit("alice", **WAITING, nodes=1)
            cluster, today = next(iter(here.services.clusters)), int(here.services.now() // usage.DAY)
            async with here.services.database.write() as connection:
                charges = [Charge(ALICE, today - age, 100.0, 100.0) for age in (0, 40)]
                await usage.add(connection, cluster.id, charges)
            alice = await here.ask("alice", "GET", "/v2/me/quotas")
            bob = await here.ask("bob", "GET", "/v2/me/quotas", params={"cluster": "mc"})
            absent = await here.ask("bob", "GET", "/v2/me/quotas", params={"cluster": "other"})
            await here.ask("alice", "POST", f"/jobs/{job}/cancel")
            await here.ended("alice", job)
            return alice.json(), bob.json(), absent.status_code

    alice, bob, absent = within(work())
    used = {
        "jobs": 1, "queued_jobs": 1, "nodes": 1, "node_seconds": 100.0, "committed_node_seconds": 3600.0
    }  # fmt: skip
    service = {"cluster": "mc", "origin": "service", "group": None, "limits": {**NO_LIMITS, "jobs": 1000}}
    assert alice["quotas"] == [
        {
            "cluster": "*", "origin": "group", "group": "physics",
            "limits": {**NO_LIMITS, "node_seconds": 36_000.0}, "used": used,
        },
        {**service, "used": used},
    ]  # fmt: skip
    assert bob["quotas"] == [{**service, "used": dict.fromkeys(used, 0)}]
    assert absent == 404


def test_a_job_without_a_time_limit_may_use_anything(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            job = await here.submit("alice", **{**WAITING, "time_limit": 0})
            found = (await here.ask("alice", "GET", "/v2/me/quotas")).json()["quotas"]
            await here.ask("alice", "POST", f"/jobs/{job}/cancel")
            await here.ended("alice", job)
            return found[0]["used"]["committed_node_seconds"]

    assert within(work()) is None


def test_a_quota_goes_with_its_user(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await with_users(here)
            await quota(here, user=ALICE, jobs=1)
            async with here.services.database.write() as connection:
                await users.remove(connection, ALICE)
            return (await here.ask("root", "GET", "/v2/quotas")).json()

    assert within(work()) == {"quotas": []}
