"""What the operator depends on in an API server, as facts that hold on the real one and on the one in memory.

The thousands of cases of tests/operator run on the one in memory; this is what makes them worth something.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from minicluster import plan as planning
from minicluster import spec
from minicluster.kubernetes import observation
from minicluster.kubernetes.api import Api, Selection, WatchEvent
from minicluster.kubernetes.errors import ApiError
from minicluster.kubernetes.resources import (
    CONFIG_MAPS,
    JOBS,
    LEASES,
    MINICLUSTERS,
    PODS,
    RESOURCES,
    SERVICES,
    Resource,
)
from minicluster.plan.constants import LABEL_POD_INDEX
from tests.kubernetes.contract import Object, Opening, Server, fact, open_memory, open_real

DOCUMENTS: dict[str, Object] = {
    "plain": {},
    "services": {"services": [{"name": "database", "image": "db", "ports": [5432]}]},
    "sidecar": {
        "containers": [{"image": "app", "runFlux": True}, {"name": "side", "image": "side", "ports": [80]}]
    },
    "much": {
        "pod": {
            "annotations": {"a": "b"},
            "labels": {"c": "d"},
            "nodeSelector": {"disk": "fast"},
            "securityContext": {"runAsUser": 1000, "fsGroup": 1000},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        },
        "jobLabels": {"team": "physics"},
        "network": {"onePerNode": "Required"},
        "deadlineSeconds": 600,
        "flux": {"minimalService": True},
    },
}
NOBODY = "00000000-0000-4000-8000-00000000ffff"


@pytest.fixture(params=["memory", "real"])
def server(request: pytest.FixtureRequest) -> Opening:
    """The servers that the facts are about."""
    if request.param == "memory":
        return open_memory
    plane, namespace = (request.getfixturevalue(name) for name in ("plane", "namespace"))
    return functools.partial(open_real, plane, namespace)


def about(server: Server, name: str, **metadata: Any) -> Object:
    return {"name": name, "namespace": server.namespace, **metadata}


def settings(server: Server, name: str = "settings", data: Object | None = None, **metadata: Any) -> Object:
    """Return a ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": about(server, name, **metadata),
        "data": data or {"key": "value"},
    }


def service(server: Server, *ports: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": about(server, "mc"),
        "spec": {
            "clusterIP": "None",
            "selector": {"app": "mc"},
            "ports": [{"name": f"p{port}", "port": port, "protocol": "TCP"} for port in ports],
        },
    }


def minicluster(server: Server, name: str = "mc", **spec: Any) -> Object:
    return {
        "apiVersion": MINICLUSTERS.version,
        "kind": MINICLUSTERS.kind,
        "metadata": about(server, name),
        "spec": {"size": 2, "maxSize": 8, "containers": [{"image": "app"}], **spec},
    }


def job(server: Server, pods: int = 2, image: str = "app", **spec: Any) -> Object:
    """Return an indexed Job that fails with its lead."""
    rules = [{"action": "FailJob", "onExitCodes": {"containerName": "mc", "operator": "In", "values": [3]}}]
    pod = {"restartPolicy": "Never", "containers": [{"name": "mc", "image": image}]}
    return {
        "apiVersion": JOBS.version,
        "kind": "Job",
        "metadata": about(server, "mc"),
        "spec": {
            "completionMode": "Indexed",
            "completions": pods,
            "parallelism": pods,
            "podFailurePolicy": {"rules": rules},
            "podReplacementPolicy": "Failed",
            "template": {"metadata": {"labels": {"app": "mc"}}, "spec": pod},
            **spec,
        },
    }


def owner(item: Object, kind: str = MINICLUSTERS.kind, version: str = MINICLUSTERS.version) -> Object:
    """Return a reference to an owner that controls."""
    metadata = item["metadata"]
    known = {"apiVersion": version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
    return {**known, "controller": True, "blockOwnerDeletion": True}


async def read(server: Server, resource: Resource = CONFIG_MAPS, name: str = "settings") -> Object:
    return await server.api.read(resource, server.namespace, name)


async def refused(work: Awaitable[Any]) -> tuple[int, str]:
    """Return how the server refused something."""
    with pytest.raises(ApiError) as caught:
        await work
    return caught.value.status, caught.value.reason


async def gone(server: Server, resource: Resource, name: str) -> bool:
    try:
        await read(server, resource, name)
    except ApiError as error:
        return error.status == 404
    return False


async def told(server: Server, selection: Selection, version: str, count: int) -> list[WatchEvent]:
    """Return the first events after a version, but for bookmarks."""
    events: list[WatchEvent] = []
    async with asyncio.timeout(10):
        stream = server.api.watch(selection, version)
        async for event in stream:
            if event.type != "BOOKMARK":
                events.append(event)
            if len(events) == count:
                await stream.aclose()  # type: ignore[attr-defined]
                return events
    raise AssertionError(f"the watch ended after {events}")


def names(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.item["metadata"]["name"]) for event in events]


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
    "read": lambda api, place: api.read(CONFIG_MAPS, place, "settings"),
    "patch": lambda api, place: api.patch(CONFIG_MAPS, place, "settings", {"data": {"a": "b"}}),
    "delete": lambda api, place: api.delete(CONFIG_MAPS, place, "settings"),
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
async def test_ports_are_told_apart_by_their_number(server: Server) -> None:
    await server.api.apply(service(server, 1, 2))
    await server.api.apply(service(server, 2, 3))
    assert [each["port"] for each in (await read(server, SERVICES, "mc"))["spec"]["ports"]] == [2, 3]


@fact
async def test_owners_are_told_apart_by_their_uid(server: Server) -> None:
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
    events = await told(server, Selection(CONFIG_MAPS, server.namespace), version, 1)
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


class Edit:
    """What somebody else does to an object that we applied, and what `observation` sees of it."""

    def __init__(self, body: Object, *, lost: bool, shared: bool) -> None:
        self.body = body
        self.lost = lost
        self.shared = shared


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
        assert (after.held != before.held, after.shared) == (edit.lost, edit.shared)

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
        assert after.held == before.held
        assert item["data"].items() <= found["data"].items()
        assert item["metadata"]["labels"].items() <= found["metadata"]["labels"].items()

    fact(check)(server)


@fact
async def test_a_status_takes_no_fields(server: Server) -> None:
    """Controllers write a Job's status all the time."""
    before = observation.dependent("Job", await server.api.apply(job(server, suspend=True)))
    await server.until(lambda: _condition(server, "Suspended", "True"))
    after = observation.dependent("Job", await read(server, JOBS, "mc"))
    assert after.version > before.version
    assert (after.held, after.shared) == (before.held, False)


@fact
async def test_what_kueue_does_to_a_job_takes_no_fields_of_ours(server: Server) -> None:
    """`suspend` is not ours then."""
    before = observation.dependent("Job", await server.api.apply(job(server)))
    await server.other.patch(JOBS, server.namespace, "mc", {"spec": {"suspend": True}})
    after = observation.dependent("Job", await read(server, JOBS, "mc"))
    assert (after.held, after.shared) == (before.held, True)


# Merge patches, and the status


@fact
async def test_a_patch_merges_and_removes(server: Server) -> None:
    """RFC 7386: null removes."""
    await server.api.create(settings(server, data={"a": "1", "b": "2"}))
    answer = await server.api.patch(
        CONFIG_MAPS, server.namespace, "settings", {"data": {"a": None, "c": "3"}}
    )
    assert answer["data"] == {"b": "2", "c": "3"}


@fact
async def test_a_patch_of_the_same_is_no_write(server: Server) -> None:
    answer = await server.api.create(settings(server))
    again = await server.api.patch(CONFIG_MAPS, server.namespace, "settings", {"data": {"key": "value"}})
    assert again["metadata"]["resourceVersion"] == answer["metadata"]["resourceVersion"]


@fact
async def test_a_status_of_an_old_version_is_not_written(server: Server) -> None:
    made = await server.api.create(minicluster(server))
    await server.other.patch(MINICLUSTERS, server.namespace, "mc", {"spec": {"size": 3}})
    known = {"resourceVersion": made["metadata"]["resourceVersion"]}
    body = {"metadata": known, "status": {"phase": "Running"}}
    late = server.api.patch(MINICLUSTERS, server.namespace, "mc", body, "status")
    assert await refused(late) == (409, "Conflict")
    assert "status" not in await read(server, MINICLUSTERS, "mc")


@fact
async def test_a_status_of_another_uid_is_written(server: Server) -> None:
    """The server does not look at it there: the version must be a precondition."""
    await server.api.create(minicluster(server))
    body = {"metadata": {"uid": NOBODY}, "status": {"phase": "Running"}}
    await server.api.patch(MINICLUSTERS, server.namespace, "mc", body, "status")
    assert (await read(server, MINICLUSTERS, "mc"))["status"] == {"phase": "Running"}


PRECONDITIONS = {
    "another uid": {"uid": NOBODY},
    "an old version": {"resourceVersion": "1"},
}


@pytest.mark.parametrize("metadata", PRECONDITIONS.values(), ids=PRECONDITIONS)
def test_a_patch_is_made_only_where_the_precondition_holds(server: Opening, metadata: Object) -> None:
    async def check(server: Server) -> None:
        await server.api.create(settings(server))
        body = {"metadata": metadata, "data": {"key": "other"}}
        late = server.api.patch(CONFIG_MAPS, server.namespace, "settings", body)
        assert await refused(late) == (409, "Conflict")
        assert (await read(server))["data"] == {"key": "value"}

    fact(check)(server)


@fact
async def test_a_status_is_written_apart(server: Server) -> None:
    """A write to the status leaves the document and its generation alone."""
    made = await server.api.create(minicluster(server))
    known = {key: made["metadata"][key] for key in ("uid", "resourceVersion")}
    body = {"metadata": known, "spec": {"size": 5}, "status": {"phase": "Running"}}
    answer = await server.api.patch(MINICLUSTERS, server.namespace, "mc", body, "status")
    assert (answer["status"], answer["spec"]["size"]) == ({"phase": "Running"}, 2)
    assert answer["metadata"]["generation"] == 1
    assert int(answer["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


@fact
async def test_a_document_is_written_without_its_status(server: Server) -> None:
    await server.api.create({**minicluster(server), "status": {"phase": "Failed"}})
    body = {"spec": {"size": 3}, "status": {"phase": "Failed"}}
    answer = await server.api.patch(MINICLUSTERS, server.namespace, "mc", body)
    assert (answer["spec"]["size"], answer.get("status")) == (3, None)


@pytest.mark.parametrize(
    ("body", "generation"),
    [({"spec": {"size": 3}}, 2), ({"metadata": {"labels": {"a": "b"}}}, 1)],
    ids=["document", "label"],
)
def test_the_generation_counts_changes_of_the_document(
    server: Opening, body: Object, generation: int
) -> None:
    async def check(server: Server) -> None:
        await server.api.create(minicluster(server))
        answer = await server.api.patch(MINICLUSTERS, server.namespace, "mc", body)
        assert answer["metadata"]["generation"] == generation

    fact(check)(server)


@fact
async def test_a_replacement_replaces(server: Server) -> None:
    await server.api.create(settings(server, data={"a": "1", "b": "2"}))
    found = await read(server)
    await server.api.replace({**found, "data": {"a": "2"}})
    assert (await read(server))["data"] == {"a": "2"}


@fact
async def test_a_replacement_of_an_old_version_is_refused(server: Server) -> None:
    """Of two who saw the same Lease, one gets it."""
    lease = {"apiVersion": LEASES.version, "kind": "Lease", "metadata": about(server, "operator")}
    await server.api.create({**lease, "spec": {"holderIdentity": "nobody"}})
    found = await read(server, LEASES, "operator")
    await server.other.replace({**found, "spec": {"holderIdentity": "other"}})
    late = server.api.replace({**found, "spec": {"holderIdentity": "me"}})
    assert await refused(late) == (409, "Conflict")
    assert (await read(server, LEASES, "operator"))["spec"]["holderIdentity"] == "other"


# Lists and watches


@fact
async def test_a_list_is_selected_by_labels(server: Server) -> None:
    await server.api.create(settings(server, "first", labels={"app": "mc", "part": "a"}))
    await server.api.create(settings(server, "second", labels={"app": "mc", "part": "b"}))
    await server.api.create(settings(server, "third", labels={"app": "other", "part": "a"}))
    found = await server.api.list(Selection(CONFIG_MAPS, server.namespace, "app=mc,part=a"))
    assert [each["metadata"]["name"] for each in found.items] == ["first"]


@fact
async def test_a_list_of_all_namespaces(server: Server) -> None:
    await server.api.create(settings(server, labels={"app": server.namespace}))
    found = await server.api.list(Selection(CONFIG_MAPS, "", f"app={server.namespace}"))
    assert [each["metadata"]["namespace"] for each in found.items] == [server.namespace]


@pytest.mark.parametrize("bare", [False, True], ids=["whole", "bare"])
def test_a_list_has_whole_objects_or_their_metadata(server: Opening, bare: bool) -> None:
    async def check(server: Server) -> None:
        await server.api.apply(settings(server, labels={"app": "mc"}))
        (found,) = (
            await server.api.list(Selection(CONFIG_MAPS, server.namespace, "app=mc", bare=bare))
        ).items
        assert ("data" not in found) is bare
        assert observation.dependent("ConfigMap", found) == observation.dependent(
            "ConfigMap", await read(server)
        )

    fact(check)(server)


@fact
async def test_objects_in_a_list_name_their_kind_only_if_it_is_ours(server: Server) -> None:
    """Of built-in kinds the server leaves it out."""
    await server.api.create(minicluster(server))
    await server.api.create(settings(server, labels={"app": "mc"}))
    (ours,) = (await server.api.list(Selection(MINICLUSTERS, server.namespace))).items
    (built_in,) = (await server.api.list(Selection(CONFIG_MAPS, server.namespace, "app=mc"))).items
    assert (ours["kind"], ours["apiVersion"]) == (MINICLUSTERS.kind, MINICLUSTERS.version)
    assert "kind" not in built_in


@fact
async def test_a_watch_goes_on_from_a_list(server: Server) -> None:
    """It tells of what comes after it, each change once, in order."""
    await server.api.create(settings(server, "before", labels={"app": "mc"}))
    selection = Selection(CONFIG_MAPS, server.namespace, "app=mc")
    listed = await server.api.list(selection)
    await server.api.create(settings(server, "after", labels={"app": "mc"}))
    await server.api.patch(CONFIG_MAPS, server.namespace, "before", {"data": {"key": "other"}})
    await server.api.delete(CONFIG_MAPS, server.namespace, "after")
    events = await told(server, selection, listed.version, 3)
    assert names(events) == [("ADDED", "after"), ("MODIFIED", "before"), ("DELETED", "after")]
    versions = [int(each.item["metadata"]["resourceVersion"]) for each in events]
    assert versions == sorted(set(versions))


@fact
async def test_a_watch_tells_what_happens_while_it_runs(server: Server) -> None:
    selection = Selection(CONFIG_MAPS, server.namespace, "app=mc")
    listed = await server.api.list(selection)
    watch = asyncio.create_task(told(server, selection, listed.version, 1))
    await asyncio.sleep(0.05)
    await server.api.create(settings(server, labels={"app": "mc"}))
    assert names(await watch) == [("ADDED", "settings")]


@fact
async def test_a_watch_tells_of_what_enters_and_leaves_the_selection(server: Server) -> None:
    """An object that loses its label is gone for whoever selects by it."""
    selection = Selection(CONFIG_MAPS, server.namespace, "app=mc")
    version = (await server.api.create(settings(server)))["metadata"]["resourceVersion"]
    for label in ("mc", "other"):
        body = {"metadata": {"labels": {"app": label}}}
        await server.other.patch(CONFIG_MAPS, server.namespace, "settings", body)
    events = await told(server, selection, version, 2)
    assert names(events) == [("ADDED", "settings"), ("DELETED", "settings")]
    now = (await read(server))["metadata"]["resourceVersion"]
    assert events[1].item["metadata"]["resourceVersion"] == now
    assert events[1].item["metadata"]["labels"] == {"app": "mc"}


@fact
async def test_a_watch_of_metadata_tells_no_more(server: Server) -> None:
    selection = Selection(CONFIG_MAPS, server.namespace, "app=mc", bare=True)
    listed = await server.api.list(selection)
    await server.api.create(settings(server, labels={"app": "mc"}))
    (event,) = await told(server, selection, listed.version, 1)
    assert event.item["kind"] == "PartialObjectMetadata"
    assert "data" not in event.item


@fact
async def test_a_bookmark_says_how_far_a_watch_has_come(server: Server) -> None:
    """Also where nothing was told: else the next watch would begin at a forgotten version."""
    selection = Selection(CONFIG_MAPS, server.namespace, "app=nobody")
    listed = await server.api.list(selection)
    await server.api.create(settings(server))
    event = await server.bookmark(selection, listed.version)
    assert event.type == "BOOKMARK"
    assert int(event.item["metadata"]["resourceVersion"]) >= int(listed.version)


@fact
async def test_a_watch_from_a_forgotten_version_is_refused(server: Server) -> None:
    """Of MiniClusters: what the real server remembers of built-in kinds reaches back to its start."""
    await server.api.create(minicluster(server))
    version = await server.forgotten()
    with pytest.raises(ApiError) as caught:
        await told(server, Selection(MINICLUSTERS, server.namespace), version, 1)
    assert caught.value.status == 410


# Deleting


@fact
async def test_delete_of_another_uid_is_refused(server: Server) -> None:
    await server.api.create(settings(server))
    late = server.api.delete(CONFIG_MAPS, server.namespace, "settings", NOBODY)
    assert await refused(late) == (409, "Conflict")
    assert await read(server)


@fact
async def test_delete_of_its_uid(server: Server) -> None:
    uid = (await server.api.create(settings(server)))["metadata"]["uid"]
    await server.api.delete(CONFIG_MAPS, server.namespace, "settings", uid)
    assert await gone(server, CONFIG_MAPS, "settings")


@fact
async def test_what_has_a_finalizer_only_begins_to_go(server: Server) -> None:
    await server.api.create(settings(server, finalizers=["example.org/hold"]))
    await server.api.delete(CONFIG_MAPS, server.namespace, "settings")
    found = observation.dependent("ConfigMap", await read(server))
    await server.other.patch(CONFIG_MAPS, server.namespace, "settings", {"metadata": {"finalizers": None}})
    assert found.going
    assert await gone(server, CONFIG_MAPS, "settings")


@fact
async def test_what_belongs_to_a_minicluster_goes_with_it(server: Server) -> None:
    reference = owner(await server.api.create(minicluster(server)))
    await server.api.apply(settings(server, "ours", ownerReferences=[reference]))
    await server.api.apply(settings(server, "free"))
    await server.api.delete(MINICLUSTERS, server.namespace, "mc")
    assert await server.until(lambda: gone(server, CONFIG_MAPS, "ours"))
    assert not await gone(server, CONFIG_MAPS, "free")


@fact
async def test_what_has_another_owner_stays(server: Server) -> None:
    reference = owner(await server.api.create(minicluster(server)))
    other = owner(await server.api.create(minicluster(server, "other")))
    both = [reference, {**other, "controller": False}]
    await server.api.apply(settings(server, "shared", ownerReferences=both))
    await server.api.apply(settings(server, "ours", ownerReferences=[reference]))
    await server.api.delete(MINICLUSTERS, server.namespace, "mc")
    assert await server.until(lambda: gone(server, CONFIG_MAPS, "ours"))
    assert not await gone(server, CONFIG_MAPS, "shared")


@fact
async def test_what_is_made_for_an_owner_that_is_gone_goes(server: Server) -> None:
    """A write that came late: the MiniCluster was deleted meanwhile."""
    reference = owner(await server.api.create(minicluster(server)))
    await server.api.delete(MINICLUSTERS, server.namespace, "mc")
    await server.api.apply(settings(server, ownerReferences=[reference]))
    assert await server.until(lambda: gone(server, CONFIG_MAPS, "settings"))


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_a_namespace_that_ends_takes_nothing_new(server: Opening, verb: str) -> None:
    async def check(server: Server) -> None:
        await server.api.create(settings(server, finalizers=["example.org/hold"]))
        await server.end_namespace()
        late = settings(server, "late")
        with pytest.raises(ApiError, match="because it is being terminated") as caught:
            await (server.api.create(late) if verb == "create" else server.api.apply(late, new=True))
        assert (caught.value.status, caught.value.reason) == (403, "Forbidden")

    fact(check)(server)


# Jobs


def immutable_changes(server: Server) -> dict[str, Object]:
    return {
        "another image": job(server, image="other"),
        "completions alone": job(server, parallelism=3),
        "another success policy": job(server, successPolicy={"rules": [{"succeededIndexes": "0"}]}),
    }


@pytest.mark.parametrize("change", ["another image", "completions alone", "another success policy"])
def test_a_job_stays_as_it_was_made(server: Opening, change: str) -> None:
    async def check(server: Server) -> None:
        await server.api.apply(job(server))
        other = immutable_changes(server)[change]
        if change == "completions alone":
            other = job(server, completions=4)
        assert await refused(server.api.apply(other)) == (422, "Invalid")

    fact(check)(server)


@fact
async def test_an_immutable_config_map_stays_as_it_was_made(server: Server) -> None:
    await server.api.apply({**settings(server), "immutable": True})
    other = {**settings(server, data={"key": "other"}), "immutable": True}
    assert await refused(server.api.apply(other)) == (422, "Invalid")


@fact
async def test_a_jobs_size_changes(server: Server) -> None:
    await server.api.apply(job(server, 2))
    await server.api.apply(job(server, 3))
    found = await read(server, JOBS, "mc")
    assert (observation.job_report(found).parallelism, found["metadata"]["generation"]) == (3, 2)


async def _condition(server: Server, type_: str, status: str) -> Object | None:
    conditions = (await read(server, JOBS, "mc")).get("status", {}).get("conditions") or ()
    wanted = (each for each in conditions if (each["type"], each["status"]) == (type_, status))
    return next(wanted, None)


async def _active(server: Server, count: int) -> Object | None:
    found = await read(server, JOBS, "mc")
    return found if observation.job_report(found).active == count else None


async def _pods(server: Server) -> list[Object]:
    return list((await server.api.list(Selection(PODS, server.namespace, "app=mc"))).items)


@fact
async def test_a_job_has_a_pod_an_index(server: Server) -> None:
    uid = (await server.api.apply(job(server, 3)))["metadata"]["uid"]
    found = await server.until(lambda: _active(server, 3))
    pods = await _pods(server)
    assert found["status"]["startTime"]
    assert sorted(observation.pod_report(pod).index for pod in pods) == [0, 1, 2]
    assert {observation.controller_uid(pod) for pod in pods} == {uid}
    assert {pod["metadata"]["annotations"][LABEL_POD_INDEX] for pod in pods} == {"0", "1", "2"}
    assert {observation.pod_report(pod).phase for pod in pods} == {"Pending"}


@fact
async def test_a_job_that_shrinks_loses_its_highest_pods(server: Server) -> None:
    await server.api.apply(job(server, 3))
    await server.until(lambda: _active(server, 3))
    await server.api.apply(job(server, 1))
    await server.until(lambda: _active(server, 1))
    assert [observation.pod_report(pod).index for pod in await _pods(server)] == [0]


@fact
async def test_a_job_that_is_suspended_loses_its_pods(server: Server) -> None:
    await server.api.apply(job(server))
    await server.until(lambda: _active(server, 2))
    await server.api.apply(job(server, suspend=True))
    condition = await server.until(lambda: _condition(server, "Suspended", "True"))
    report = observation.job_report(await server.until(lambda: _active(server, 0)))
    assert (report.suspended, report.start_time, condition["reason"]) == (True, None, "JobSuspended")
    assert await _pods(server) == []


@fact
async def test_a_job_that_is_resumed_has_pods_again(server: Server) -> None:
    await server.api.apply(job(server, suspend=True))
    await server.until(lambda: _condition(server, "Suspended", "True"))
    await server.api.apply(job(server, suspend=False))
    condition = await server.until(lambda: _condition(server, "Suspended", "False"))
    report = observation.job_report(await server.until(lambda: _active(server, 2)))
    assert (report.suspended, condition["reason"]) == (False, "JobResumed")
    assert report.start_time is not None


@fact
async def test_a_job_fails_with_its_pod(server: Server) -> None:
    """By its pod failure policy, and the others are ended."""
    await server.api.apply(job(server))
    await server.until(lambda: _active(server, 2))
    await server.fail_pod("mc", 0, 3)
    condition = await server.until(lambda: _condition(server, "Failed", "True"))
    target = await _condition(server, "FailureTarget", "True")
    assert (condition["reason"], target is not None) == ("PodFailurePolicy", True)
    assert "failed with exit code 3 matching FailJob rule" in condition["message"]
    report = observation.job_report(await read(server, JOBS, "mc"))
    assert (report.active, report.completion_time) == (0, None)
    lead, *others = (observation.pod_report(pod) for pod in await _pods(server))
    assert (lead.phase, lead.exit_code, others) == ("Failed", 3, [])


@fact
async def test_a_jobs_pods_go_with_it(server: Server) -> None:
    await server.api.apply(job(server))
    await server.until(lambda: _active(server, 2))
    await server.api.delete(JOBS, server.namespace, "mc")

    async def none_left() -> bool:
        return await _pods(server) == []

    assert await server.until(none_left)


def test_every_kind_is_found_by_its_name() -> None:
    assert all(kind == resource.kind for kind, resource in RESOURCES.items())


# What plan() makes, applied


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_shape_of_an_object_is_that_of_the_fields_it_holds(server: Opening, document: Object) -> None:
    """So an operator that has just started sees whether somebody took a field out of it."""

    async def check(server: Server) -> None:
        await server.api.create(minicluster(server, **document))
        cluster = spec.validate(await read(server, MINICLUSTERS, "mc"))
        site = planning.Site(namespace=server.namespace)
        for item in planning.build(cluster, site, suspended=False):
            stamped = observation.stamped(item)
            found = observation.dependent(item["kind"], await server.api.apply(stamped))
            assert found.shape == observation.shape(stamped), item["kind"]

    fact(check)(server)
