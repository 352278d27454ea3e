"""The contract with an API server (see test_contract.py): merge patches, statuses, and deletion."""

import pytest

from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import CONFIG_MAPS, LEASES, MINICLUSTERS
from minicluster.operator import observation
from tests.kubernetes.contract import (
    NOBODY,
    Object,
    Opening,
    Server,
    about,
    fact,
    gone,
    minicluster,
    owner,
    read,
    refused,
    settings,
)

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
async def test_a_deletion_that_waits_counts_as_a_change_of_the_document(server: Server) -> None:
    made = minicluster(server)
    made["metadata"]["finalizers"] = ["example.org/hold"]
    before = (await server.api.create(made))["metadata"]["generation"]
    await server.api.delete(MINICLUSTERS, server.namespace, "mc")
    found = (await server.api.read(MINICLUSTERS, server.namespace, "mc"))["metadata"]
    nothing = {"metadata": {"finalizers": []}}
    await server.other.patch(MINICLUSTERS, server.namespace, "mc", nothing)
    assert (found["generation"], "deletionTimestamp" in found) == (before + 1, True)
    assert await gone(server, MINICLUSTERS, "mc")


@fact
async def test_nothing_new_is_waited_for_once_a_deletion_has_begun(server: Server) -> None:
    made = minicluster(server)
    made["metadata"]["finalizers"] = ["example.org/hold"]
    await server.api.create(made)
    await server.api.delete(MINICLUSTERS, server.namespace, "mc")
    more = {"metadata": {"finalizers": ["example.org/hold", "example.org/more"]}}
    status, _ = await refused(server.api.patch(MINICLUSTERS, server.namespace, "mc", more))
    await server.other.patch(MINICLUSTERS, server.namespace, "mc", {"metadata": {"finalizers": None}})
    assert status == 422


@fact
async def test_a_status_is_written_while_a_deletion_waits(server: Server) -> None:
    made = minicluster(server)
    made["metadata"]["finalizers"] = ["example.org/hold"]
    await server.api.create(made)
    await server.api.delete(MINICLUSTERS, server.namespace, "mc")
    change = {"status": {"phase": "Running"}}
    answer = await server.api.patch(MINICLUSTERS, server.namespace, "mc", change, "status")
    await server.other.patch(MINICLUSTERS, server.namespace, "mc", {"metadata": {"finalizers": None}})
    assert answer["status"]["phase"] == "Running"


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
