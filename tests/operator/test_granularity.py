"""Brokers are cut once: the status has how before the first object, whatever happens to operators."""

from typing import Any

import pytest

from minicluster.kube_client.objects import ObjectReference
from minicluster.plan import Site
from tests.operator.cases import document
from tests.operator.contents import MINICLUSTER, NAME
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

JOB = ObjectReference("Job", NAMESPACE, NAME)
RESOURCES = {"limits": {"cpu": "4", "memory": "4Gi"}}
CONTAINER = {"image": "app", "command": "hostname", "resources": RESOURCES}
WANTED = document(profile="memory", tasks=12, containers=[CONTAINER])
SCALE, GRANULARITY = (Site(lead_api=True, granularity=each) for each in ("scale", "granularity"))


def cut(here: World) -> tuple[int, int]:
    """Return into how many brokers each one was cut, and how many pods the Job has."""
    status = here.store.objects[MINICLUSTER]["status"]
    return status["granularity"]["brokers"], here.store.objects[JOB]["spec"]["parallelism"]


def test_the_status_has_it_before_the_first_object() -> None:
    async def work() -> tuple[list[str], tuple[int, int]]:
        async with world() as here:
            here.site = GRANULARITY
            await here.restart()
            await here.write(WANTED)
            since = len(here.api.writes)
            await here.converge()
            return [each.kind for each in here.api.writes[since:]], cut(here)

    kinds, found = run(work())
    assert kinds[0] == "MiniCluster"
    assert found == (4, 12)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("passing", range(10))
def test_an_operator_that_takes_over_with_another_rule_cuts_nothing_anew(passing: int, late: bool) -> None:
    """The first one dies at one of its writes; its successor has another rule."""

    async def work() -> tuple[tuple[int, int], tuple[int, int], list[Any]]:
        async with world() as here:
            here.site = GRANULARITY
            await here.restart()
            await here.write(WANTED)
            here.armed.what, here.armed.passing, here.armed.times, here.armed.late = "crash", passing, 1, late
            here.site = SCALE
            here.watches.deliver("MiniCluster")
            await here.live(60.0)
            assert here.armed.times == 0, "it has died"
            await here.converge()
            found = cut(here)
            await here.restart()
            await here.converge()
            wrong = [each for each in here.meter.results if each in {"error", "refused"}]
            return found, cut(here), wrong

    found, later, wrong = run(work())
    before_anything = passing == 0 and not late
    assert found == ((1, 3) if before_anything else (4, 12))
    assert later == found
    assert wrong == []
