"""News for the list of jobs: few, and never without the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from minicluster.database import DatabaseAway
from minicluster.instance.records import Job, JobChange, JobState
from restful.jobs.output.endings import EndReason, FeedEnd
from restful.jobs.output.entries import FeedEntry
from restful.page.job_ticks import MAX_POLLS, ListedChanges, TickEncoder
from restful.store.jobs import JobRecord
from tests.restful.identity.service import within

if TYPE_CHECKING:
    from collections.abc import Sequence


class Source:
    """A reader of changes that are there at once."""

    lapsed = opened = failure = None

    def __init__(self, *batches: Sequence[FeedEntry[JobChange]]) -> None:
        self.batches = list(batches)
        self.end: FeedEnd | None = None

    async def batch(self, timeout: float) -> Any:
        if self.batches:
            return tuple(self.batches.pop(0))
        self.end = FeedEnd(EndReason.CLOSED)
        return None


class Listed:
    """A list that has the records of each question, the last ones for ever."""

    def __init__(self, *answers: dict[int, JobRecord] | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, ids: Sequence[int]) -> dict[int, JobRecord]:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return {each: answer[each] for each in ids if each in answer}


def entry(sequence: int, *jobs: Job) -> FeedEntry[JobChange]:
    return FeedEntry(sequence, tuple(JobChange(job, ()) for job in jobs), 10)


def record(number: int, state: JobState, owner: str = "alice") -> dict[int, JobRecord]:
    return {number: JobRecord("mc", "i", number, owner, status=int(state))}


def reader(source: Source, listed: Listed, user: str | None = "alice") -> ListedChanges:
    return ListedChanges(source, listed, user, 0.001, 0.001)  # type: ignore[arg-type]  # what it uses of one


def test_changes_that_come_together_are_one_entry() -> None:
    async def test() -> None:
        jobs = [Job(number, JobState.RUN) for number in (7, 8)]
        listed = Listed({**record(7, JobState.RUN), **record(8, JobState.RUN, "bob")})
        found = reader(Source([entry(1, *jobs), entry(2, jobs[0])], []), listed)
        batches = [await found.batch(1.0) for _ in range(3)]
        assert batches[1:] == [(), None]
        (together,) = batches[0] or ()
        assert (together.sequence, [each.job and each.job.id for each in together.items]) == (2, [7, 7])
        assert found.end == FeedEnd(EndReason.CLOSED)

    within(test())


@pytest.mark.parametrize(
    ("user", "owner", "count"), [("alice", "alice", 1), ("alice", "bob", 0), (None, "bob", 1)]
)
def test_a_change_is_of_those_who_see_the_job(user: str | None, owner: str, count: int) -> None:
    async def test() -> None:
        found = reader(Source([entry(1, Job(7, JobState.RUN))]), Listed(record(7, JobState.RUN, owner)), user)
        batch = await found.batch(1.0)
        assert [len(each.items) for each in batch or ()] == [count]

    within(test())


def test_a_change_comes_once_the_list_has_it() -> None:
    async def test() -> None:
        listed = Listed({}, record(7, JobState.SCHED), record(7, JobState.RUN))
        await reader(Source([entry(1, Job(7, JobState.RUN))]), listed).batch(1.0)
        assert listed.asked == 3
        never = Listed({})
        batch = await reader(Source([entry(1, Job(7, JobState.RUN))]), never).batch(1.0)
        assert (never.asked, [len(each.items) for each in batch or ()]) == (MAX_POLLS, [1])

    within(test())


def test_a_list_that_cannot_be_read_ends_the_stream() -> None:
    async def test() -> None:
        found = reader(Source([entry(1, Job(7, JobState.RUN))]), Listed(DatabaseAway("locked")))
        assert await found.batch(1.0) is None
        assert found.end == FeedEnd(EndReason.AWAY)

    within(test())


def test_the_first_event_comes_without_a_change() -> None:
    form = TickEncoder(2.0)
    assert form.start() == b"retry: 2000\n\n"
    job = Job(7, JobState.RUN)
    sent = [b"".join(form.entry(each)) for each in (entry(1), entry(2), entry(3, job, job))]
    assert sent == [b"event: jobs\ndata: 0\n\n", b"", b"event: jobs\ndata: 2\n\n"]
