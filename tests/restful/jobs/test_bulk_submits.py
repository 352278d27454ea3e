"""Many jobs in one request: each has its outcome, and is submitted once; what is wrong refuses them all."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.errors import InstanceGone
from minicluster.instance.rpc_bulk import RpcBulk
from restful.jobs.submit import TOGETHER
from restful.settings import JobLimits
from restful.store.audit import AUDIT
from tests.restful.jobs.service import FAST, opened, spec_of, within
from tests.restful.jobs.test_crashes import STEPS, Crash, doomed, dying, names_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory
    from tests.restful.jobs.service import Service


def studies(prefix: str, count: int, **more: Any) -> list[dict[str, Any]]:
    """Return jobs whose names tell which ones they are."""
    return [{"command": ["true"], "name": f"{prefix}{number}", **more} for number in range(count)]


async def sent(here: Service, jobs: list[dict[str, Any]], key: str = "") -> Any:
    """Submit jobs as alice, and return the answer."""
    headers = {"idempotency-key": key} if key else {}
    return await here.ask("alice", "POST", "/jobs:submit", json={"jobs": jobs}, headers=headers)


async def results(here: Service, jobs: list[dict[str, Any]], key: str = "") -> list[dict[str, Any]]:
    """Submit jobs as alice, and return what became of each; again where an earlier one is looked for."""
    while (answer := await sent(here, jobs, key)).status_code == 409:
        await asyncio.sleep(0.02)
    assert answer.status_code == 207, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


def test_each_has_its_outcome(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobs = studies("many-each", 3)
            jobs[1]["queue"] = "nope"
            first, refused, last = await results(here, jobs, "k")
            assert [first["status"], refused["status"], last["status"]] == [201, 422, 201]
            assert (refused["type"], refused["id"]) == ("/problems/invalid", None)
            assert "nope" in refused["detail"]
            for number, each in ((0, first), (2, last)):
                assert (await here.ended("alice", each["id"]))["name"] == f"many-each{number}"
            again = await results(here, jobs, "k")
            assert [each["replayed"] for each in again] == [True, False, True]
            assert [each["id"] for each in again] == [first["id"], None, last["id"]]
            async with here.services.database.read() as connection:
                rows = (await connection.execute(AUDIT.select())).all()
            assert Counter(row.outcome for row in rows if row.action == "job.submit") == {
                "ok": 4,
                "failed": 2,
            }

    within(work())
    assert names_of(embedded, "many-each") == {"many-each0": 1, "many-each2": 1}


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "a field's form": ({"tasks": "two"}, "/jobs/1/tasks", "jobs/1/tasks: "),
    "what the service does not allow": ({"urgency": 31}, "/jobs/1/urgency", "jobs/1: urgency is at most 16"),
    "a dependency on nobody's job": (
        {"dependencies": ["afterok:1"]}, "/jobs/1/dependencies/0", "jobs/1: dependencies: there is no job '1'"
    ),
    "more nodes than tasks": ({"nodes": 2, "tasks": 1}, "/jobs/1", "jobs/1: "),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "path", "words"), WRONG.values(), ids=WRONG)
def test_one_that_is_wrong_refuses_them_all(
    embedded: Laboratory, tmp_path: Path, fields: dict[str, Any], path: str, words: str
) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobs = studies("refused-with-others", 3)
            jobs[1] |= fields
            return await sent(here, jobs)

    answer = within(work())
    assert answer.status_code == 422
    found = answer.json()
    assert found["detail"].startswith(words)
    assert [each["path"] for each in found["errors"]] == [path]
    assert not names_of(embedded, "refused-with-others")


@pytest.mark.parametrize(
    ("jobs", "key", "message"),
    [
        pytest.param([], "", "jobs: List should have at least 1 item", id="none"),
        pytest.param(studies("x", 101), "", "one request submits at most 100 jobs", id="too many"),
        pytest.param(studies("x", 1), "k" * 251, "has 1 to 250 printable characters", id="a long key"),
    ],
)
def test_a_request_that_is_refused_has_the_limit(
    embedded: Laboratory, tmp_path: Path, jobs: list[dict[str, Any]], key: str, message: str
) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            return await sent(here, jobs, key)

    answer = within(work())
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_a_quota_has_room_for_all_or_for_none(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> list[Any]:
        settings = replace(FAST, jobs=JobLimits(active=3))
        async with opened(tmp_path, spec_of(embedded), settings=settings) as here:
            suspended = await results(here, studies("many-room", 2, urgency=0))
            refused = await sent(here, studies("many-none", 2), "k")
            for each in suspended[:1]:
                await here.ask("alice", "POST", f"/jobs/{each['id']}/cancel")
                await here.ended("alice", each["id"])
            found = [refused, await results(here, studies("many-none", 2), "k")]
            await here.ask("alice", "POST", "/jobs:cancel", json={"filter": {}})
            return found

    refused, found = within(work())
    assert refused.status_code == 403
    words = "job 2 of 2 in this request: quota of 3 jobs at a time: 3 have not ended"
    assert refused.json()["detail"].startswith(words)
    assert [each["status"] for each in found] == [201, 201]
    assert names_of(embedded, "many-none") == {"many-none0": 1, "many-none1": 1}


def test_a_key_is_that_of_all_jobs_of_its_request(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> tuple[Any, str, Any]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await results(here, studies("many-key", 2), "k")
            other = await sent(here, studies("many-key", 3), "k")
            alone = await here.submit("alice", name="many-key0", headers={"idempotency-key": "k"})
            return other, alone, await here.ask("bob", "GET", "/jobs", params={"name": "key*"})

    other, alone, of_bob = within(work())
    assert other.status_code == 422
    assert "was used for another request" in other.json()["detail"]
    assert alone
    assert of_bob.json()["jobs"] == []
    assert names_of(embedded, "many-key") == {"many-key0": 2, "many-key1": 1}


@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_each_is_there_once(embedded: Laboratory, tmp_path: Path, step: str) -> None:
    count, prefix = TOGETHER + 3, f"many-crash{tuple(STEPS).index(step)}-"

    async def work() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        async with doomed(tmp_path, spec_of(embedded)) as here:
            with dying(step), pytest.raises(Crash):
                await results(here, studies(prefix, count), "k")
        async with opened(tmp_path, spec_of(embedded)) as here:
            first, again = [await results(here, studies(prefix, count), "k") for _ in range(2)]
            for number, each in enumerate(first):
                assert (await here.ended("alice", each["id"]))["name"] == f"{prefix}{number}"
            return first, again

    first, again = within(work())
    assert {each["status"] for each in (*first, *again)} == {201}
    assert [each["id"] for each in again] == [each["id"] for each in first]
    assert all(each["replayed"] for each in again)
    assert names_of(embedded, prefix) == Counter({f"{prefix}{number}": 1 for number in range(count)})


def test_what_has_no_answer_in_time_is_asked_for_again(
    embedded: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, go_on = RpcBulk.resubmit, threading.Event()

    def slow(self: RpcBulk, *arguments: Any) -> Any:
        found = real(self, *arguments)
        if len(found) < TOGETHER:  # the last ones
            assert go_on.wait(60)
        return found

    async def work() -> tuple[list[dict[str, Any]], Any, list[dict[str, Any]]]:
        settings = replace(FAST, clusters=replace(FAST.clusters, call_seconds=2.0))
        async with opened(tmp_path, spec_of(embedded), settings=settings) as here:
            monkeypatch.setattr(RpcBulk, "resubmit", slow)
            late = await results(here, studies("many-late", TOGETHER + 2), "k")
            meanwhile = await sent(here, studies("many-late", TOGETHER + 2), "k")
            go_on.set()
            cluster = next(iter(here.services.clusters))
            async with asyncio.timeout(60):
                while cluster.under_way:
                    await asyncio.sleep(0.01)
            return late, meanwhile, await results(here, studies("many-late", TOGETHER + 2), "k")

    late, meanwhile, found = within(work())
    assert [each["status"] for each in late[TOGETHER:]] == [503] * 2
    assert {each["status"] for each in late} <= {201, 503}
    assert "send the request again with the same Idempotency-Key" in late[-1]["detail"]
    assert meanwhile.status_code == 409
    assert meanwhile.json()["type"] == "/problems/under-way"
    assert all(each["replayed"] for each in found)
    assert names_of(embedded, "many-late").total() == TOGETHER + 2


def test_one_of_which_nothing_is_known_is_taken_over(
    embedded: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = RpcBulk.resubmit

    def cut(self: RpcBulk, *arguments: Any) -> Any:
        return [*real(self, *arguments)[:-1], InstanceGone("the connection was lost")]

    async def work() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(RpcBulk, "resubmit", cut)
                lost = await results(here, studies("many-lost", 3), "k")
            return lost, await results(here, studies("many-lost", 3), "k")

    lost, found = within(work())
    assert [each["status"] for each in lost] == [201, 201, 503]
    assert lost[2]["detail"] == "cluster mc: the connection was lost"
    assert [each["replayed"] for each in found] == [True, True, True]
    assert names_of(embedded, "many-lost") == {"many-lost0": 1, "many-lost1": 1, "many-lost2": 1}
