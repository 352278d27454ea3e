"""Many jobs with few requests: each has its outcome, and is submitted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from minicluster.client import RemoteJob
from minicluster.client.bulk import MAX_BODY
from minicluster.client.errors import Invalid, QuotaExceeded, ServerAway, ServiceFailed, ServiceRefused
from tests.client.fake_jobs import JOBS
from tests.client.fake_service import LOST, problem

if TYPE_CHECKING:
    from minicluster.client import Client
    from tests.client.conftest import Clock
    from tests.client.fake_jobs import FakeJobs
    from tests.client.fake_service import Answer, Service

SUBMIT = f"POST {JOBS}:submit"
AWAY = {"status": 503, "id": None, **problem("instance-away", "did not answer in time")}


def studies(count: int, **more: Any) -> list[dict[str, Any]]:
    """Return jobs of a parameter study."""
    return [{"command": ["solve", str(number)], **more} for number in range(count)]


def test_a_request_has_a_hundred(client: Client, jobs: FakeJobs, service: Service) -> None:
    found = client.bulk.submit("mc", studies(250))
    assert [each.id for each in found if isinstance(each, RemoteJob)] == list(jobs.found)
    assert [len(each.json["jobs"]) for each in service.requests] == [100, 100, 50]
    assert len({each.headers["idempotency-key"] for each in service.requests}) == 3


def test_a_request_is_no_larger_than_the_service_takes(
    client: Client, jobs: FakeJobs, service: Service
) -> None:
    large = studies(5, script="#!/bin/sh\n" + "x" * (MAX_BODY // 3))
    assert len(client.bulk.submit("mc", large)) == len(jobs.found) == 5
    assert [len(each.json["jobs"]) for each in service.requests] == [2, 2, 1]


def test_none(client: Client, service: Service) -> None:
    assert client.bulk.submit("mc", []) == []
    assert service.requests == []


def test_each_has_its_outcome(client: Client, jobs: FakeJobs) -> None:
    sent = [*studies(1), {"command": ["solve"], "queue": "nope"}, *studies(1)]
    first, refused, last = client.bulk.submit("mc", sent)
    assert [first.id, last.id] == list(jobs.found)  # type: ignore[union-attr]
    assert isinstance(refused, Invalid)
    assert (refused.status, refused.type, str(refused)) == (422, "invalid", "there is no queue nope")


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([LOST, LOST], id="answers lost"),
        pytest.param([(409, problem("under-way", "wait"))], id="under way"),
        pytest.param([(207, {"results": [AWAY] * 3})], id="none has an answer in time"),
    ],
)
def test_all_are_submitted_once(
    service: Service, client: Client, jobs: FakeJobs, faults: list[Answer]
) -> None:
    for each in faults:
        service.fault(SUBMIT, each)
    found = client.bulk.submit("mc", studies(3))
    assert [each.id for each in found if isinstance(each, RemoteJob)] == list(jobs.found)
    assert len(jobs.found) == 3
    assert len({each.headers["idempotency-key"] for each in service.requests}) == 1
    assert service.lines() == [SUBMIT] * (len(faults) + 1)


def test_it_gives_up_on_one_that_the_instance_never_takes(
    service: Service, client: Client, clock: Clock
) -> None:
    service.routes["POST", f"{JOBS}:submit"] = lambda _: (207, {"results": [AWAY]})
    [found] = client.bulk.submit("mc", studies(1))
    assert isinstance(found, ServiceFailed)
    assert str(found) == "did not answer in time"
    assert 20 < sum(clock.slept) <= 30


def test_a_refused_request_stops_no_other(client: Client, jobs: FakeJobs, service: Service) -> None:
    service.fault(SUBMIT, (403, problem("quota", "job 7 of 100 in this request: quota of 10 jobs")))
    found = client.bulk.submit("mc", studies(120))
    assert all(isinstance(each, QuotaExceeded) for each in found[:100])
    assert len(jobs.found) == sum(not isinstance(each, ServiceRefused) for each in found) == 20


def test_a_service_that_is_away_is_named(client: Client, service: Service) -> None:
    service.routes["POST", f"{JOBS}:submit"] = lambda _: LOST
    with pytest.raises(ServerAway, match=r"the connection to .* was lost"):
        client.bulk.submit("mc", studies(1))


def test_a_key_may_be_given(client: Client, jobs: FakeJobs) -> None:
    first, second = (client.bulk.submit("mc", studies(150), key="study") for _ in range(2))
    assert [each.id for each in first] == [each.id for each in second]  # type: ignore[union-attr]
    assert len(jobs.found) == 150
