"""Changes of one's own jobs: first what there is, then what happens; never anything of another's job."""

from __future__ import annotations

import asyncio
import contextlib
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.client.event_stream import EventParser
from minicluster.instance.records import Event, Job, JobChange, JobState
from restful.errors import HttpProblem
from restful.jobs.output import visible_jobs
from restful.jobs.output.job_changes import ChangeNumbering, FollowedCluster
from restful.jobs.output.visible_jobs import MAX_POLLS, VisibleJobs
from restful.store.jobs import JobRecord
from tests.restful.output.driver import hanging_up, request
from tests.restful.output.scripted import Script, ScriptedStream
from tests.restful.output.service import ALICE, CHANGES, serving

if TYPE_CHECKING:
    from collections.abc import Collection

NOW = 1000.0


def change(jobid: int, time: float, *events: str) -> JobChange:
    job = Job(jobid, JobState.RUN, name=f"job {jobid}", t_submit=1.0, t_run=time)
    return JobChange(job, tuple(Event(jobid, time, name) for name in events))


NEWS = JobChange(None)


class Cluster(Script):
    """A cluster of whose jobs alice has those with an even id."""

    def __init__(self, *history: JobChange) -> None:
        super().__init__()
        self.happened = [*history, NEWS]
        self.since: list[float] = []
        self.broken = False
        self.now = NOW

    def happens(self, *news: JobChange) -> None:
        with self.changed:
            self.happened.extend(news)
            self.changed.notify_all()

    def changes(self, since: float) -> ScriptedStream:
        self.since.append(since)
        stream = ScriptedStream(self, True, 0, lambda index: (self.happened[index],))
        self.streams.add(stream)
        return stream

    def followed_cluster(self) -> FollowedCluster:
        overview: Any = self
        return FollowedCluster("mc", lambda: overview, lambda: self.now, self._mine)

    async def _mine(self, ids: Collection[int]) -> Collection[int]:
        if self.broken:
            raise HttpProblem("database-away")
        return {jobid for jobid in ids if jobid % 2 == 0}


def test_what_there_is_comes_first_and_then_what_happens() -> None:
    async def check() -> None:
        cluster = Cluster(change(2, 900.0), change(3, 901.0), change(4, 899.0))
        async with serving(cluster) as service, hanging_up(request(service.app, CHANGES)) as exchange:
            await exchange.has(b"job 4")
            cluster.happens(change(5, 950.0, "start"), change(2, 951.0, "finish", "release"))
            await exchange.has(b"release")
            events = [(json.loads(each.data), each.id) for each in EventParser().feed(exchange.body)]
            assert [(data["id"], data["events"], last) for data, last in events] == [
                (2, [], ""),
                (4, [], "901000000"),
                (2, ["finish", "release"], "951000000"),
            ]
            assert events[0][0]["state"] == "run"
            assert b"job 3" not in exchange.body
            assert b"job 5" not in exchange.body

    asyncio.run(check())


@pytest.mark.parametrize(("last", "since"), [("", NOW - 60), ("951000000", 891.0), ("5", 1.0)])
def test_who_comes_again_gets_what_has_happened_since(last: str, since: float) -> None:
    async def check() -> None:
        cluster = Cluster(change(2, 952.0))
        headers = {"Last-Event-ID": last}
        async with serving(cluster) as service:
            async with hanging_up(request(service.app, CHANGES, headers=headers)) as exchange:
                await exchange.has(b"job 2")
            assert cluster.since == [since]

    asyncio.run(check())


DAY = 86_400.0
LATER = 10 * DAY


@pytest.mark.parametrize(
    ("after", "since"),
    [
        pytest.param("0", LATER - DAY - 60, id="all of the history"),
        pytest.param("9999999999999999", LATER - 60, id="the future"),
        pytest.param(str(int(1e6 * (LATER - 100))), LATER - 160, id="a short while ago"),
    ],
)
def test_a_client_names_no_time_but_one_of_the_last_day(after: str, since: float) -> None:
    async def check() -> None:
        cluster = Cluster(change(2, LATER - 50))
        cluster.now = LATER
        async with serving(cluster) as service:
            async with hanging_up(request(service.app, f"{CHANGES}?after={after}")) as exchange:
                await exchange.has(b"job 2")
            assert cluster.since == [pytest.approx(since)]

    asyncio.run(check())


@pytest.mark.parametrize("after", ["0", "5", "9999999999999999"])
def test_the_first_reader_of_a_cluster_decides_nothing_for_the_next_one(after: str) -> None:
    async def check() -> None:
        cluster = Cluster(change(2, LATER - 50))
        cluster.now = LATER
        async with serving(cluster) as service:
            first = request(service.app, f"{CHANGES}?after={after}")
            async with hanging_up(first) as early, hanging_up(request(service.app, CHANGES)) as late:
                await early.has(b"job 2")
                await late.has(b"job 2")
                cluster.happens(change(4, LATER + 1, "start"))
                for exchange in (early, late):
                    await exchange.has(b"job 4")
                    ids = [int(each.id) for each in EventParser().feed(exchange.body)]
                    assert ids == [int(1e6 * (LATER - 50)), int(1e6 * (LATER + 1))]
            assert LATER - 60 in cluster.since

    asyncio.run(check())


def test_the_numbers_ascend_whatever_the_times_are() -> None:
    numbering = ChangeNumbering(7)
    items = [NEWS, change(2, 3.0), change(2, 3.0), change(4, 2.0)]
    entries = [entry for each in items if (entry := numbering(each)) is not None]
    assert [entry.sequence for entry in entries] == [8, 3_000_000, 3_000_001, 3_000_002]


def test_where_nobody_knows_whose_jobs_they_are_the_stream_ends() -> None:
    async def check() -> None:
        cluster = Cluster(change(2, 900.0))
        cluster.broken = True
        async with serving(cluster) as service:
            exchange = await request(service.app, CHANGES).ended()
            assert (exchange.status, exchange.body, exchange.complete) == (200, b"retry: 2000\n\n", True)

    asyncio.run(check())


@pytest.mark.parametrize(("there", "polls", "expected"), [(1, 2, {7}), (99, MAX_POLLS, set())])
def test_a_job_that_is_not_listed_yet_is_awaited(
    monkeypatch: pytest.MonkeyPatch, there: int, polls: int, expected: set[int]
) -> None:
    """The projection is behind the journal: without a wait the first changes of a job would be nobody's."""
    asked: list[Collection[int]] = []

    async def by_ids(_connection: object, _cluster: str, _instance: str, ids: Collection[int]) -> Any:
        asked.append(ids)
        return {7: JobRecord("c", "i", 7, ALICE.user)} if len(asked) > there else {}

    async def cluster(*_: object) -> Any:
        return SimpleNamespace(id="c", row=SimpleNamespace(instance="i"), owner=""), frozenset()

    async def test() -> None:
        parts: Any = SimpleNamespace(read=contextlib.nullcontext, cluster=cluster)
        followed = await VisibleJobs(parts, parts, parts, parts, parts).followed_cluster(ALICE, "mc")
        assert await followed.mine({7}) == expected

    monkeypatch.setattr(visible_jobs.stored, "by_ids", by_ids)
    monkeypatch.setattr(visible_jobs, "POLL_INTERVAL", 0.0)
    asyncio.run(test())
    assert asked == [{7}] * polls
