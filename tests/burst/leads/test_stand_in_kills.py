"""A service that is killed at any call that changes something, while a stand-in is made for a job."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING, Any

import pytest

from burst.leads.stand_ins import StandIns
from burst.lifecycle.isolation import StandIn
from minicluster.instance.errors import RequestRefused
from minicluster.instance.links.shared import SharedLinks
from minicluster.instance.records import JobFilter, JobRequest, JobState
from tests.conformance.laboratory import eventually

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from minicluster.instance.port import Instance

MAX_CALLS = 40
"""Calls of one step, at most: else it is not done in a bounded number."""
READS = {"job-info.lookup", "job-list.list-id", "attr.get", "resource.sched-status", "job-manager.queue-list"}


class Killed(BaseException):
    """The service is gone."""


class CallCounter:
    """Counts the calls that change something at an instance, and kills the service before or after one."""

    def __init__(self) -> None:
        self.at = 0
        self.is_after = False
        self.count = 0

    def wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(links: SharedLinks, *arguments: Any, **named: Any) -> Any:
            if str(arguments[0]) in READS:
                return call(links, *arguments, **named)
            self.count += 1
            mine = self.count
            if mine == self.at and not self.is_after:
                raise Killed
            found = call(links, *arguments, **named)
            if mine == self.at:
                raise Killed
            return found

        return counted

    def killed(self, at: int, is_after: bool, work: Callable[[], Any]) -> bool:
        """Do some work, and kill it at a call; return whether it came that far."""
        self.at, self.is_after, self.count = at, is_after, 0
        try:
            work()
        except Killed:
            return True
        finally:
            self.at = 0
        return False


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> CallCounter:
    """Of all instances."""
    found = CallCounter()
    for name in ("rpc", "submit"):
        monkeypatch.setattr(SharedLinks, name, found.wrap(getattr(SharedLinks, name)))
    return found


def named(instance: Instance, name: str) -> list[Any]:
    return instance.jobs.find(JobFilter(name=name, states=JobState.ACTIVE), limit=0)


def stand_in(instance: Instance, label: str, job: int) -> None:
    StandIns(instance)._stand_in(label, job)


def standing(instance: Instance, label: str) -> StandIn:
    found = asyncio.run(StandIns(instance).standing(label))
    assert isinstance(found, StandIn)
    return found


@pytest.mark.parametrize("laboratory", ["embedded"], indirect=True, scope="session")
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_wherever_it_is_killed_there_is_one_and_the_job_never_runs(
    instance: Instance, calls: CallCounter, tmp_path: Path, is_after: bool
) -> None:
    """The next service completes it; what waits for the job has one copy, which waits for the stand-in."""
    marks = tmp_path / "marks"
    for at in range(1, MAX_CALLS):
        label, name = f"kill-{at}-{int(is_after)}", f"job-{at}"
        request = JobRequest(("sh", "-c", f"echo {at} >> {marks}"), name=name, cwd="/", duration=60.0)
        job = instance.jobs.submit(request)
        after = JobRequest(("true",), name=f"after-{at}", cwd="/", dependencies=(f"afterany:{job}",))
        instance.jobs.submit(after)
        came = calls.killed(at, is_after, lambda: stand_in(instance, label, job))  # noqa: B023
        stand_in(instance, label, job)
        eventually(lambda: standing(instance, label).is_running, "it runs")  # noqa: B023
        found = standing(instance, label)
        assert [each.id for each in named(instance, name)] == [found.job], at
        [copy] = named(instance, f"after-{at}")
        assert copy.dependencies == (f"after-finish={found.job}",), at
        assert instance.jobs.get(job).t_run == 0.0
        for each in (copy.id, found.job):
            instance.jobs.cancel(each)
        if not came:
            break
    else:
        pytest.fail("it is never done")
    assert at > 6
    assert not marks.exists()


@pytest.mark.parametrize("laboratory", ["embedded"], indirect=True, scope="session")
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_wherever_it_is_killed_one_that_was_killed_has_one_successor(
    instance: Instance, calls: CallCounter, is_after: bool
) -> None:
    for at in range(1, MAX_CALLS):
        label, name = f"again-{at}-{int(is_after)}", f"again-{at}"
        job = instance.jobs.submit(JobRequest(("true",), name=name, cwd="/", duration=60.0))
        after = JobRequest(("true",), name=f"then-{at}", cwd="/", dependencies=(f"afterok:{job}",))
        instance.jobs.submit(after)
        stand_in(instance, label, job)
        eventually(lambda: standing(instance, label).is_running, "it runs")  # noqa: B023
        first = standing(instance, label).job
        eventually(lambda: _kill(instance, first), "it is killed")  # noqa: B023
        came = calls.killed(at, is_after, lambda: stand_in(instance, label, job))  # noqa: B023
        found = standing(instance, label)
        assert found.job != first
        assert [each.id for each in named(instance, name)] == [found.job], at
        [copy] = named(instance, f"then-{at}")
        assert copy.dependencies == (f"after-success={found.job}",), at
        for each in (copy.id, found.job):
            instance.jobs.cancel(each)
        if not came:
            break
    else:
        pytest.fail("it is never done")
    assert at > 4


def _kill(instance: Instance, job: int) -> bool:
    """Kill a job once its tasks run; return whether it has ended."""
    state = instance.jobs.get(job).state
    if state is JobState.RUN:
        with contextlib.suppress(RequestRefused):  # it has ended meanwhile
            instance.links.rpc("job-manager.kill", {"id": job, "signum": signal.SIGKILL})
    return state is JobState.INACTIVE
