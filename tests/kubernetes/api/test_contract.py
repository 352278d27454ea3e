"""What the operator depends on in an API server, as facts that hold on the real one and on the one in memory.

The thousands of cases of tests/operator run on the one in memory; this is what makes them worth something.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from minicluster.kube_client.api import Api, Selection
from minicluster.kube_client.resources import CONFIG_MAPS, JOBS, SERVICES
from minicluster.operator import observation
from tests.kubernetes.contract import (
    NOBODY,
    Object,
    Opening,
    Server,
    condition,
    fact,
    gone,
    job,
    minicluster,
    owner,
    read,
    refused,
    service,
    settings,
    watched_events,
)

# Creating


@fact
async def test_create_answers_with_the_metadata(server: Server) -> None:
    answer = await server.api.create(settings(server))
    assert answer["metadata"]["uid"]
    assert int(answer["metadata"]["resourceVersion"]) > 1
    assert "data" not in answer


@fact
async def test_create_of_what_exists_is_refused(server: Server) -> None:
    await server.api.create(settings(server))
    assert await refused(server.api.create(settings(server, data={"a": "b"}))) == (409, "AlreadyExists")
    assert (await read(server))["data"] == {"key": "value"}


@fact
async def test_versions_rise_across_kinds(server: Server) -> None:
    """An object's version can be compared with that of a list of another kind."""
    first = await server.api.create(settings(server))
    second = await server.api.create(minicluster(server))
    listed = await server.api.list(Selection(JOBS, server.namespace))
    versions = [int(each["metadata"]["resourceVersion"]) for each in (first, second)]
    assert versions[0] < versions[1] <= int(listed.version)


MISSING: dict[str, Callable[[Api, str], Awaitable[Any]]] = {
    "read": lambda api, namespace: api.read(CONFIG_MAPS, namespace, "settings"),
    "patch": lambda api, namespace: api.patch(CONFIG_MAPS, namespace, "settings", {"data": {"a": "b"}}),
    "delete": lambda api, namespace: api.delete(CONFIG_MAPS, namespace, "settings"),
}


@pytest.mark.parametrize("ask", MISSING.values(), ids=MISSING)
def test_what_is_not_there_is_not_found(server: Opening, ask: Callable[[Api, str], Awaitable[Any]]) -> None:
    async def check(server: Server) -> None:
        assert await refused(ask(server.api, server.namespace)) == (404, "NotFound")

    fact(check)(server)


# Server-side apply


@fact
async def test_apply_makes_what_is_not_there(server: Server) -> None:
    answer = await server.api.apply(settings(server))
    assert "data" not in answer
    assert (await read(server))["data"] == {"key": "value"}


@fact
async def test_apply_of_something_new(server: Server) -> None:
    await server.api.apply(settings(server), new=True)
    assert (await read(server))["data"] == {"key": "value"}


@fact
async def test_apply_of_something_new_that_exists_is_refused(server: Server) -> None:
    """Also where it is somebody else's: that is what it is for."""
    await server.other.create(settings(server, data={"their": "own"}))
    assert await refused(server.api.apply(settings(server), new=True)) == (409, "Conflict")
    assert (await read(server))["data"] == {"their": "own"}


@fact
async def test_apply_changes_what_exists(server: Server) -> None:
    await server.api.apply(settings(server))
    await server.api.apply(settings(server, data={"key": "other"}))
    assert (await read(server))["data"] == {"key": "other"}


@fact
async def test_apply_removes_what_was_applied_before(server: Server) -> None:
    await server.api.apply(settings(server, data={"key": "value", "old": "x"}, labels={"a": "1", "b": "2"}))
    await server.api.apply(settings(server, labels={"a": "1"}))
    found = await read(server)
    assert (found["data"], found["metadata"]["labels"]) == ({"key": "value"}, {"a": "1"})


@fact
async def test_apply_leaves_what_somebody_else_added(server: Server) -> None:
    await server.api.apply(settings(server))
    await server.other.patch(CONFIG_MAPS, server.namespace, "settings", {"data": {"their": "own"}})
    await server.api.apply(settings(server, data={"key": "other"}))
    assert (await read(server))["data"] == {"key": "other", "their": "own"}


@fact
async def test_apply_takes_back_what_somebody_else_changed(server: Server) -> None:
    await server.api.apply(settings(server))
    await server.other.patch(CONFIG_MAPS, server.namespace, "settings", {"data": {"key": "theirs"}})
    await server.api.apply(settings(server))
    assert (await read(server))["data"] == {"key": "value"}


@fact
async def test_a_field_that_was_taken_over_is_not_removed(server: Server) -> None:
    """Whoever changed it holds it now; that we apply it no more does not concern it."""
    await server.api.apply(settings(server, data={"key": "value", "b": "ours"}))
    await server.other.patch(CONFIG_MAPS, server.namespace, "settings", {"data": {"b": "theirs"}})
    await server.api.apply(settings(server))
    assert (await read(server))["data"] == {"key": "value", "b": "theirs"}


@fact
async def test_ports_are_distinguished_by_their_number(server: Server) -> None:
    await server.api.apply(service(server, 1, 2))
    await server.api.apply(service(server, 2, 3))
    assert [each["port"] for each in (await read(server, SERVICES, "mc"))["spec"]["ports"]] == [2, 3]


@fact
async def test_owners_are_distinguished_by_their_uid(server: Server) -> None:
    """Somebody else's stays beside ours."""
    mine = owner(await server.api.create(minicluster(server)))
    theirs = {**owner(await server.api.create(minicluster(server, "their"))), "controller": False}
    await server.api.apply(settings(server, ownerReferences=[mine]))
    patch = {"metadata": {"ownerReferences": [mine, theirs]}}
    await server.other.patch(CONFIG_MAPS, server.namespace, "settings", patch)
    await server.api.apply(settings(server, ownerReferences=[mine], labels={"a": "1"}))
    found = (await read(server))["metadata"]["ownerReferences"]
    assert {each["uid"] for each in found} == {mine["uid"], theirs["uid"]}


@fact
async def test_apply_of_the_same_is_no_write(server: Server) -> None:
    """The version stays, and no watch is told."""
    first = await server.api.apply(settings(server))
    again = await server.api.apply(settings(server))
    version = first["metadata"]["resourceVersion"]
    assert again["metadata"]["resourceVersion"] == version
    await server.api.apply(settings(server, data={"key": "other"}))
    events = await watched_events(server, Selection(CONFIG_MAPS, server.namespace), version, 1)
    assert events[0].item["data"] == {"key": "other"}


@fact
async def test_apply_to_another_uid_is_refused(server: Server) -> None:
    await server.api.apply(settings(server))
    assert await refused(server.api.apply(settings(server, uid=NOBODY))) == (409, "Conflict")


@fact
async def test_apply_with_a_uid_makes_nothing(server: Server) -> None:
    """What was to be changed is gone: it does not come back under its old uid."""
    assert await refused(server.api.apply(settings(server, uid=NOBODY))) == (409, "Conflict")
    assert await gone(server, CONFIG_MAPS, "settings")


@fact
async def test_apply_to_its_uid(server: Server) -> None:
    uid = (await server.api.apply(settings(server)))["metadata"]["uid"]
    await server.api.apply(settings(server, data={"key": "other"}, uid=uid))
    assert (await read(server))["data"] == {"key": "other"}


@fact
async def test_apply_to_an_old_version_is_refused(server: Server) -> None:
    version = (await server.api.apply(settings(server)))["metadata"]["resourceVersion"]
    await server.other.patch(CONFIG_MAPS, server.namespace, "settings", {"data": {"their": "own"}})
    late = settings(server, data={"key": "other"}, resourceVersion=version)
    assert await refused(server.api.apply(late)) == (409, "Conflict")


# Who holds the fields


@dataclass(frozen=True)
class Edit:
    """What somebody else does to an object that we applied, and what `observation` sees of it."""

    body: Object
    lost: bool
    shared: bool


EDITS = {
    "adds a label": Edit({"metadata": {"labels": {"their": "own"}}}, lost=False, shared=True),
    "adds a value": Edit({"data": {"their": "own"}}, lost=False, shared=True),
    "changes a value": Edit({"data": {"key": "theirs"}}, lost=True, shared=True),
    "changes a label": Edit({"metadata": {"labels": {"a": "theirs"}}}, lost=True, shared=True),
    "removes a value": Edit({"data": {"key": None}}, lost=True, shared=False),
    "removes a label": Edit({"metadata": {"labels": {"a": None}}}, lost=True, shared=False),
    "writes the same": Edit({"data": {"key": "value"}}, lost=False, shared=False),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_whoever_changes_a_field_takes_it_over(server: Opening, edit: Edit) -> None:
    async def check(server: Server) -> None:
        item = settings(server, data={"key": "value", "b": "c"}, labels={"a": "1", "b": "2"})
        before = observation.dependent("ConfigMap", await server.api.apply(item))
        await server.other.patch(CONFIG_MAPS, server.namespace, "settings", edit.body)
        after = observation.dependent("ConfigMap", await read(server))
        assert (after.owned_fields != before.owned_fields, after.shared) == (edit.lost, edit.shared)

    fact(check)(server)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_applying_once_more_takes_the_fields_back(server: Opening, edit: Edit) -> None:
    """Also what was removed is there again."""

    async def check(server: Server) -> None:
        item = settings(server, data={"key": "value", "b": "c"}, labels={"a": "1", "b": "2"})
        before = observation.dependent("ConfigMap", await server.api.apply(item))
        await server.other.patch(CONFIG_MAPS, server.namespace, "settings", edit.body)
        after = observation.dependent("ConfigMap", await server.api.apply(item))
        found = await read(server)
        assert after.owned_fields == before.owned_fields
        assert item["data"].items() <= found["data"].items()
        assert item["metadata"]["labels"].items() <= found["metadata"]["labels"].items()

    fact(check)(server)


@fact
async def test_what_is_created_has_the_fields_of_what_is_applied(server: Server) -> None:
    """Of a ConfigMap, which gets no defaults: else an operator that starts again would apply it once more."""
    item = settings(server, labels={"a": "1"})
    created = observation.dependent("ConfigMap", await server.api.create(item))
    assert (created.creation, created.shape) == (0, observation.shape(item))
    await server.api.delete(CONFIG_MAPS, server.namespace, "settings")
    applied = observation.dependent("ConfigMap", await server.api.apply(item, new=True))
    assert (applied.creation, applied.shape) == (None, created.shape)


async def adopt(server: Server, created: observation.Dependent) -> None:
    assert created.creation is not None
    operations = observation.adoption(created.creation, created.version)
    await server.api.patch(CONFIG_MAPS, server.namespace, "settings", operations)


@fact
async def test_what_was_created_can_be_applied_once_it_is_adopted(server: Server) -> None:
    """What is applied no more goes; what somebody else added stays."""
    wide = settings(server, data={"key": "value", "old": "x"}, labels={"a": "1", "b": "2"})
    await server.api.create(wide)
    await server.other.patch(CONFIG_MAPS, server.namespace, "settings", {"data": {"their": "own"}})
    created = observation.dependent("ConfigMap", await read(server))
    await adopt(server, created)
    applied = observation.dependent("ConfigMap", await server.api.apply(settings(server, labels={"a": "1"})))
    found = await read(server)
    assert (applied.creation, applied.shared) == (None, True)
    assert (found["data"], found["metadata"]["labels"]) == ({"key": "value", "their": "own"}, {"a": "1"})


@fact
async def test_another_version_is_not_adopted(server: Server) -> None:
    created = observation.dependent("ConfigMap", await server.api.create(settings(server)))
    await server.other.patch(CONFIG_MAPS, server.namespace, "settings", {"data": {"their": "own"}})
    assert await refused(adopt(server, created)) == (409, "Conflict")
    assert observation.dependent("ConfigMap", await read(server)).creation is not None


@fact
async def test_a_status_takes_no_fields(server: Server) -> None:
    """Controllers write a Job's status all the time."""
    before = observation.dependent("Job", await server.api.apply(job(server, suspend=True)))
    await server.until(lambda: condition(server, "Suspended", "True"))
    after = observation.dependent("Job", await read(server, JOBS, "mc"))
    assert after.version > before.version
    assert (after.owned_fields, after.shared) == (before.owned_fields, False)


@fact
async def test_what_kueue_does_to_a_job_takes_no_fields_of_ours(server: Server) -> None:
    """`suspend` is not ours then."""
    before = observation.dependent("Job", await server.api.apply(job(server)))
    await server.other.patch(JOBS, server.namespace, "mc", {"spec": {"suspend": True}})
    after = observation.dependent("Job", await read(server, JOBS, "mc"))
    assert (after.owned_fields, after.shared) == (before.owned_fields, True)
