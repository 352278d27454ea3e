"""Clusters that are deleted, or not served yet: their jobs' records stay, and whoever asks learns why."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from restful.clusters import former
from restful.clusters.former import Absence
from restful.clusters.spec import ClusterSpec, Tenancy
from restful.identity.scopes import GrantRole
from restful.store import clusters as rows
from restful.store import request_keys
from restful.store.clusters import ClusterRow
from tests.conformance.laboratory import Laboratory
from tests.restful.jobs.service import FAST, USERS, C, EveryoneUses, Service, opened, spec_of, within

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.instance.port import Instance

DELETED = "its MiniCluster was deleted"
AWAY = "the MiniClusters of its namespace are not known yet"


def gone(here: Service) -> None:
    """Have the service show clusters that it does not serve as deleted."""
    here.services.clusters.not_served.absence = lambda _: Absence(DELETED, gone=True)


async def answers(here: Service, jobid: str) -> dict[str, tuple[int, str]]:
    """Return how requests about a cluster and its job are answered."""
    asked = {
        "cluster": ("GET", C),
        "jobs": ("GET", "/jobs"),
        "job": ("GET", f"/jobs/{jobid}"),
        "output": ("GET", f"/jobs/{jobid}/output"),
        "jobspec": ("GET", f"/jobs/{jobid}/jobspec"),
        "cancel": ("POST", f"/jobs/{jobid}/cancel"),
        "nodes": ("GET", "/nodes"),
    }
    found: dict[str, tuple[int, str]] = {}
    for name, (method, path) in asked.items():
        answer = await here.ask("alice", method, path)
        found[name] = (answer.status_code, answer.json().get("detail", ""))
    submitted = await here.ask("alice", "POST", "/jobs", json={"command": ["true"]})
    found["submit"] = (submitted.status_code, submitted.json()["detail"])
    return found


def test_of_a_deleted_cluster_the_records_of_jobs_are_left(embedded: Laboratory, tmp_path: Path) -> None:
    """A job that ran has ended, and nothing is reserved any more."""

    async def work() -> tuple[dict[str, tuple[int, str]], dict[str, Any], Any]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", ["sleep", "600"])
            await here.until("alice", jobid, lambda job: job.get("state") == "RUN")
            cluster = next(iter(here.services.clusters))
            gone(here)
            await here.services.clusters.retire("mc", DELETED)
            job = (await here.ask("alice", "GET", f"/jobs/{jobid}")).json()
            async with here.services.database.read() as connection:
                pending = await request_keys.pending(connection, cluster.id)
            await asyncio.to_thread(embedded_cancel, embedded, jobid)
            return await answers(here, jobid), job, (pending, cluster.gone)

    found, job, (pending, is_gone) = within(work())
    nothing = (404, f"cluster mc: {DELETED}")
    assert found["nodes"] == found["submit"] == nothing
    assert found["output"] == (410, "The instance that ran this job is gone, and its output with it.")
    assert found["jobspec"][0] == 410
    assert found["cancel"][0] == 409
    assert {found[each][0] for each in ("cluster", "jobs", "job")} == {200}
    assert (job["result"], job["exception"]["type"]) == ("FAILED", "lost")
    assert (pending, is_gone) == ([], True)


def embedded_cancel(laboratory: Laboratory, jobid: str) -> None:
    """Leave the instance without the job."""
    laboratory.run_line(f"flux cancel {jobid}")


def test_it_is_listed_no_longer_and_its_state_is_shown(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> tuple[Any, Any]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            gone(here)
            await here.services.clusters.retire("mc", DELETED)
            listed = (await here.ask("alice", "GET", "/v2/clusters")).json()
            return listed["clusters"], (await here.ask("alice", "GET", C)).json()

    listed, shown = within(work())
    assert listed == []
    assert (shown["state"], shown["reason"]) == ("gone", DELETED)


def test_what_is_not_known_yet_is_away(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            await here.services.clusters.remove("mc")
            here.services.clusters.not_served.absence = lambda _: Absence(AWAY, gone=False)
            return await here.ask("alice", "GET", "/nodes")

    answer = within(work())
    assert (answer.status_code, answer.json()["detail"]) == (503, f"cluster mc: {AWAY}")
    assert int(answer.headers["retry-after"]) >= 1


def test_without_a_grant_it_is_as_one_that_never_was(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> list[Any]:
        grants = EveryoneUses({USERS["bob"].user: {}})
        async with opened(tmp_path, spec_of(embedded), grants=grants) as here:
            gone(here)
            await here.services.clusters.retire("mc", DELETED)
            return [
                (await here.ask("bob", "GET", path)).json()["detail"] for path in (C, "/v2/clusters/never")
            ]

    first, second = within(work())
    assert (first, second) == ("there is no cluster 'mc'", "there is no cluster 'never'")


def test_somebodys_own_cluster_is_his_when_it_is_gone(embedded: Laboratory, tmp_path: Path) -> None:
    alice, bob = USERS["alice"].user, USERS["bob"].user
    everywhere = {"*": frozenset({GrantRole.USE})}

    async def work() -> list[int]:
        spec = spec_of(embedded, tenancy=Tenancy.OWN, owner=alice)
        async with opened(tmp_path, spec, grants=EveryoneUses({alice: {}, bob: everywhere})) as here:
            gone(here)
            await here.services.clusters.retire("mc", DELETED)
            return [(await here.ask(name, "GET", "/jobs")).status_code for name in ("alice", "bob")]

    assert within(work()) == [200, 404]


def test_one_that_comes_again_is_served(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> str:
        async with opened(tmp_path, spec_of(embedded)) as here:
            gone(here)
            await here.services.clusters.retire("mc", DELETED)
            assert (await here.ask("alice", "GET", C)).json()["state"] == "gone"
            await here.services.clusters.add(spec_of(embedded))
            cluster = here.services.clusters.get("mc")
            assert cluster is not None
            await asyncio.wait_for(cluster.caught_up.wait(), 60)
            return str((await here.ask("alice", "GET", C)).json()["state"])

    assert within(work()) == "ready"


@pytest.mark.parametrize("asked", [former.MAX_REMEMBERED + 1])
def test_few_are_remembered(asked: int, tmp_path: Path) -> None:
    async def work() -> int:
        async with opened(tmp_path) as here:
            gone(here)
            async with here.services.database.write() as connection:
                for number in range(asked):
                    row = ClusterRow(f"{number:026}", f"c{number}", "", "", "shared", "", "", "", 0.0)
                    await rows.add(connection, row)
            for number in range(asked):
                assert await here.services.clusters.former(f"c{number}") is not None
            return len(here.services.clusters.not_served._found)

    assert within(work()) == former.MAX_REMEMBERED


def test_another_life_of_a_name_is_another_instance(
    embedded: Laboratory, short_folder: Path, tmp_path: Path
) -> None:
    """With another UID its jobs stay apart; one that knows the former one's jobs was restored from it."""
    other = Laboratory("embedded", embedded.flux, short_folder / "life", reached="embedded")
    other.start()

    async def served(uid: str, laboratory: Laboratory, here: Service) -> str:
        await here.services.clusters.add(spec_of(laboratory, uid=uid))
        cluster = here.services.clusters.get("mc")
        assert cluster is not None
        await asyncio.wait_for(cluster.caught_up.wait(), 60)
        return cluster.row.instance

    async def work() -> tuple[list[str], tuple[int, str]]:
        async with opened(tmp_path) as here:
            found = [await served("u1", embedded, here)]
            jobid = await here.submit("alice", ["echo", "first"])
            await here.ended("alice", jobid)
            found += [await served("u2", embedded, here), await served("u3", other, here)]
            answer = await here.ask("alice", "GET", f"/jobs/{jobid}/output")
            listed = (await here.ask("alice", "GET", "/jobs")).json()["jobs"]
            assert jobid in {each["id"] for each in listed}
            return found, (answer.status_code, answer.json()["type"])

    try:
        (first, restored, third), output = within(work())
    finally:
        other.stop()
    assert first == restored
    assert third != first
    assert output == (410, "/problems/output-gone")


def test_what_was_away_is_connected_to_at_once_where_there_is_a_reason(tmp_path: Path) -> None:
    attempts: list[None] = []

    def connect() -> Instance:
        attempts.append(None)
        raise ConnectionError("away")

    async def work() -> int:
        slow = replace(FAST, clusters=replace(FAST.clusters, first_retry=1000.0, last_retry=1000.0))
        async with opened(tmp_path, ClusterSpec("mc", connect), settings=slow, caught_up=False) as here:
            async with asyncio.timeout(30):
                for count in (1, 2, 3):
                    while len(attempts) < count:
                        await asyncio.sleep(0.005)
                    cluster = here.services.clusters.get("mc")
                    assert cluster is not None
                    while cluster.connection.reason != "away":
                        await asyncio.sleep(0.005)
                    here.services.clusters.awaken("mc")
            return len(attempts)

    assert within(work()) >= 3
