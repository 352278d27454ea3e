"""Bursts in a status: the service's list stays, the operator makes a condition and Events of it."""

from collections.abc import Callable
from typing import Any

import pytest

from minicluster.plan.constants import BURST_FINALIZER, FINALIZER
from tests.operator.archived import Instance
from tests.operator.contents import MINICLUSTER
from tests.operator.field_sets import Object
from tests.operator.virtual_time import run
from tests.operator.world import World, world

BURST: Object = {"id": "01abc", "slot": "far", "provider": "research", "state": "active", "nodes": 4}
MANAGED: dict[str, Any] = {"bursting": {}, "flux": {"bursting": {"clusters": [{"name": "far", "size": 4}]}}}


def suspend(instance: Instance) -> None:
    instance.suspend(True)


def resize(instance: Instance) -> None:
    instance.resize(2)


def spoil(instance: Instance) -> None:
    instance.here.edit({"minSize": 9})


CHANGES = {"suspended": suspend, "resized": resize, "not valid": spoil, "deleted": Instance.delete}


def show(here: World, *bursts: Object) -> None:
    """Write bursts into the status, as the service does."""
    here.store.patch(MINICLUSTER, {"status": {"bursts": list(bursts) or None}}, "burst", "status")


def condition(here: World) -> tuple[str, str, str] | None:
    """Return what the status has of the condition."""
    every = here.contents.status["conditions"]
    found = [
        (each["status"], each["reason"], each["message"]) for each in every if each["type"] == "Bursting"
    ]
    return found[0] if found else None


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_they_stay_with_their_condition_whatever_the_operator_writes(
    change: Callable[[Instance], None],
) -> None:
    async def work() -> tuple[Object, Any]:
        async with world() as here:
            instance = Instance(here, **MANAGED)
            await instance.begin()
            show(here, BURST)
            await instance.second()
            before = here.contents.status
            change(instance)
            for _ in range(2):
                await instance.second()
            assert here.contents.status != before
            return here.contents.status, condition(here)

    status, found = run(work())
    assert status["bursts"] == [BURST]
    assert found == ("True", "BurstsActive", "far: 4 nodes of research, active")


def test_events_follow_them() -> None:

    async def work() -> tuple[list[Any], list[Object]]:
        seen = []
        async with world() as here:
            instance = Instance(here, **MANAGED)
            await instance.begin()
            seen.append(condition(here))
            other = {**BURST, "id": "01abd", "slot": "near", "state": "joining", "nodes": 1}
            for bursts in (
                [{**BURST, "state": "provisioning"}],
                [{**BURST, "until": "2026-03-14T16:00:00Z", "cost": "3.20 EUR"}, other],
                [{**BURST, "state": "deleting"}],
                [],
            ):
                show(here, *bursts)
                for _ in range(2):
                    await instance.second()
                seen.append(condition(here))
            return seen, here.store.find("Event")

    seen, events = run(work())
    nobody = ("False", "NoBursts", "there are no bursts")
    active = "far: 4 nodes of research, active until 2026-03-14T16:00:00Z, at most 3.20 EUR"
    assert seen == [
        nobody,
        ("False", "BurstsStarting", "far: 4 nodes of research, provisioning"),
        ("True", "BurstsActive", f"{active}; near: 1 node of research, joining"),
        ("False", "BurstsEnding", "far: 4 nodes of research, deleting"),
        nobody,
    ]
    of_bursts = [each for each in events if "Bursts" in each["reason"]]
    assert [(each["reason"], each["message"]) for each in of_bursts] == [each[1:] for each in seen[1:]]


def test_without_a_service_there_is_no_condition() -> None:
    async def work() -> Any:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            show(here, BURST)
            await instance.second()
            return condition(here)

    assert run(work()) is None


def test_one_that_is_deleted_stays_until_its_service_lets_it_go() -> None:
    """Saved first, by the operator's own finalizer, which never touches the other."""

    async def work() -> tuple[list[str], bool]:
        async with world() as here:
            instance = Instance(here, **MANAGED)
            await instance.begin()
            about = here.store.objects[MINICLUSTER]["metadata"]
            guarded = {"metadata": {"finalizers": [*about.get("finalizers", ()), BURST_FINALIZER]}}
            here.store.patch(MINICLUSTER, guarded, "burst")
            instance.delete()
            await instance.minute()
            left = here.store.objects[MINICLUSTER]["metadata"]["finalizers"]
            here.store.patch(MINICLUSTER, {"metadata": {"finalizers": None}}, "burst")
            await instance.second()
            return left, MINICLUSTER in here.store.objects

    left, is_there = run(work())
    assert FINALIZER not in left
    assert (left, is_there) == ([BURST_FINALIZER], False)
