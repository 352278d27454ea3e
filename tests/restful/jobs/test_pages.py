"""Pages that are kept: none is answered after a change, or to somebody else, and they are bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from broker_config.formats.job_states import JobState
from restful.jobs.pages import MAX_SIZE, Page, RecentPages
from tests.restful.jobs.service import USERS, Service, opened, spec_of, within

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory


OTHERS = (JobState.RUN, JobState.CLEANUP, JobState.SCHED)
"""What another process writes, which announces it to itself alone."""


def page(jobs: int) -> Page:
    """Return a page of so many jobs."""
    return Page(cast("Any", [object()] * jobs), None)


def test_a_page_is_kept_until_a_change_and_for_one_question() -> None:
    pages, kept = RecentPages(), page(3)
    pages.put("mine", (1, 7), kept)
    asked: list[tuple[str, tuple[int, int]]] = [("mine", (1, 7)), ("yours", (1, 7)), ("mine", (1, 8))]
    assert [pages.get(key, changes) is kept for key, changes in asked] == [True, False, False]
    assert pages.get("mine", (2, 7)) is None, "another process has written meanwhile"


def test_those_that_were_asked_for_longest_ago_are_dropped() -> None:
    pages = RecentPages()
    for number in range(4):
        pages.put(number, (1, 1), page(MAX_SIZE // 4 - 1))
    assert pages.get(0, (1, 1)) is not None
    pages.put("next", (1, 1), page(1))
    assert [each for each in (0, 1, 2, 3, "next") if pages.get(each, (1, 1)) is not None] == [0, 2, 3, "next"]


@pytest.mark.parametrize("jobs", [0, 100])
def test_however_many_are_kept_there_is_room_for_the_next(jobs: int) -> None:
    """Empty pages and those that are read again count as well."""
    pages = RecentPages()
    for number in range(2 * MAX_SIZE):
        pages.put(number % (MAX_SIZE + 1), (1, number), page(jobs))
    kept = sum(pages.get(number % (MAX_SIZE + 1), (1, number)) is not None for number in range(2 * MAX_SIZE))
    assert kept == MAX_SIZE // (jobs + 1)


async def listed(here: Service, user: str, **query: str) -> list[tuple[str, str]]:
    """Return the ids and states of a page's jobs."""
    answer = await here.ask(user, "GET", "/jobs", params=query)
    return [(each["id"], each["state"]) for each in answer.json()["jobs"]]


def test_a_page_has_what_was_answered_before(embedded: Laboratory, tmp_path: Path) -> None:
    """Each answer to a submit or an end is in the next page, and nobody gets another's."""

    async def work() -> None:
        async with opened(tmp_path, spec_of(embedded)) as here:
            mine: list[str] = []
            for _ in range(3):
                assert [each for each, _ in await listed(here, "alice")] == mine
                mine.insert(0, await here.submit("alice", urgency=0))
            assert await listed(here, "bob") == []
            assert [each for each, _ in await listed(here, "olga", owner=USERS["alice"].user)] == mine
            for each in mine:
                assert (each, "INACTIVE") not in await listed(here, "alice")
                await here.ask("alice", "POST", f"/jobs/{each}/cancel")
                await here.ended("alice", each)
                assert (each, "INACTIVE") in await listed(here, "alice")

    within(work())


def test_where_another_process_writes_a_page_is_read_each_time(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> list[list[tuple[str, str]]]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", urgency=0)
            (cluster,) = here.services.clusters
            cluster.cache.clear(current=False)
            found = [await listed(here, "alice")]
            for state in OTHERS:
                async with here.services.database.write() as connection:
                    await connection.exec_driver_sql(f"UPDATE job SET status = {int(state)}")
                found.append(await listed(here, "alice"))
            assert (await here.ask("alice", "POST", f"/jobs/{jobid}/cancel")).status_code == 202
            return found

    assert [page[0][1] for page in within(work())][1:] == [each.name for each in OTHERS]
