"""The worker process for heavy documents: it starts for the first, is limited, and is replaced once ended."""

import asyncio
import gc
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

import pytest

from broker_config import curve
from minicluster.document import DocumentError, validate
from minicluster.operator import plan_worker, planned
from minicluster.operator.errors import PlanningLimitError, WorkerLostError
from minicluster.operator.plan_messages import PlanAnswer
from minicluster.operator.plan_worker import PlanWorker, WorkerLimits
from minicluster.operator.planned import PlanInputs
from minicluster.plan import FreshKeys, LeadKeys, Observed, Site, UnplannableError
from tests.devcluster.waiting import SECONDS
from tests.operator.cases import document
from tests.operator.field_sets import Object

T = TypeVar("T")
KEYS = FreshKeys(curve.generate(), LeadKeys("certificate", "key", "token", "metrics token"))
UNWRITABLE = FreshKeys(curve.generate(), LeadKeys("\ud800", "\ud800", "\ud800", "\ud800"))
INPUTS = PlanInputs(Observed(), Site(lead_api=True), KEYS, datetime(2026, 3, 14, tzinfo=UTC), None)
HOSTS = ",".join(f"{number}h" for number in range(35_000))
COSTLY = f'[bootstrap]\ncurve_cert = "/c"\nhosts = [{{ host = "{HOSTS}" }}]\n'


def item(**spec: object) -> Object:
    made = document(**spec)
    made["metadata"] |= {"uid": "u", "generation": 1}
    return made


def costly() -> Object:
    """Return a document that takes 20 MB and some tenths of a second."""
    return item(flux={"brokerConfig": COSTLY})


def worked(course: Callable[[PlanWorker], Awaitable[T]], **limits: float) -> T:
    """Return what a course with a worker returns."""

    async def work() -> T:
        worker = PlanWorker(WorkerLimits(**limits))
        try:
            return await course(worker)
        finally:
            await worker.close()

    return asyncio.run(work())


def test_it_plans_as_the_operator_itself_does() -> None:
    """One process for all; a document that is not valid has its own words."""

    async def course(worker: PlanWorker) -> None:
        assert worker.pid is None
        cluster = validate(item())
        assert await worker.read(item()) == planned.subject(cluster)
        pid = worker.pid
        found = await worker.plan(item(), INPUTS)
        assert found == planned.plan(cluster, INPUTS)
        again = await worker.plan(item(), INPUTS._replace(standing=found.built))
        assert all(set(each) == {"kind", "metadata"} for each in again.plan.objects[1:])
        with pytest.raises(DocumentError, match=r"^spec.size: .*found 5, maxSize is 4"):
            await worker.read(item(size=5))
        assert worker.pid == pid

    worked(course)


def test_a_document_that_cannot_be_planned_leaves_it_as_it_is() -> None:
    """Its own words are in the message."""

    async def course(worker: PlanWorker) -> str:
        await worker.read(item())
        pid = worker.pid
        with pytest.raises(UnplannableError) as caught:
            await worker.plan(item(), INPUTS._replace(keys=UNWRITABLE))
        assert worker.pid == pid
        return str(caught.value)

    message = worked(course)
    assert message.startswith("no plan can be made of this document: ")
    assert "UnicodeEncodeError" in message


LIMITS: dict[str, tuple[dict[str, float], str]] = {
    "CPU time": ({"cpu_seconds": 0.1}, "planning took more than 0.1 s of CPU time"),
    "memory": ({"megabytes": 8.0}, "planning took more than 8 MB"),
    "time by the clock": ({"seconds": 0.01}, "planning did not end within 0.01 s on this machine"),
}


@pytest.mark.parametrize(("limits", "message"), LIMITS.values(), ids=LIMITS)
def test_what_takes_more_than_it_may_ends_the_worker(limits: dict[str, float], message: str) -> None:
    """What took how much is in the message."""

    async def course(worker: PlanWorker) -> str:
        with pytest.raises(PlanningLimitError) as caught:
            await worker.read(costly())
        assert worker.pid is None
        return str(caught.value)

    assert worked(course, **limits) == message


def test_one_that_ends_while_it_is_sent_a_document_leaves_nothing_in_the_log() -> None:
    """Whoever plans is told once. asyncio keeps the broken pipe, too, for whoever would wait for its end."""

    async def course(worker: PlanWorker) -> list[str]:
        logged: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: logged.append(about["message"]))
        await worker.read(item())
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGSTOP)  # it takes no more of the document than fits into the pipe
        asyncio.get_running_loop().call_later(0.1, os.kill, worker.pid, signal.SIGKILL)
        with pytest.raises(PlanningLimitError, match="was ended by signal 9"):
            await worker.read(costly())
        gc.collect()
        return logged

    assert worked(course) == []


def test_the_limits_of_an_operator() -> None:
    """Those of decision 0038: a second of CPU time, and 64 MB."""
    limits = WorkerLimits()
    assert (limits.cpu_seconds, limits.megabytes, limits.seconds) == (1.0, 64.0, 15.0)


def test_it_ends_when_it_is_idle() -> None:
    """And another one starts; so does one that somebody else has ended meanwhile."""

    async def course(worker: PlanWorker) -> None:
        for end in (None, signal.SIGKILL):
            await worker.read(item())
            process = worker._process
            assert process is not None
            if end:
                os.kill(process.pid, end)
            async with asyncio.timeout(SECONDS):
                await process.wait()
        await worker.read(item())

    worked(course, idle_seconds=0.2)


def test_the_next_document_has_another_worker() -> None:
    async def course(worker: PlanWorker) -> str:
        with pytest.raises(PlanningLimitError):
            await worker.read(costly())
        return (await worker.read(item())).uid

    assert worked(course, megabytes=8.0) == "u"


def test_what_former_documents_have_left_counts_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that is in pieces lets one fail that is within its limit: it is asked of a new process."""
    exchange = plan_worker._exchange
    asked: list[int] = []

    async def fragmented(process: Process, request: bytes) -> PlanAnswer:
        asked.append(process.pid)
        is_third = len(asked) == 3
        return PlanAnswer(out_of_memory=True) if is_third else await exchange(process, request)

    monkeypatch.setattr(plan_worker, "_exchange", fragmented)

    async def course(worker: PlanWorker) -> None:
        for _ in range(3):
            assert (await worker.read(item())).uid == "u"

    worked(course)
    first, *_, last = asked
    assert asked == [first, first, first, last]
    assert first != last


def test_a_reconcile_that_is_cancelled_ends_it() -> None:
    """Its answer would else be taken for that to the next document."""

    async def course(worker: PlanWorker) -> str:
        await worker.read(item())
        asking = asyncio.create_task(worker.read(costly()))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        return (await worker.read(item())).uid

    assert worked(course) == "u"


def test_where_no_process_can_be_started_the_message_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")

    async def course(worker: PlanWorker) -> None:
        await worker.read(item())

    with pytest.raises(WorkerLostError, match=r"heavy documents could be started: .*No such file"):
        worked(course)
