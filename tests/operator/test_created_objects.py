"""New objects are created, not applied: they are changed, kept and looked after all the same."""

from minicluster.kube_client.objects import ObjectReference
from minicluster.plan import Site
from tests.operator.cases import DOCUMENTS, document
from tests.operator.contents import NAME
from tests.operator.field_sets import Object
from tests.operator.memory_api import Request
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

CONFIG_MAP = ObjectReference("ConfigMap", NAMESPACE, f"{NAME}-config")
JOB = ObjectReference("Job", NAMESPACE, NAME)


def requests(here: World, since: int = 0, about: ObjectReference = CONFIG_MAP) -> list[str]:
    """Return the verbs of the writes to an object."""
    writes = here.api.writes[since:]
    return [each.verb for each in writes if (each.kind, each.name) == (about.kind, about.name)]


async def made(here: World) -> int:
    """Make a MiniCluster; return how many writes that took."""
    await here.write(document())
    await here.converge()
    assert requests(here) == ["create"]
    return len(here.api.writes)


def test_an_operator_that_starts_again_writes_nothing() -> None:
    async def work() -> list[Request]:
        async with world() as here:
            since = await made(here)
            await here.restart()
            await here.converge()
            return here.api.writes[since:]

    assert run(work()) == []


def test_its_first_change_removes_what_is_not_wanted_any_more() -> None:
    """And the next one is an apply alone."""

    async def work() -> tuple[list[str], set[str], list[str]]:
        async with world() as here:
            since = await made(here)
            before = set(here.store.objects[CONFIG_MAP]["data"])
            here.site = Site()  # without the lead API its ConfigMap has fewer files
            await here.restart()
            await here.converge()
            first, gone = requests(here, since), before - set(here.store.objects[CONFIG_MAP]["data"])
            since = len(here.api.writes)
            here.site = Site(lead_api=True)
            await here.restart()
            await here.converge()
            return first, gone, requests(here, since)

    first, gone, second = run(work())
    assert first == ["adopt", "apply"]
    assert "minicluster-door.py" in gone
    assert second == ["apply"]


def test_what_somebody_edits_is_made_good() -> None:
    async def work() -> list[str]:
        async with world() as here:
            since = await made(here)
            before = here.store.objects[CONFIG_MAP]["data"]["broker.toml"]
            here.store.patch(CONFIG_MAP, {"data": {"broker.toml": ""}}, "kubectl")
            await here.converge()
            assert here.store.objects[CONFIG_MAP]["data"]["broker.toml"] == before
            return requests(here, since)

    assert run(work()) == ["adopt", "apply"]


def test_a_job_is_adopted_before_its_first_resize() -> None:
    """And stays as it is but for its size: with its defaults, and without those that it had given up."""

    async def work() -> tuple[list[str], list[str], Object, Object]:
        async with world() as here:
            since = await made(here)
            before = here.store.objects[JOB]["spec"]
            here.edit({"size": 4})
            await here.converge()
            first, since = requests(here, since, JOB), len(here.api.writes)
            here.edit({"size": 3})
            await here.converge()
            return first, requests(here, since, JOB), before, here.store.objects[JOB]["spec"]

    first, second, before, after = run(work())
    assert (first, second) == (["adopt", "apply"], ["apply"])
    assert before == after
    assert after["suspend"] is False


def test_a_job_that_kueue_queues_is_applied_from_the_start() -> None:
    """Who creates it would own `suspend`, and start it by the first apply."""

    async def work() -> tuple[list[str], list[str]]:
        async with world() as here:
            await here.write(document(**DOCUMENTS["queued"]))
            await here.converge()
            first, since = requests(here, 0, JOB), len(here.api.writes)
            here.edit({"size": 4})
            await here.converge()
            return first, requests(here, since, JOB)

    assert run(work()) == (["apply"], ["apply"])
