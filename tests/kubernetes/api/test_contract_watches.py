"""The contract with an API server (see test_contract.py): lists and watches."""

import asyncio

import pytest

from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import CONFIG_MAPS, MINICLUSTERS
from minicluster.operator import observation
from tests.kubernetes.contract import (
    Opening,
    Server,
    fact,
    minicluster,
    names,
    read,
    settings,
    watched_events,
)

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
    events = await watched_events(server, selection, listed.version, 3)
    assert names(events) == [("ADDED", "after"), ("MODIFIED", "before"), ("DELETED", "after")]
    versions = [int(each.item["metadata"]["resourceVersion"]) for each in events]
    assert versions == sorted(set(versions))


@fact
async def test_a_watch_delivers_what_happens_while_it_runs(server: Server) -> None:
    selection = Selection(CONFIG_MAPS, server.namespace, "app=mc")
    listed = await server.api.list(selection)
    watch = asyncio.create_task(watched_events(server, selection, listed.version, 1))
    await asyncio.sleep(0.05)
    await server.api.create(settings(server, labels={"app": "mc"}))
    assert names(await watch) == [("ADDED", "settings")]


@fact
async def test_a_watch_delivers_what_enters_and_leaves_the_selection(server: Server) -> None:
    """An object that loses its label is gone for whoever selects by it."""
    selection = Selection(CONFIG_MAPS, server.namespace, "app=mc")
    version = (await server.api.create(settings(server)))["metadata"]["resourceVersion"]
    for label in ("mc", "other"):
        body = {"metadata": {"labels": {"app": label}}}
        await server.other.patch(CONFIG_MAPS, server.namespace, "settings", body)
    events = await watched_events(server, selection, version, 2)
    assert names(events) == [("ADDED", "settings"), ("DELETED", "settings")]
    now = (await read(server))["metadata"]["resourceVersion"]
    assert events[1].item["metadata"]["resourceVersion"] == now
    assert events[1].item["metadata"]["labels"] == {"app": "mc"}


@fact
async def test_a_watch_of_metadata_delivers_no_more(server: Server) -> None:
    selection = Selection(CONFIG_MAPS, server.namespace, "app=mc", bare=True)
    listed = await server.api.list(selection)
    await server.api.create(settings(server, labels={"app": "mc"}))
    (event,) = await watched_events(server, selection, listed.version, 1)
    assert event.item["kind"] == "PartialObjectMetadata"
    assert "data" not in event.item


@fact
async def test_a_watch_delivers_large_objects(server: Server) -> None:
    """A line of it is longer than 64 KiB then."""
    selection = Selection(CONFIG_MAPS, server.namespace, "app=mc")
    listed = await server.api.list(selection)
    await server.api.create(settings(server, data={"key": "x" * 300_000}, labels={"app": "mc"}))
    (event,) = await watched_events(server, selection, listed.version, 1)
    assert len(event.item["data"]["key"]) == 300_000


@fact
async def test_a_bookmark_has_the_version_that_a_watch_has_come_to(server: Server) -> None:
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
        await watched_events(server, Selection(MINICLUSTERS, server.namespace), version, 1)
    assert caught.value.status == 410
