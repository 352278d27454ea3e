"""What a burst service writes into a status stays there, whatever the operator writes."""

from collections.abc import Callable

import pytest

from minicluster.plan.constants import BURSTING_CONDITION
from tests.operator.archived import Instance
from tests.operator.contents import MINICLUSTER
from tests.operator.field_sets import Object
from tests.operator.virtual_time import run
from tests.operator.world import world

BURST: Object = {"id": "01abc", "slot": "far", "provider": "research", "state": "active", "nodes": 4}
ACTIVE: Object = {
    "type": BURSTING_CONDITION,
    "status": "True",
    "reason": "Active",
    "message": "1 burst of 4 nodes",
    "lastTransitionTime": "2026-03-14T15:09:26Z",
    "observedGeneration": 1,
}


def suspend(instance: Instance) -> None:
    instance.suspend(True)


def resize(instance: Instance) -> None:
    instance.resize(2)


def spoil(instance: Instance) -> None:
    instance.here.edit({"minSize": 9})


CHANGES = {"suspended": suspend, "resized": resize, "not valid": spoil, "deleted": Instance.delete}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_bursts_and_their_condition_stay(change: Callable[[Instance], None]) -> None:
    """A list is written as a whole: the operator's conditions come with that of the service."""

    async def work() -> tuple[Object, list[Object]]:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            conditions = [*here.contents.status["conditions"], ACTIVE]
            here.store.patch(
                MINICLUSTER, {"status": {"bursts": [BURST], "conditions": conditions}}, "burst", "status"
            )
            change(instance)
            for _ in range(2):
                await instance.second()
            return here.contents.status, conditions

    after, before = run(work())
    assert after["bursts"] == [BURST]
    assert after["conditions"] != before
    assert after["conditions"][-1] == ACTIVE
    assert [each["type"] for each in after["conditions"]] == [each["type"] for each in before]


def test_they_go_when_the_service_takes_them_out() -> None:
    async def work() -> tuple[Object, Object]:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            before = here.contents.status
            for status in ({"bursts": [BURST], "conditions": [*before["conditions"], ACTIVE]}, before):
                here.store.patch(MINICLUSTER, {"status": {"bursts": None, **status}}, "burst", "status")
                for _ in range(2):
                    await instance.second()
            return before, here.contents.status

    before, after = run(work())
    assert after == before
