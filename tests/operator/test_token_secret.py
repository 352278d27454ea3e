"""The second Secret of a MiniCluster: made once, for those of before as well, and replaced with tokens."""

from dataclasses import replace
from http import HTTPStatus

from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.objects import ObjectReference
from minicluster.plan.constants import ANNOTATION_TOKENS
from minicluster.plan.objects.keys import Generations
from tests.operator.cases import document
from tests.operator.contents import NAME
from tests.operator.field_sets import Object
from tests.operator.memory_api import Request
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

BUDGET = ObjectReference("PodDisruptionBudget", NAMESPACE, f"{NAME}-lead")
JOB = ObjectReference("Job", NAMESPACE, NAME)
# The budget was created, so that its first change takes two requests (decision 0044).
NOTED = ["adopt PodDisruptionBudget", "apply PodDisruptionBudget"]
AGAIN = ["create Secret", "delete Secret", "create Secret", *NOTED]


def secrets(here: World) -> list[ObjectReference]:
    return [each for each in here.store.objects if each.name.startswith(f"{NAME}-tokens-")]


def written(here: World, begin: int = 0) -> list[str]:
    """The writes of the Secret and of the note of it, in their order."""
    found = [each for each in here.api.writes[begin:] if "-tokens-" in each.name or each.name == BUDGET.name]
    return [f"{each.verb} {each.kind}" for each in found]


async def made(here: World) -> int:
    """Have a MiniCluster made; return how many writes that took."""
    await here.write(document())
    await here.converge()
    return len(here.api.writes)


async def restarted(here: World) -> None:
    await here.restart()
    await here.converge()


def test_a_new_one_has_it_before_its_job_and_it_is_noted_afterwards() -> None:
    async def work() -> tuple[list[str], list[str], Object]:
        async with world() as here:
            await made(here)
            kinds = [each.kind for each in here.api.writes if "-tokens-" in each.name or each.kind == "Job"]
            return written(here), kinds, here.store.objects[secrets(here)[0]]

    writes, kinds, secret = run(work())
    assert writes == ["create Secret", "create PodDisruptionBudget"]
    assert kinds[:2] == ["Secret", "Job"]
    assert secret["metadata"]["ownerReferences"][0]["name"] == NAME
    assert "immutable" not in secret


def test_another_operator_writes_nothing_again() -> None:
    async def work() -> list[str]:
        async with world() as here:
            begin = await made(here)
            await restarted(here)
            return [str(each) for each in here.api.writes[begin:]]

    assert run(work()) == []


def test_one_of_before_gets_it_and_keeps_its_pods() -> None:
    """Release 0.1.0 made no such Secret, and no note of it."""

    async def work() -> tuple[list[str], bool]:
        async with world() as here:
            await made(here)
            del here.store.objects[secrets(here)[0]]
            here.store.patch(BUDGET, {"metadata": {"annotations": {ANNOTATION_TOKENS: None}}}, "kubectl")
            uid, begin = here.store.objects[JOB]["metadata"]["uid"], len(here.api.writes)
            await restarted(here)
            return written(here, begin), here.store.objects[JOB]["metadata"]["uid"] == uid

    assert run(work()) == (["create Secret", *NOTED], True)


def test_one_that_was_made_before_its_maker_died_stays() -> None:
    """An operator that is killed after each write comes to an end."""

    async def work() -> tuple[list[str], bool]:
        async with world() as here:
            await made(here)
            uid = here.store.objects[secrets(here)[0]]["metadata"]["uid"]
            here.store.patch(BUDGET, {"metadata": {"annotations": {ANNOTATION_TOKENS: None}}}, "kubectl")
            begin = len(here.api.writes)
            await restarted(here)
            return written(here, begin), here.store.objects[secrets(here)[0]]["metadata"]["uid"] == uid

    assert run(work()) == (["create Secret", *NOTED], True)


def test_tokens_of_another_generation_replace_it_once() -> None:
    async def work() -> tuple[list[str], list[str], str]:
        async with world() as here:
            begin = await made(here)
            here.site = replace(here.site, generations=Generations(jobs=2))
            await restarted(here)
            writes, later = written(here, begin), len(here.api.writes)
            await restarted(here)
            note = here.store.objects[BUDGET]["metadata"]["annotations"][ANNOTATION_TOKENS]
            return writes, written(here, later), note

    assert run(work()) == (AGAIN, [], "metrics=1,jobs=2,burst=1")


def test_it_goes_with_its_minicluster() -> None:
    async def work() -> list[ObjectReference]:
        async with world() as here:
            await made(here)
            here.store.delete(ObjectReference("MiniCluster", NAMESPACE, NAME))
            await here.converge()
            return secrets(here)

    assert run(work()) == []


def _full(request: Request) -> ApiError | None:
    if request.verb == "create" and "-tokens-" in request.name:
        return ApiError(HTTPStatus.FORBIDDEN, "Forbidden", "exceeded quota: secrets=1")
    return None


def test_a_quota_that_refuses_it_keeps_nothing_else_back_where_brokers_run() -> None:
    """The status shows it, and the MiniCluster can be resized."""

    async def work() -> tuple[int, list[str]]:
        async with world() as here:
            await made(here)
            here.site = replace(here.site, generations=Generations(jobs=2))
            here.api.refusals.append(_full)
            await here.restart()
            here.edit({"size": 4})
            await here.converge()
            status = here.store.objects[ObjectReference("MiniCluster", NAMESPACE, NAME)]["status"]
            shown = [each["message"] for each in status["conditions"] if each["type"] == "ResourcesCreated"]
            return here.store.objects[JOB]["spec"]["parallelism"], shown

    size, [message] = run(work())
    assert size == 4
    assert "exceeded quota: secrets=1" in message
