"""What keeps the queue: it forgets what is gone, and no news makes it ask in a loop."""

import itertools
import logging
from typing import Any

import pytest

from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from minicluster.kube_client.objects import ObjectReference
from minicluster.plan.constants import KIND
from tests.operator import memory_jobs
from tests.operator.cases import document, end, rest
from tests.operator.contents import MINICLUSTER, NAME
from tests.operator.field_sets import Object
from tests.operator.memory_api import Faults, Request
from tests.operator.memory_watches import Watches
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

CONFIG_MAP = ObjectReference("ConfigMap", NAMESPACE, f"{NAME}-config")


def kept(here: World) -> dict[str, Any]:
    """Return what the operator's parts keep of single MiniClusters, where they keep anything."""
    operator = here.operator
    parts = (operator.queue, operator.controller._reconciler, operator.cache)
    slots = [(part, name) for part in parts for name in getattr(part, "__slots__", None) or vars(part)]
    found = {f"{type(part).__name__}.{name}": getattr(part, name) for part, name in slots}
    return {name: value for name, value in found.items() if isinstance(value, dict | set) and any(value)}


async def deleted(here: World) -> None:
    await here.converge()
    here.store.delete(MINICLUSTER)


async def deleted_while_it_is_made(here: World) -> None:
    here.api.latency = 1.0
    here.watches.deliver(MINICLUSTER.kind)
    await here.live(2.5)
    here.store.delete(MINICLUSTER)
    here.watches.deliver(MINICLUSTER.kind)
    await here.live(2.5)


async def deleted_unseen(here: World) -> None:
    await here.converge()
    here.store.delete(MINICLUSTER)
    here.watches.relist(MINICLUSTER.kind)


async def deleted_unseen_after_its_end(here: World) -> None:
    await rest(here)
    await end(here, 3)
    await here.converge()
    here.store.delete(MINICLUSTER)
    here.watches.relist(MINICLUSTER.kind)


async def deleted_by_itself(here: World) -> None:
    await rest(here)
    await end(here, 0, [])


ENDS = {
    "settled": deleted,
    "while it is made": deleted_while_it_is_made,
    "unseen": deleted_unseen,
    "unseen, after its end": deleted_unseen_after_its_end,
    "by cleanup": deleted_by_itself,
}


@pytest.mark.parametrize("ending", ENDS.values(), ids=ENDS)
def test_of_what_was_deleted_nothing_is_kept(ending: Any) -> None:
    """An operator that runs for months must not grow."""

    async def work() -> dict[str, Any]:
        async with world() as here:
            await here.write(document(cleanup=ending is deleted_by_itself))
            await ending(here)
            await here.converge()
            assert MINICLUSTER not in here.store.objects
            found = kept(here)
            found.pop("WorkQueue._heaps", None)
            found.pop("Cache._deletions", None)  # a version of each kind
            return found

    assert run(work()) == {}


def test_a_refusal_in_other_words_each_time_is_no_news() -> None:
    """Such as one that quotes the port of a connection: the status tells it, and the pause grows."""
    ports = itertools.count(30000)

    def refuse(request: Request) -> ApiError | None:
        if request.kind != "ConfigMap" or request.verb != "apply":
            return None
        return ApiError(400, "BadRequest", f"read tcp 10.1.2.3:{next(ports)}: connection reset by peer")

    async def work() -> int:
        async with world() as here:
            here.api.refusals.append(refuse)
            await here.write(document())
            here.watches.deliver(MINICLUSTER.kind)
            await here.live(200)
            before = len(here.api.requests)
            for _ in range(60):
                here.watches.deliver(MINICLUSTER.kind)
                await here.live(60)
            return sum(each.kind == "ConfigMap" for each in here.api.requests[before:])

    assert run(work()) <= 65


def test_what_is_deleted_while_its_status_is_written_does_not_come_back() -> None:
    """The answer tells of it as it was before; one that had ended has nothing that would tell otherwise."""

    async def work() -> tuple[int, dict[str, Any]]:
        async with world() as here:
            await here.write(document())
            await here.converge()
            memory_jobs.complete_job(here.store, NAMESPACE, NAME)
            here.api.latency = 1.0
            before = len(here.api.writes)
            here.watches.deliver("Job")
            await here.live(1.5)
            here.store.delete(MINICLUSTER)
            here.watches.deliver(KIND)
            await here.converge()
            statuses = [each for each in here.api.writes[before:] if each.subresource == "status"]
            return len(statuses), here.operator.cache.clusters

    assert run(work()) == (1, {})


async def made(here: World) -> None:
    here.api.latency = 1.0
    here.watches.deliver(KIND)
    while CONFIG_MAP not in here.store.objects:
        await here.live(0.5)


async def edited(here: World) -> None:
    await here.converge()
    here.api.latency = 1.0
    here.store.patch(CONFIG_MAP, {"data": {"start.sh": "exit 0"}}, "somebody")
    here.watches.deliver(CONFIG_MAP.kind)
    await here.live(1.5)


@pytest.mark.parametrize("written", [made, edited])
@pytest.mark.parametrize("deliver", [Watches.deliver, Watches.relist], ids=["by a watch", "by a list"])
def test_what_is_deleted_before_its_write_is_answered_is_made_again(written: Any, deliver: Any) -> None:
    """The watch was faster than the answer, which tells of it as it was before."""

    async def work() -> Object:
        async with world() as here:
            await here.write(document())
            await written(here)
            here.store.delete(CONFIG_MAP)
            deliver(here.watches, CONFIG_MAP.kind)
            await here.converge()
            return here.store.objects[CONFIG_MAP]["data"]

    assert run(work())["start.sh"] != "exit 0"


def test_an_event_that_came_through_without_an_answer_is_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    """Sent again it is there already."""
    caplog.set_level(logging.WARNING)

    async def work() -> list[str]:
        async with world() as here:
            here.api.faults = Unanswered()
            await here.write(document())
            await here.converge()
            found = here.store.objects.values()
            return [each["reason"] for each in found if each["kind"] == "Event"]

    assert (run(work()), caplog.messages) == (["Created"], [])


class Unanswered(Faults):
    """Leaves the first Event without an answer."""

    done = False

    def after(self, request: Request) -> None:
        """Lose the answer."""
        if request.kind == "Event" and not self.done:
            self.done = True
            raise ApiUnreachableError("connection reset")
