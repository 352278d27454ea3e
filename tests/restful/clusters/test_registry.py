"""How a service keeps its connections, and its projection, while things fail around it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from minicluster.database import DatabaseAway
from minicluster.instance.errors import InstanceGone
from minicluster.instance.port import Instance
from restful.app import create_app
from restful.clusters import instance_calls
from restful.clusters.spec import ClusterSpec
from restful.store import jobs
from restful.store.jobs import JobRecord
from tests.conformance.laboratory import Laboratory
from tests.restful.jobs.service import BASE, C, opened, spec_of, within


def test_a_database_that_fails_delays_the_projection_and_not_the_instance(
    embedded: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, failures = jobs.put, [DatabaseAway("locked"), DatabaseAway("locked")]

    async def put(*arguments: Any) -> None:
        if failures:
            raise failures.pop()
        await real(*arguments)

    async def work() -> tuple[str, str]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            monkeypatch.setattr(jobs, "put", put)
            jobid = await here.submit("alice", ["true"])
            state = (await here.ask("alice", "GET", C)).json()["state"]
            return state, (await here.ended("alice", jobid))["result"]

    assert within(work()) == ("ready", "COMPLETED")
    assert caplog.text.count("its projection waits: locked") == 2


def test_after_a_lost_connection_what_was_missed_is_read(embedded: Laboratory, tmp_path: Path) -> None:
    made: list[Instance] = []

    def connect() -> Instance:
        if len(made) == 1:
            made.append(made[0])
            raise InstanceGone("still away")
        made.append(embedded.connect())
        return made[-1]

    async def work() -> dict[str, Any]:
        async with opened(tmp_path, ClusterSpec("mc", connect, base=BASE)) as here:
            cluster = next(iter(here.services.clusters))
            jobid = await here.submit("alice", ["sh", "-c", "sleep 0.2; exit 2"])
            cluster.caught_up.clear()
            await asyncio.to_thread(made[0].close)
            await asyncio.wait_for(cluster.caught_up.wait(), 60)
            return await here.ended("alice", jobid)

    assert within(work())["returncode"] == 2
    assert len(made) == 3


def test_the_journal_does_not_change_an_owner(tmp_path: Path) -> None:
    """It may have read a job before the submit noted it, and write it afterwards."""

    async def work() -> JobRecord:
        async with opened(tmp_path) as here, here.services.database.write() as connection:
            noted = JobRecord("C", "I", 7, "alice", "R", name="a", bank="b")
            await jobs.submitted(connection, [noted])
            await jobs.put(connection, [JobRecord("C", "I", 7, name="n", nnodes=2)])
            return (await jobs.by_ids(connection, "C", "I", [7]))[7]

    found = within(work())
    assert (found.owner, found.request, found.bank, found.name, found.nnodes) == ("alice", "R", "b", "n", 2)


def test_a_jobspec_that_cannot_be_read_now_is_not_taken_for_none() -> None:
    class Gone:
        jobs: Any

        def jobspec(self, _: int) -> None:
            raise InstanceGone("the broker ended")

    gone: Any = Gone()
    gone.jobs = gone
    with pytest.raises(InstanceGone):
        instance_calls.jobspec(gone, 7)


class TestStart:
    """What a start waits for."""

    def test_who_comes_at_once_finds_the_cluster_connected(
        self, embedded: Laboratory, tmp_path: Path
    ) -> None:
        async def work() -> str:
            async with opened(tmp_path) as here:
                app = create_app(here.services, specs=[spec_of(embedded)])
                async with app.router.lifespan_context(app):
                    return here.services.clusters.get("mc").connection.state  # type: ignore[union-attr]

        assert within(work()) == "ready"

    def test_one_that_is_away_does_not_hold_it_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def connect() -> Instance:
            raise InstanceGone("there is no lead")

        async def work() -> str:
            async with opened(tmp_path) as here:
                app = create_app(here.services, specs=[ClusterSpec("mc", connect, base=BASE)])
                async with app.router.lifespan_context(app):
                    return here.services.clusters.get("mc").connection.reason  # type: ignore[union-attr]

        monkeypatch.setattr("restful.app.FIRST_CONNECTION", 0.05)
        assert within(work()) == "there is no lead"
