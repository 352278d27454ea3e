"""What is asked of many jobs, also of brokers of release 0.1.0, which know less."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from minicluster.instance import job_changes, user_attributes
from minicluster.instance.errors import RequestRefused
from minicluster.instance.job_logs import JobLogs
from minicluster.instance.records import JobFilter
from minicluster.instance.rpc_jobs import RpcJobs

JSON = dict[str, Any]
Answers = dict[str, Callable[[JSON], Any]]


class Links:
    """Answers by topic; a topic without an answer is not served."""

    engine = "flux"

    def __init__(self, answers: Answers) -> None:
        self.asked: list[tuple[str, JSON]] = []
        self._answers = answers

    def rpc(self, topic: str, payload: JSON) -> JSON:
        self.asked.append((topic, payload))
        if topic not in self._answers:
            raise RequestRefused(topic, errno.ENOSYS, f"No service matching {topic} is registered")
        answer: JSON = self._answers[topic](payload)
        return answer

    def stream(self, topic: str, payload: JSON) -> contextlib.AbstractContextManager[Iterator[JSON]]:
        return Items(iter(self._answers[topic](payload)))


class Items(contextlib.nullcontext[Iterator[JSON]]):
    """A stream of these."""

    def __next__(self) -> JSON:
        return next(self.enter_result)


def lookup(wanted: JSON) -> JSON:
    if wanted["id"] > 2:
        raise RequestRefused("job-info.lookup", errno.ENOENT)
    return {"jobspec": json.dumps({"attributes": {"user": {"id": wanted["id"]}}})}


def test_a_broker_of_the_last_release_is_asked_for_one_job_after_the_other() -> None:
    links: Any = Links({"job-info.lookup": lookup})
    assert user_attributes.of(links, [1, 2, 3]) == {1: {"id": 1}, 2: {"id": 2}}


def test_many_jobs_are_asked_for_in_few_requests() -> None:
    answer = {user_attributes.TOPIC: lambda ask: {"jobs": [{"id": each, "user": {}} for each in ask["ids"]]}}
    links: Any = Links(answer)
    assert user_attributes.of(links, range(600)).keys() == set(range(600))
    assert len(links.asked) == 3


def test_another_refusal_is_raised() -> None:
    def refuse(_wanted: JSON) -> JSON:
        raise RequestRefused(user_attributes.TOPIC, errno.EIO, "the disk is gone")

    links: Any = Links({user_attributes.TOPIC: refuse})
    with pytest.raises(RequestRefused, match="the disk is gone"):
        user_attributes.of(links, [1])


def test_a_job_that_has_ended_is_awaited_in_a_listing_that_is_behind() -> None:
    """Real Flux's job-list follows the job manager; the journal has no job that has ended since."""
    entry = {"id": 1, "state": 64, "result": 1, "t_inactive": 9.0}
    links: Any = Links(
        {
            "job-manager.events-journal": lambda _: [{"id": -1, "events": []}],
            "job-list.list": lambda _: [{"jobs": [{"id": 1, "state": 32}]}],
            "job-list.list-id": lambda wanted: {"job": entry} if wanted["state"] == 64 else {},
            "job-info.lookup": lookup,
        }
    )
    first, last, *none = job_changes.changes(links, 5.0)
    assert first.job is not None
    assert (first.job.t_inactive, first.job.attributes, last.job, none) == (9.0, {"id": 1}, None, [])


def test_a_broker_of_the_last_release_lists_all_jobs_and_those_of_a_time_are_chosen_here() -> None:
    """The limit counts what is chosen."""
    jobs = [{"id": each, "state": 8, "t_submit": float(each)} for each in range(6)]

    def listing(wanted: JSON) -> list[JSON]:
        if wanted["constraint"] != {"and": []}:
            raise RequestRefused("job-list.list", errno.EPROTO, "constraint object invalid")
        return [{"jobs": jobs[: wanted["max_entries"] or None]}]

    links: Any = Links({"job-list.list": listing})
    found = RpcJobs(links, JobLogs(links)).find(JobFilter(submitted=(2.0, 5.0)), 2)
    assert [job.id for job in found] == [2, 3]


def test_another_refusal_of_a_listing_is_raised() -> None:
    def refuse(_wanted: JSON) -> list[JSON]:
        raise RequestRefused("job-list.list", errno.EPROTO, "no such attribute")

    links: Any = Links({"job-list.list": refuse})
    with pytest.raises(RequestRefused, match="no such attribute"):
        RpcJobs(links, JobLogs(links)).find(JobFilter())
