"""Jobs as futures."""

from __future__ import annotations

import concurrent.futures
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

import pytest

from minicluster.client import JobExecutor, JobFailure
from minicluster.client.errors import Invalid
from tests.client.fake_jobs import JOBS
from tests.client.fake_service import LOST, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.client import Client
    from tests.client.fake_jobs import FakeJobs
    from tests.client.fake_service import Service

LIMIT = 30.0


@pytest.fixture
def executor(client: Client, jobs: FakeJobs) -> Iterator[JobExecutor]:
    with JobExecutor(client, "mc", poll=0.01) as found:
        yield found


def test_futures_are_jobs(executor: JobExecutor, jobs: FakeJobs) -> None:
    futures = [executor.submit(["hostname"], tasks=2) for _ in range(20)]
    done = concurrent.futures.wait(futures, LIMIT).done
    assert {each.result().id for each in done} == set(jobs.found)
    assert {each.job().id for each in futures} == set(jobs.found)
    assert len(jobs.found) == 20


def test_each_job_is_submitted_once(executor: JobExecutor, jobs: FakeJobs, service: Service) -> None:
    for _ in range(3):
        service.fault(f"POST {JOBS}", LOST)
    futures = [executor.submit(["true"]) for _ in range(5)]
    assert len({each.result(LIMIT).id for each in futures}) == len(jobs.found) == 5


def test_map_gives_each_job_further_arguments(executor: JobExecutor, service: Service) -> None:
    assert [each.returncode for each in executor.map(["./solve"], range(3), timeout=LIMIT)] == [0, 0, 0]
    sent = [each.json for each in service.requests if each.method == "POST"]
    commands = [job["command"] for each in sent for job in each.get("jobs", [each])]
    assert sorted(commands) == [["./solve", "0"], ["./solve", "1"], ["./solve", "2"]]


def test_a_failed_job_is_raised(executor: JobExecutor) -> None:
    with pytest.raises(JobFailure, match="exit code 1"):
        executor.submit(["false"]).result(LIMIT)


def test_many_jobs_go_with_few_requests(client: Client, jobs: FakeJobs, service: Service) -> None:
    with service.lock, JobExecutor(client, "mc", poll=0.01) as executor:
        futures = [executor.submit(["true"]) for _ in range(250)]
        service.lock.release()
        try:
            assert len({each.result(LIMIT).id for each in futures}) == len(jobs.found) == 250
        finally:
            service.lock.acquire()
    posts = [each for each in service.requests if each.method == "POST"]
    assert 3 <= len(posts) <= 5


def test_a_wrong_job_fails_no_other(client: Client, jobs: FakeJobs, service: Service) -> None:
    service.fault(f"POST {JOBS}:submit", (422, problem("invalid", "jobs/1: tasks: is 1 at least")))
    with service.lock, JobExecutor(client, "mc", poll=0.01) as executor:
        first = executor.submit(["true"])
        others = [executor.submit(["true"]) for _ in range(4)]
        service.lock.release()
        try:
            assert first.result(LIMIT).returncode == 0
            assert {each.result(LIMIT).returncode for each in others} == {0}
        finally:
            service.lock.acquire()
    assert len(jobs.found) == 5


def test_a_refused_submit_is_raised(executor: JobExecutor, service: Service) -> None:
    service.fault("POST", (422, problem("invalid", "tasks: is 1 at least")))
    future = executor.submit(["true"], tasks=0)
    with pytest.raises(Invalid, match="is 1 at least"):
        future.result(LIMIT)
    with pytest.raises(Invalid):
        future.job()


def test_a_running_job_is_cancelled(executor: JobExecutor, jobs: FakeJobs) -> None:
    jobs.ends = False
    future = executor.submit(["sleep"])
    job = future.job(LIMIT)
    assert future.running()
    assert (future.cancel(), future.cancel(), future.cancelled()) == (True, True, True)
    assert jobs.found[job.id]["result"] == "CANCELED"
    with pytest.raises(CancelledError):
        future.result(LIMIT)
    assert concurrent.futures.wait([future], LIMIT).not_done == set()


def test_a_job_that_has_ended_is_not_cancelled(executor: JobExecutor) -> None:
    future = executor.submit(["true"])
    assert future.result(LIMIT).ended
    assert not future.cancel()


def test_a_shutdown_cancels_what_has_not_ended(client: Client, jobs: FakeJobs) -> None:
    jobs.ends = False
    executor = JobExecutor(client, "mc", poll=0.01)
    futures = [executor.submit(["sleep"]) for _ in range(3)]
    for each in futures:
        each.job(LIMIT)
    executor.shutdown(cancel_futures=True)
    assert {each["result"] for each in jobs.found.values()} == {"CANCELED"}
    with pytest.raises(RuntimeError, match="takes no more jobs"):
        executor.submit(["true"])
