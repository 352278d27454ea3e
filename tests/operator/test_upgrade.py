"""A newer operator, or a newer Kubernetes: what can be brought up to date is, pods stay as they were made."""

import copy

from minicluster.kube_client.objects import ObjectReference
from minicluster.plan import Site
from tests.operator.cases import document
from tests.operator.contents import NAME
from tests.operator.field_sets import Object
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

JOB = ObjectReference("Job", NAMESPACE, NAME)


async def upgraded(here: World) -> tuple[Object, Object]:
    """Make a MiniCluster, and have an operator take over that would make its pods otherwise."""
    await here.write(document())
    await here.converge()
    before = copy.deepcopy(here.store.objects[JOB])
    here.site = Site(image_volumes=True)
    await here.restart()
    await here.converge()
    return before, here.store.objects[JOB]


def test_the_pods_of_a_job_stay_as_they_were_made() -> None:
    """A template cannot change; that is no error, and is not tried again."""

    async def work() -> tuple[Object, Object, int, list[str]]:
        async with world() as here:
            before, after = await upgraded(here)
            writes = len(here.api.writes)
            await here.converge()
            return before, after, len(here.api.writes) - writes, here.meter.results

    before, after, later_writes, results = run(work())
    assert after["spec"]["template"] == before["spec"]["template"]
    assert after["metadata"]["annotations"] != before["metadata"]["annotations"]
    assert later_writes == 0
    assert set(results) == {"ok"}


def test_its_size_can_still_change() -> None:
    async def work() -> Object:
        async with world() as here:
            await upgraded(here)
            here.edit({"size": 3})
            await here.converge()
            return here.store.objects[JOB]

    job = run(work())
    assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (3, 3)
