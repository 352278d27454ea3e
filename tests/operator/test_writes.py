"""How many writes a MiniCluster takes until its status shows its pods, and when they come."""

import pytest

from minicluster.operator.reconciler import STATUS_DELAY
from minicluster.plan.constants import KIND
from tests.operator import memory_jobs
from tests.operator.cases import deliver_all, document
from tests.operator.contents import MINICLUSTER, NAME
from tests.operator.field_sets import Object
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

OBJECTS = [
    "create Secret mc-curve",
    "create ConfigMap minicluster-flux-files",
    "create ConfigMap mc-config",
    "create Service mc",
    "create NetworkPolicy mc-brokers",
    "create Secret mc-tokens",
    "create PodDisruptionBudget mc-lead",
    "create Job mc",
]
STATUS = ["patch MiniCluster mc status", "create Event"]
STEP = 0.05


def written(here: World) -> list[str]:
    """Return the writes, without what differs in names."""
    return [_described(str(each)) for each in here.api.writes]


def _described(write: str) -> str:
    verb, kind, name, *rest = write.split(" ")
    if kind == "Event":
        return f"{verb} {kind}"
    return " ".join([verb, kind, name.rpartition("-")[0] if kind == "Secret" else name, *rest])


async def lives(here: World, seconds: float) -> None:
    """Let the watches and the Job controller work as they do on a quiet cluster."""
    for _ in range(round(seconds / STEP)):
        deliver_all(here)
        here.start_job()
        await here.live(STEP)


def status(here: World) -> Object:
    found: Object = here.store.objects[MINICLUSTER].get("status", {})
    return found


@pytest.mark.parametrize("size", [1, 8])
def test_each_object_is_written_once_and_the_status_once(size: int) -> None:
    """Of a namespace's first MiniCluster; a further one finds the Flux files there."""

    async def work() -> tuple[list[str], str]:
        async with world() as here:
            await here.write(document(size=size, minSize=size, maxSize=size))
            await lives(here, 30)
            [shown] = [each for each in status(here)["conditions"] if each["type"] == "PodsScheduled"]
            return written(here), shown["message"]

    writes, message = run(work())
    assert writes == [*OBJECTS, *STATUS]
    assert message == f"0 of {size} pods have a node"


def test_the_first_status_comes_a_moment_after_the_objects() -> None:
    """Also where nothing is heard of the Job."""

    async def work() -> tuple[Object, Object, list[str]]:
        async with world() as here:
            await here.write(document())
            here.watches.deliver(KIND)
            await here.live(STATUS_DELAY - STEP)
            before = status(here)
            await here.live(2 * STEP)
            return before, status(here), written(here)

    before, after, writes = run(work())
    assert (before, after["phase"]) == ({}, "Pending")
    assert STATUS_DELAY <= 0.3, "who waits for it must not notice"
    assert writes == [*OBJECTS, *STATUS]


def test_a_suspended_one_has_it_at_once() -> None:
    """No pods come."""

    async def work() -> str:
        async with world() as here:
            await here.write(document(suspend=True))
            here.watches.deliver(KIND)
            await here.live(STEP)
            return str(status(here)["phase"])

    assert run(work()) == "Suspended"


def test_an_operator_that_dies_before_the_first_status_leaves_it_to_the_next() -> None:
    async def work() -> tuple[Object, list[str], str]:
        async with world() as here:
            await here.write(document())
            here.watches.deliver(KIND)
            await here.live(STEP)
            before = status(here)
            await here.restart()
            await here.live(STEP)
            return before, written(here), status(here)["phase"]

    before, writes, phase = run(work())
    assert (before, phase) == ({}, "Pending")
    assert writes == [*OBJECTS, *STATUS]


def test_pods_that_start_one_after_the_other_cost_a_status_a_second() -> None:
    async def work() -> list[str]:
        async with world() as here:
            await here.write(document(size=8, minSize=8, maxSize=8))
            await lives(here, 5)
            begin = len(here.api.writes)
            for index in range(8):
                memory_jobs.run_pod(here.store, NAMESPACE, NAME, index)
                await lives(here, 0.1)
            await lives(here, 5)
            return [each for each in written(here)[begin:] if each.endswith(" status")]

    assert run(work()) == ["patch MiniCluster mc status"] * 2
