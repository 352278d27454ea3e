"""A rollback to this release: the status has fields and values of a later one, and nothing is lost for it."""

import logging
from typing import Any

import pytest

from minicluster.document import weight
from tests.operator.archived import Instance
from tests.operator.contents import MINICLUSTER
from tests.operator.field_sets import Object
from tests.operator.virtual_time import run
from tests.operator.world import world

AT = "2026-03-14T15:09:26Z"
UNKNOWN: Object = {"later": {"a": [1, {"b": 2}]}, "lastDump": {"path": "/a", "later": "x"}}
UNEXPECTED: Object = {
    "save": {"phase": "Copying", "startedAt": AT, "retryAt": AT},
    "leadLoss": {"cause": "Moved"},
}
STATUSES = {
    "unknown fields": UNKNOWN,
    "unexpected values": UNEXPECTED,
    "another type": {"restartedJobs": ["ƒa"], "readyBrokers": "all"},
}


async def rolled_back(here: Any, status: Object, **spec: Any) -> Instance:
    """Have a MiniCluster at work, with this status besides, and an operator that has just begun."""
    instance = Instance(here, **spec)
    await instance.begin()
    here.store.patch(MINICLUSTER, {"status": status}, "operator", "status")
    await here.restart()
    return instance


def validity(here: Any) -> set[str]:
    """Return what the condition Valid ever was."""
    items = (each.new for each in here.store.history.changes if each.reference == MINICLUSTER and each.new)
    shown = (each for item in items for each in item.get("status", {}).get("conditions", ()))
    return {each["status"] for each in shown if each["type"] == "Valid"}


@pytest.mark.parametrize("weighs", ["light", "heavy"])
@pytest.mark.parametrize("status", STATUSES.values(), ids=STATUSES)
def test_a_deletion_still_saves(status: Object, weighs: str) -> None:
    """Also where it is read by the process for heavy documents."""

    async def work() -> tuple[bool, int, bool]:
        async with world() as here:
            command = "echo " + "x" * (weight.HEAVY if weighs == "heavy" else 1)
            containers = [{"image": "app", "command": command}]
            instance = await rolled_back(here, status, containers=containers, interactive=True)
            instance.delete()
            for _ in range(20):
                await instance.second()
            return MINICLUSTER in here.store.objects, here.lead.saves, bool(here.operator.worker.given)

    assert run(work()) == (False, 1, weighs == "heavy")


@pytest.mark.parametrize("status", STATUSES.values(), ids=STATUSES)
def test_it_is_valid_and_goes_on(status: Object) -> None:
    """At rest, too: what is unknown is no reason to write."""

    async def work() -> None:
        async with world() as here:
            instance = await rolled_back(here, status)
            for _ in range(3):
                await instance.second()
            assert validity(here) == {"True"}
            instance.suspend(True)
            await instance.rest()
            await instance.check()
            assert here.lead.saves == 1

    run(work())


def test_writes_leave_unknown_fields_as_they_are() -> None:
    """So that a later operator finds them. What this one writes replaces what it could not read."""

    async def work() -> tuple[Object, Object]:
        async with world() as here:
            instance = await rolled_back(here, {**UNKNOWN, **UNEXPECTED})
            instance.suspend(True)
            for _ in range(2):
                await instance.second()
            amid = here.contents.status
            await instance.rest()
            return amid, here.contents.status

    amid, after = run(work())
    assert amid["later"] == after["later"] == UNKNOWN["later"]
    assert after["lastDump"]["later"] == "x"
    assert (amid["save"]["phase"], "retryAt" in amid["save"]) == ("Writing", False)
    assert not {"save", "leadLoss"} & after.keys()


def test_what_is_not_read_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with world() as here:
            instance = await rolled_back(here, {**UNKNOWN, **UNEXPECTED})
            for _ in range(6):
                await instance.second()

    with caplog.at_level(logging.WARNING, "minicluster.operator.planner"):
        run(work())
    (line,) = (each for each in caplog.messages if "not as this operator" in each)
    assert "status.leadLoss.cause, status.save.phase, status.leadLoss, status.save: " in line


def test_a_mistake_in_the_spec_is_named_as_ever() -> None:
    async def work() -> str:
        async with world() as here:
            instance = await rolled_back(here, {**UNKNOWN, **UNEXPECTED})
            here.edit({"later": 1})
            await instance.second()
            (found,) = (each for each in here.contents.status["conditions"] if each["type"] == "Valid")
            return f"{found['status']}: {found['message']}"

    assert run(work()).startswith("False: spec.later: unknown field")
