"""A service that dies between any two steps of a submit: another one has each job exactly once."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.records import JobFilter
from minicluster.instance.rpc_bulk import RpcBulk
from restful.errors import HttpProblem
from restful.jobs import submit
from restful.jobs.schema import Submission
from restful.store import jobs, request_keys
from tests.restful.jobs.service import USERS, Service, opened, spec_of, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from restful.clusters.spec import ClusterSpec
    from restful.services import Services
    from tests.conformance.laboratory import Laboratory

KEYS = 20


class Crash(BaseException):
    """The end of a process: nothing of the service expects it."""


def before(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what dies in place of calling a function."""

    def crash(*arguments: Any, **named: Any) -> Any:
        raise Crash(function.__name__)

    return crash


def after(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what calls a function of the instance, and dies before it returns."""

    def crash(*arguments: Any, **named: Any) -> Any:
        function(*arguments, **named)
        raise Crash(function.__name__)

    return crash


def after_awaiting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what awaits a function, and dies before it returns."""

    async def crash(*arguments: Any, **named: Any) -> Any:
        await function(*arguments, **named)
        raise Crash(function.__name__)

    return crash


STEPS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "before the row": (request_keys, "add", before),
    "within the row's transaction": (request_keys, "add", after_awaiting),
    "before the submit": (RpcBulk, "resubmit", before),
    "after the submit": (RpcBulk, "resubmit", after),
    "before the job is noted": (submit, "note", before),
    "within the transaction that notes it": (jobs, "submitted", after_awaiting),
    "after the job is noted": (submit, "note", after_awaiting),
}


@contextlib.contextmanager
def dying(step: str) -> Iterator[None]:
    """Have a submit die at a step."""
    where, name, how = STEPS[step]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, how(getattr(where, name)))
        yield


async def die(services: Services) -> None:
    """End what a service does in the background, without a word to the database or another replica."""
    (cluster,) = services.clusters
    task = services.clusters._tasks.pop(cluster.name)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Crash):  # a step of its own may have been the one
        await task
    cluster.connection.close()
    await cluster.connection.hung_up()


@contextlib.asynccontextmanager
async def doomed(folder: Path, spec: ClusterSpec) -> AsyncIterator[Service]:
    """Give a service that dies at the end, if not before: what its projection writes beside a submit, too."""
    async with opened(folder, spec) as here:
        yield here
        await die(here.services)


def submission(prefix: str, number: int) -> Submission:
    """Return a job whose name tells which one it is."""
    return Submission(command=["true"], name=f"{prefix}{number}")


async def crashed(here: Service, prefix: str) -> None:
    """Submit a job a key, each dying at the next step."""
    for number in range(KEYS):
        step = list(STEPS)[number % len(STEPS)]
        with dying(step), pytest.raises(Crash):
            await here.services.jobs.submit(USERS["alice"], "mc", submission(prefix, number), f"k{number}")


def names_of(laboratory: Laboratory, prefix: str) -> Counter[str]:
    """Return how many jobs of each name the instance has."""
    with laboratory.connect() as instance:
        return Counter(job.name for job in instance.jobs.find(JobFilter(), 0) if job.name.startswith(prefix))


def test_each_job_is_there_once_after_its_key_was_used_again(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with doomed(tmp_path, spec_of(embedded)) as here:
            await crashed(here, "once")
        async with opened(tmp_path, spec_of(embedded)) as here:
            found = [
                await here.services.jobs.submit(
                    USERS["alice"], "mc", submission("once", number), f"k{number}"
                )
                for number in range(KEYS)
            ]
            again = [
                await here.services.jobs.submit(
                    USERS["alice"], "mc", submission("once", number), f"k{number}"
                )
                for number in range(KEYS)
            ]
            assert [each.id for each in again] == [each.id for each in found]
            assert all(each.replayed for each in again)
            owned = [await here.services.jobs.get(USERS["alice"], "mc", str(each.id)) for each in found]
            return [each.name for each in owned]

    wanted = [f"once{number}" for number in range(KEYS)]
    assert within(work()) == wanted
    assert names_of(embedded, "once") == Counter(wanted)


def test_what_was_submitted_is_taken_over_without_its_key(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> tuple[Counter[str], list[Any]]:
        async with doomed(tmp_path, spec_of(embedded)) as here:
            await crashed(here, "left")
        async with opened(tmp_path, spec_of(embedded)) as here:
            answer = await here.ask("alice", "GET", "/jobs", params={"name": "left*", "limit": 500})
            async with here.services.database.read() as connection:
                rows = await request_keys.pending(connection, next(iter(here.services.clusters)).id)
            return Counter(job["name"] for job in answer.json()["jobs"]), rows

    mine, pending = within(work())
    assert mine == names_of(embedded, "left")
    assert mine.total() >= KEYS * 4 // len(STEPS)
    assert pending == []


def test_while_a_request_is_under_way_its_key_is_refused(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> HttpProblem:
        async with opened(tmp_path, spec_of(embedded)) as here:
            cluster = next(iter(here.services.clusters))
            with dying("before the submit"), pytest.raises(Crash):
                await here.services.jobs.submit(USERS["alice"], "mc", submission("u", 1), "k")
            async with here.services.database.read() as connection:
                cluster.under_way |= {row.id for row in await request_keys.pending(connection, cluster.id)}
            with pytest.raises(HttpProblem) as raised:
                await here.services.jobs.submit(USERS["alice"], "mc", submission("u", 1), "k")
            return raised.value

    problem = within(work())
    assert (problem.status, problem.headers["Retry-After"]) == (409, "1")
    assert "is under way" in problem.detail
