"""The order of listings: no job is on two pages, or on none, though its time is known better meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from minicluster.instance.records import Job, JobState
from restful.clusters.projection import projected
from restful.jobs import filters
from restful.jobs.cursor import PagePosition
from restful.jobs.filters import Filters
from restful.store import jobs
from restful.store.jobs import SUBMITTED, JobRecord
from tests.restful.jobs.service import opened, within

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.database import Database

NOTED = [
    JobRecord("C", "I", each, "alice", f"R{each}", SUBMITTED, t_submit=float(each), t_listed=float(each))
    for each in (1, 2, 3, 4)
]
REPORTED = {3: 1.5, 2: 3.9}
"""When an instance says that jobs were submitted: one before the next older, one after the next younger."""


async def note(database: Database) -> None:
    """Write jobs as those are that were submitted just now."""
    async with database.write() as connection:
        for each in NOTED:
            await jobs.submitted(connection, [each])


async def report(database: Database) -> None:
    """Write what the instance says of its jobs."""
    async with database.write() as connection:
        before = await jobs.by_ids(connection, "C", "I", list(REPORTED))
        reported = [Job(each, JobState.SCHED, t_submit=time) for each, time in REPORTED.items()]
        await jobs.put(connection, [projected(before[job.id], job) for job in reported])


async def page(database: Database, wanted: Filters, behind: PagePosition | None = None) -> list[JobRecord]:
    """Return two jobs behind a position."""
    sqlite = database.url.startswith("sqlite")
    statement, values = filters.page("C", wanted, behind, 2, sqlite=sqlite)
    found = await database.rows(statement, values, few=filters.reads_few(wanted, 2))
    return [jobs.record(row) for row in found]


@pytest.mark.parametrize("wanted", [Filters(), Filters("alice", (SUBMITTED, int(JobState.SCHED)))])
def test_what_an_instance_reports_between_two_pages_moves_no_job(tmp_path: Path, wanted: Filters) -> None:
    """By its clock one goes behind the cursor and would come twice, one before it and would not come."""

    async def work() -> tuple[list[JobRecord], list[JobRecord]]:
        async with opened(tmp_path) as here:
            database = here.services.database
            await note(database)
            first = await page(database, wanted)
            await report(database)
            return first, await page(database, wanted, PagePosition(first[-1].t_listed, first[-1].id))

    first, second = within(work())
    assert [each.id for each in first + second] == [4, 3, 2, 1]
    assert [each.t_submit for each in second] == [3.9, 1.0]


def test_jobs_are_of_a_time_by_their_instances_clock(tmp_path: Path) -> None:
    async def work() -> list[list[int]]:
        async with opened(tmp_path) as here:
            database = here.services.database
            await note(database)
            await report(database)
            spans = [Filters(since=3.9), Filters(until=1.6), Filters(since=1.6, until=3.95)]
            return [[each.id for each in await page(database, wanted)] for wanted in spans]

    assert within(work()) == [[4, 2], [3, 1], [2]]
