"""Heavy documents are planned by a worker: they hold no other up, and one that takes too much is told so."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from minicluster.document import weight
from minicluster.kube_client.objects import Name, ObjectReference
from minicluster.operator.errors import PlanningError, PlanningLimitError, WorkerLostError
from minicluster.plan.constants import FINALIZER, KIND
from tests.operator.cases import document
from tests.operator.contents import NAME
from tests.operator.field_sets import Object
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

LIMIT = "planning took more than 64 MB"
T = TypeVar("T")
HEAVY = "echo " + "x" * weight.HEAVY


def heavy(name: str = NAME, **spec: object) -> Object:
    """Return a heavy document."""
    made = document(containers=[{"image": "app", "command": HEAVY}], **spec)
    made["metadata"]["name"] = name
    return made


def light(name: str) -> Object:
    made = document()
    made["metadata"]["name"] = name
    return made


def status(here: World, name: str = NAME) -> Object:
    found: Object = here.store.objects[ObjectReference(KIND, NAMESPACE, name)].get("status", {})
    return found


def valid(here: World, name: str = NAME) -> Object:
    found: Object = next(each for each in status(here, name)["conditions"] if each["type"] == "Valid")
    return found


def events(here: World) -> list[tuple[str, str]]:
    found = here.store.find("Event", NAMESPACE)
    return [(each["type"], each["reason"]) for each in found if each["reason"] == "PlanningLimitExceeded"]


def poisonous(name: str) -> PlanningError | None:
    """Return that the document of this name takes too much, if it is the poisonous one."""
    return PlanningLimitError(LIMIT) if name == NAME else None


def lived(course: Callable[[World], Awaitable[T]]) -> T:
    """Return what a course in a world returns."""

    async def work() -> T:
        async with world() as here:
            return await course(here)

    return run(work())


def test_an_ordinary_document_needs_no_worker() -> None:
    async def course(here: World) -> list[str]:
        await here.write(document())
        await here.converge()
        return here.operator.worker.given

    assert lived(course) == []


def test_a_heavy_document_becomes_what_an_ordinary_one_does() -> None:
    """All its objects, by the worker; what stands as it was applied is not applied again."""

    async def course(here: World) -> tuple[set[str], str, set[str], int]:
        await here.write(heavy())
        await here.converge()
        kinds = {reference.kind for reference in here.store.objects}
        before = len(here.api.writes)
        here.operator.controller.changed(Name(NAMESPACE, NAME))
        await here.converge()
        again = len(here.api.writes) - before
        return set(here.operator.worker.given), valid(here)["reason"], kinds, again

    given, reason, kinds, again = lived(course)
    assert (given, reason, again) == ({NAME}, "Accepted", 0)
    assert {"Secret", "ConfigMap", "Service", "NetworkPolicy", "PodDisruptionBudget", "Job"} <= kinds


def test_others_are_served_while_one_is_planned() -> None:
    """However many heavy ones wait for the worker: they take no place of others."""

    async def course(here: World) -> set[str]:
        here.operator.worker.seconds = 1_000.0
        for number in range(40):
            await here.write(heavy(f"heavy-{number}"))
        for number in range(40):
            await here.write(light(f"light-{number}"))
        here.watches.deliver(KIND)
        await here.live(1.0)
        return {each for number in range(40) if status(here, each := f"light-{number}")}

    assert lived(course) == {f"light-{number}" for number in range(40)}


def test_what_takes_too_much_has_a_condition_and_an_event() -> None:
    """With the limit, the part that weighs most, and when it is tried again; an Event as well."""

    async def course(here: World) -> tuple[Object, Object, list[tuple[str, str]]]:
        here.operator.worker.trouble = poisonous
        await here.write(heavy())
        here.watches.deliver(KIND)
        await here.live(1.0)
        return valid(here), status(here), events(here)

    condition, found, sent = lived(course)
    due = found["planning"]["retryAt"]
    assert (condition["status"], condition["reason"]) == ("False", "PlanningLimitExceeded")
    assert condition["message"] == (
        f"{LIMIT}; make spec.containers[0].command smaller. It was tried once, and is tried again at {due}"
    )
    assert found["phase"] == "Invalid"
    assert found["planning"] == {"generation": 1, "attempts": 1, "retryAt": due}
    assert sent == [("Warning", "PlanningLimitExceeded")]


TRIES = {"30 s": (30, 1), "90 s": (90, 2), "660 s": (650, 2), "700 s": (700, 3), "3 h": (10_800, 5)}


@pytest.mark.parametrize("restarted", [False, True], ids=["one operator", "operators that come and go"])
@pytest.mark.parametrize(("seconds", "tried"), TRIES.values(), ids=TRIES)
def test_it_is_tried_ever_less_often(seconds: int, tried: int, restarted: bool) -> None:
    """After one minute, ten minutes, and each hour; another operator goes by that as well."""

    async def course(here: World) -> int:
        given: list[str] = []
        await here.write(heavy())
        for _ in range(10):
            here.operator.worker.trouble = poisonous
            here.operator.worker.given = given
            here.watches.deliver(KIND)
            await here.live(seconds / 10)
            if restarted:
                await here.restart()
        return len(given)

    assert lived(course) == tried


def test_a_changed_document_is_tried_at_once() -> None:
    """Nothing is left of it then."""

    async def course(here: World) -> tuple[str, Object]:
        here.operator.worker.trouble = poisonous
        await here.write(heavy())
        here.watches.deliver(KIND)
        await here.live(1.0)
        here.operator.worker.trouble = lambda _: None
        here.edit({"size": 4})
        await here.converge()
        return valid(here)["reason"], status(here)

    reason, found = lived(course)
    assert reason == "Accepted"
    assert "planning" not in found


def test_it_can_be_deleted() -> None:
    """What to save of it is not known; it does not stay for ever."""

    async def course(here: World) -> bool:
        reference = ObjectReference(KIND, NAMESPACE, NAME)
        await here.write(heavy(archive={"path": "/a"}))
        await here.converge()
        assert FINALIZER in here.store.objects[reference]["metadata"]["finalizers"]
        here.operator.worker.trouble = poisonous
        here.store.delete(reference)
        here.watches.deliver(KIND)
        await here.live(5.0)
        return reference in here.store.objects

    assert lived(course) is False


def test_without_a_worker_it_is_tried_again() -> None:
    """That is not the document's fault."""

    async def course(here: World) -> tuple[bool, str]:
        here.operator.worker.trouble = lambda _: WorkerLostError("no process could be started")
        await here.write(heavy())
        here.watches.deliver(KIND)
        await here.live(1.0)
        has_status = bool(status(here))
        here.operator.worker.trouble = lambda _: None
        await here.converge()
        return has_status, valid(here)["reason"]

    assert lived(course) == (False, "Accepted")
