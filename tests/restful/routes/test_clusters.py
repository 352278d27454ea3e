"""Clusters, nodes, queues, use and health; and a cluster that is away."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.database import DatabaseAway
from minicluster.instance.errors import InstanceGone
from restful.clusters.spec import ClusterSpec
from restful.settings import RequestLimits
from tests.restful.jobs.service import BASE, FAST, USERS, C, opened, spec_of, within

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.instance.port import Instance
    from tests.conformance.laboratory import Laboratory


def no_instance() -> Instance:
    """Reach nothing."""
    raise InstanceGone("local:///nowhere: no broker answers")


AWAY = ClusterSpec("mc", no_instance, base=BASE)


def test_clusters_and_their_nodes_and_queues(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> list[Any]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            paths = ("/v2/clusters", C, "/nodes", "/queues", "/stats", "/healthz", "/readyz")
            answers = [await here.ask("alice", "GET", path) for path in paths]
            answers.append(await here.ask("olga", "GET", "/stats"))
            return [answer.json() for answer in answers]

    clusters, cluster, nodes, queues, stats, health, ready, all_stats = within(work())
    assert clusters == {"clusters": [cluster]}
    assert (cluster["name"], cluster["tenancy"], cluster["state"]) == ("mc", "shared", "ready")
    assert [node["host"] for node in nodes["nodes"]] == ["mc-0", "mc-1"]
    assert nodes["resources"]["all"] == {"nodes": 2, "cores": 4, "gpus": 2}
    assert queues["queues"][0]["name"] == "default"
    assert (stats["own"], stats["all"]) == ({"pending": 0, "running": 0, "inactive": 0}, None)
    assert all_stats["all"]["pending"] == 0
    assert health == ready == {"status": "ok"}


def test_operators_drain_nodes_and_stop_queues_and_users_do_not(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:

            async def code(user: str, path: str, **more: Any) -> int:
                return (await here.ask(user, "POST", path, **more)).status_code

            drained = await code("olga", "/nodes/mc-1/drain", json={"reason": "disk"})
            nodes = (await here.ask("alice", "GET", "/nodes")).json()["nodes"]
            stopped = await code("olga", "/queues/default/stop", json={"reason": "lunch"})
            queues = (await here.ask("alice", "GET", "/queues")).json()["queues"]
            rest = [
                await code("alice", "/nodes/mc-1/undrain"),
                await code("olga", "/nodes/mc-1/undrain"),
                await code("olga", "/nodes/mc-1/undrain"),
                await code("olga", "/nodes/nope/drain"),
                await code("olga", "/queues/nope/start"),
                await code("olga", "/queues/default/start"),
            ]
            return drained, nodes[1]["drained"]["reason"], stopped, queues[0]["stop_reason"], rest

    assert within(work()) == (204, "disk", 204, "lunch", [403, 204, 409, 404, 404, 204])


def test_use_is_counted_by_day_and_by_user(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", ["sleep", "0.1"], tasks=2, nodes=2)
            job = await here.ended("alice", jobid)
            by_day = await here.ask("alice", "GET", "/v2/usage")
            by_user = await here.ask("olga", "GET", "/v2/usage", params={"by": "user", "user": "*"})
            others = await here.ask("bob", "GET", "/v2/usage", params={"user": USERS["alice"].user})
            return job, by_day.json()["usage"], by_user.json()["usage"], others

    job, by_day, by_user, others = within(work())
    took = 2 * (job["t_cleanup"] - job["t_run"])
    assert sum(each["node_seconds"] for each in by_day) == pytest.approx(took)
    assert by_user == [
        {
            "user": USERS["alice"].user,
            "node_seconds": pytest.approx(took),
            "core_seconds": pytest.approx(took),
        }
    ]
    assert (others.status_code, others.json()["detail"]) == (
        403,
        "user: others' use needs the scope jobs:read:all",
    )


def test_while_an_instance_is_away_history_is_there_and_nothing_is_submitted(tmp_path: Path) -> None:
    async def work() -> list[Any]:
        async with opened(tmp_path, AWAY, caught_up=False) as here:
            cluster = next(iter(here.services.clusters))
            async with asyncio.timeout(60):
                while "no broker" not in cluster.connection.reason:
                    await asyncio.sleep(0)
            return [
                await here.ask("alice", "POST", "/jobs", json={"command": ["true"]}),
                await here.ask("alice", "GET", "/nodes"),
                await here.ask("alice", "GET", "/jobs"),
                await here.ask("alice", "GET", C),
            ]

    submitted, nodes, jobs, cluster = within(work())
    for answer in (submitted, nodes):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json()["detail"] == "cluster mc: local:///nowhere: no broker answers"
    assert jobs.json() == {"jobs": [], "next": None}
    assert cluster.json()["state"] == "away"


def test_a_submit_goes_on_once_its_instance_is_back(embedded: Laboratory, tmp_path: Path) -> None:
    there = asyncio.Event()

    def connect() -> Instance:
        return embedded.connect() if there.is_set() else no_instance()

    async def work() -> tuple[int, int, int]:
        async with opened(tmp_path, ClusterSpec("mc", connect, base=BASE), caught_up=False) as here:
            key = {"Idempotency-Key": "k"}
            away = await here.ask("alice", "POST", "/jobs", json={"command": ["true"]}, headers=key)
            there.set()
            await asyncio.wait_for(next(iter(here.services.clusters)).caught_up.wait(), 60)
            back = await here.ask("alice", "POST", "/jobs", json={"command": ["true"]}, headers=key)
            jobs = await here.ask("alice", "GET", "/jobs")
            return away.status_code, back.status_code, len(jobs.json()["jobs"])

    assert within(work()) == (503, 201, 1)


PROBLEMS = {
    "no path": ("alice", "GET", "/v2/nothing", 404, "there is nothing at this path"),
    "no method": ("alice", "DELETE", C, 405, "DELETE is not offered here"),
    "no cluster": ("alice", "GET", "/v2/clusters/no/jobs", 404, "there is no cluster 'no'"),
    "no id": ("alice", "GET", "/jobs/x", 404, "there is no job 'x' here"),
    "nobody": ("nobody", "GET", "/jobs", 401, "Log in, or send a token"),
}


def test_every_error_is_a_problem(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> list[Any]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            return [await here.ask(*request) for *request, _, _ in PROBLEMS.values()]

    for answer, (*_, status, words) in zip(within(work()), PROBLEMS.values(), strict=True):
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert answer.json()["detail"] == words


def test_what_nobody_expected_is_a_problem_without_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> list[Any]:
        async with opened(tmp_path) as here:
            answers = []
            for error in (ValueError("s3cret"), DatabaseAway("the database s3cret was locked")):

                async def fail(*_: Any, error: Exception = error) -> None:
                    raise error

                monkeypatch.setattr(type(here.services.views), "clusters", fail)
                answers.append(await here.ask("alice", "GET", "/v2/clusters"))
            return answers

    failed, database = within(work())
    assert (failed.status_code, failed.json()["type"]) == (500, "/problems/internal")
    assert (database.status_code, database.headers["retry-after"]) == (503, "2")
    assert "s3cret" not in failed.text + database.text
    assert "s3cret" in caplog.text


def test_a_user_who_asks_too_often_waits(tmp_path: Path) -> None:
    settings = replace(FAST, requests=RequestLimits(requests_per_second=0.5, burst=2))

    async def work() -> list[Any]:
        async with opened(tmp_path, settings=settings, now=lambda: 1000.0) as here:
            alices = [await here.ask("alice", "GET", "/v2/clusters") for _ in range(3)]
            return [*alices, await here.ask("bob", "GET", "/v2/clusters")]

    *_, third, bobs = answers = within(work())
    assert [each.status_code for each in answers] == [200, 200, 429, 200]
    assert bobs.json() == {"clusters": []}
    assert third.headers["retry-after"] == "2"
    assert "the limit is 0.5 requests a second, and 2 at once" in third.json()["detail"]


def test_the_document_has_every_route_with_its_problems_and_nothing_dangles(tmp_path: Path) -> None:
    async def work() -> dict[str, Any]:
        async with opened(tmp_path) as here:
            document: dict[str, Any] = (await here.ask("alice", "GET", "/openapi.json")).json()
            return document

    document = within(work())
    text = json.dumps(document)
    schemas = document["components"]["schemas"]
    references = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert references <= schemas.keys()
    assert "HTTPValidationError" not in text
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            found = set(operation["responses"])
            if operation["tags"][0] not in ("jobs", "clusters", "nodes", "queues", "usage"):
                continue
            assert {"401", "403", "404", "429", "431", "503"} <= found, (method, path)
            assert ("requestBody" not in operation) or {"400", "408", "413", "422"} <= found, (method, path)
            assert ("{cluster}" not in path) or operation["summary"]
