"""How often the database is asked: requests about many jobs, and submits, have few statements."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Engine, event

from broker_config.formats.jobid import f58plain, parse
from minicluster.instance.records import Job, JobResult, JobState
from restful.clusters.projection import projected
from restful.jobs import filters
from restful.jobs.cursor import PagePosition
from restful.jobs.filters import Filters
from restful.store import jobs
from tests.restful.authorization.requests import Sent
from tests.restful.authorization.service import FIRST_JOB, SHARED, opened
from tests.restful.authorization.users import Asker, shown_by
from tests.restful.identity.service import within

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.restful.authorization.requests import Answer
    from tests.restful.authorization.service import Everything

C = f"/v2/clusters/{SHARED}"
MANY = 400


@contextlib.contextmanager
def statements() -> Iterator[list[tuple[str, str]]]:
    """Give the statements of the block, each with the name of its thread."""
    found: list[tuple[str, str]] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        found.append((" ".join(statement.split()), threading.current_thread().name))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def asked(
    here: Everything, method: str, path: str, body: object = None, **query: str
) -> tuple[Answer, list[tuple[str, str]]]:
    """Return the answer to alice's request, and the statements that it had."""
    shown = await shown_by(here.identities, Asker.OWNER, here.users["alice"])
    headers = {"authorization": f"Bearer {shown.bearer}"}
    await here.ask(Sent("GET", f"{C}/queues", headers))  # who she is, is in memory from now on
    with statements() as found:
        answer = await here.ask(Sent(method, path, headers, query, body=body))
    return answer, found


def test_many_jobs_are_found_at_once(tmp_path: Path) -> None:
    async def work() -> tuple[Counter[int], list[tuple[str, str]]]:
        async with opened(tmp_path) as here:
            ids = [here.job_of[SHARED, "alice"], here.job_of[SHARED, "dave"], "no id"]
            ids += [f58plain(FIRST_JOB + (1 << 20) + number) for number in range(MANY)]
            answer, found = await asked(here, "POST", f"{C}/jobs:cancel", {"ids": ids})
            return Counter(each["status"] for each in answer.json()["results"]), found

    statuses, found = within(work())
    assert statuses == {202: 1, 404: MANY + 2}
    assert [text for text, _ in found if text.startswith("SELECT job.")] == [
        text for text, _ in found if " job.id IN " in text
    ]
    assert len([text for text, _ in found if " job.id IN " in text]) == 1
    assert len([text for text, _ in found if text.startswith("INSERT INTO audit ")]) == 1


def test_no_restart_is_asked_for_of_a_job_that_was_completed(tmp_path: Path) -> None:
    async def work() -> tuple[bytes, list[tuple[str, str]]]:
        async with opened(tmp_path) as here:
            jobid = here.job_of[SHARED, "alice"]
            ended = Job(parse(jobid), JobState.INACTIVE, name="ended", result=JobResult.COMPLETED)
            here.instances[SHARED].known[ended.id] = ended
            async with here.services.database.write() as connection:
                cluster = here.services.clusters.get(SHARED)
                assert cluster is not None
                known = await jobs.by_ids(connection, cluster.id, cluster.row.instance, [ended.id])
                await jobs.put(connection, [projected(known[ended.id], ended)])
            answer, found = await asked(here, "GET", f"{C}/jobs/{jobid}/output")
            return answer.body, found

    body, found = within(work())
    assert body == b"output of ended\n"
    assert [text for text, _ in found if " job.request IN " in text] == []


def test_a_submit_has_two_transactions_of_one_thread(tmp_path: Path) -> None:
    """Where each statement changed threads, 32 clients had a twentieth of what the instance takes."""

    async def work() -> tuple[int, list[tuple[str, str]]]:
        async with opened(tmp_path) as here:
            answer, found = await asked(here, "POST", f"{C}/jobs", {"command": ["true"]})
            return answer.status, found

    status, found = within(work())
    written = [text for text, thread in found if thread.startswith("database")]
    assert status == 201
    assert written.count("BEGIN IMMEDIATE") == 2
    assert [text for text, _ in found if "request_key" in text] == [
        text for text in written if "request_key" in text
    ]
    assert len(written) <= 18


@pytest.mark.parametrize(
    ("query", "in_the_loop"),
    [
        ({}, True),
        ({"limit": "199"}, True),
        ({"limit": "200"}, False),
        ({"state": "active"}, True),
        ({"name": "sim-1"}, True),
        ({"name": "sim-*"}, False),
        ({"queue": "batch"}, True),
        ({"queue": "batch", "state": "active"}, False),
        ({"since": "1", "until": "2"}, True),
        ({"since": "1", "queue": "batch"}, False),
    ],
)
def test_a_page_is_read_in_the_loop_where_an_index_has_just_that(
    tmp_path: Path, query: dict[str, str], *, in_the_loop: bool
) -> None:
    """What may pass over all jobs of a cluster is read by another thread."""

    async def work() -> tuple[int, list[tuple[str, str]]]:
        async with opened(tmp_path) as here:
            answer, found = await asked(here, "GET", f"{C}/jobs", **query)
            return answer.status, found

    status, found = within(work())
    (thread,) = [thread for text, thread in found if " FROM job " in text]
    assert (status, thread == threading.current_thread().name) == (200, in_the_loop)


async def announce(here: Everything) -> None:
    """Commit that a job of the cluster has changed."""
    database, cluster = here.services.database, here.services.clusters.get(SHARED)
    assert cluster is not None
    async with database.write() as connection:
        await database.notify(connection, jobs.channel(cluster.id))


def test_a_page_is_read_once_until_a_job_changes(tmp_path: Path) -> None:
    async def work() -> list[tuple[int, int]]:
        async with opened(tmp_path) as here:
            found = []
            for change in (False, False, True, False):
                if change:
                    await announce(here)
                answer, asked_for = await asked(here, "GET", f"{C}/jobs")
                found.append((answer.status, sum(" FROM job " in text for text, _ in asked_for)))
            return found

    assert within(work()) == [(200, 1), (200, 0), (200, 1), (200, 0)]


def test_a_statement_is_made_once_for_all_queries_of_a_kind() -> None:
    """To make one of five statuses takes five times as long as to run it, and leaves much to collect."""
    position = PagePosition(1.0, 2)
    first = filters.page("C", Filters("alice", (1, 2)), position, 50, sqlite=True)
    second = filters.page("D", Filters("dave", (4, 8)), PagePosition(3.0, 4), 10, sqlite=True)
    assert first.statement is second.statement
    assert first.statement is not filters.page("C", Filters("alice", (1, 2)), None, 50, sqlite=True).statement
    assert second.values == {
        "cluster": "D", "owner": "dave", "status0": 4, "status1": 8, "limit": 10, "t_listed": 3.0, "id": 4,
    }  # fmt: skip
