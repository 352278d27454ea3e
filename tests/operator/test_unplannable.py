"""A document that cannot be planned is shown as invalid, and costs nothing more."""

import logging
import re
from typing import Any

import pytest

from minicluster.kube_client.objects import ObjectReference
from minicluster.plan.constants import FINALIZER, KIND
from minicluster.plan.objects import config_map
from tests.operator.cases import document
from tests.operator.contents import MINICLUSTER, NAME
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

ERRORS = [RecursionError("too deep"), OverflowError("too large"), ValueError("too long")]
BUILD = config_map.build


def poison(monkeypatch: pytest.MonkeyPatch, error: Exception, *names: str) -> None:
    """Let the planning of these MiniClusters raise an error."""

    def build(cluster: Any, site: Any, **how: Any) -> Any:
        if cluster.metadata.name in names and "poison" in cluster.spec.containers[0].command:
            raise error
        return BUILD(cluster, site, **how)

    monkeypatch.setattr(config_map, "build", build)


def poisoned(**more: Any) -> Any:
    return document(containers=[{"image": "app", "command": "poison"}], **more)


def valid(here: World, name: str = NAME) -> tuple[str, str, str]:
    """Return status, reason and message of the condition `Valid`."""
    status = here.store.objects[ObjectReference(KIND, NAMESPACE, name)]["status"]
    (found,) = (each for each in status["conditions"] if each["type"] == "Valid")
    return found["status"], found["reason"], found["message"]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_its_own_status_has_the_reason(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """With the kind of the error: nobody else sees the operator's log."""
    poison(monkeypatch, error, NAME)

    async def work() -> tuple[str, str, str]:
        async with world() as here:
            await here.write(poisoned())
            await here.converge()
            return valid(here)

    status, reason, message = run(work())
    assert (status, reason) == ("False", "Invalid")
    assert message.startswith("no plan can be made of this document: ")
    assert type(error).__name__ in message


def test_it_is_written_once_and_logged_rarely(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried again every five minutes, not every five seconds; a line says where it was raised."""
    poison(monkeypatch, RecursionError("too deep"), NAME)
    caplog.set_level(logging.WARNING)

    async def work() -> list[str]:
        async with world() as here:
            await here.write(poisoned())
            await here.converge()
            before = len(here.api.writes)
            caplog.clear()
            await here.live(3_600)
            return [str(each) for each in here.api.writes[before:]]

    assert run(work()) == []
    assert len(caplog.records) == 12
    assert {each.message.partition(": ")[0] for each in caplog.records} == {f"{NAMESPACE}/{NAME}"}
    assert all(re.search(r"test_unplannable\.py:\d+$", each.message) for each in caplog.records)


def test_it_heals_when_it_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    poison(monkeypatch, OverflowError("too large"), NAME)

    async def work() -> tuple[str, str, str]:
        async with world() as here:
            await here.write(poisoned())
            await here.converge()
            here.edit({"containers": [{"image": "app", "command": "hostname"}]})
            await here.converge()
            return valid(here)

    assert run(work())[:2] == ("True", "Accepted")


def test_one_that_cannot_be_planned_can_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is unknown what to save, and it must not stay for ever."""
    poison(monkeypatch, RecursionError("too deep"), NAME)

    async def work() -> bool:
        async with world() as here:
            written = poisoned(archive={"path": "/a/mc.tgz"})
            written["metadata"]["finalizers"] = [FINALIZER]
            await here.write(written)
            await here.converge()
            here.store.delete(MINICLUSTER)
            await here.converge()
            return MINICLUSTER in here.store.objects

    assert not run(work())


def test_others_are_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    poison(monkeypatch, RecursionError("too deep"), NAME)

    async def work() -> tuple[str, str, str]:
        async with world() as here:
            await here.write(poisoned())
            honest = document()
            honest["metadata"]["name"] = "honest"
            await here.write(honest)
            await here.converge()
            return valid(here, "honest")

    assert run(work())[:2] == ("True", "Accepted")
