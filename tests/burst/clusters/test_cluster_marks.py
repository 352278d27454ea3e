"""What a MiniCluster has of its bursts: them in its status, and a finalizer until they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from burst.clusters.kubernetes_clusters import KubernetesClusters, NamespaceChoice
from burst.errors import LeadAway
from minicluster.backends.errors import BackendError
from minicluster.document import BurstStatus
from minicluster.kube_client.access import Access
from minicluster.plan.constants import BURST_FINALIZER, FINALIZER
from tests.burst.clusters.test_kubernetes_clusters import CLUSTERS, NAMESPACE, UID, Source
from tests.burst.providers.kubernetes.fake_api import Refusal, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATH = f"{CLUSTERS}/mc"
BURST = BurstStatus(id="aaaaaaaaaa", slot="burst-0", provider="far", state="provisioning", nodes=2)
FORBIDDEN = Refusal(403, 'User "ada" cannot patch resource "miniclusters/status" in the namespace "science"')
GOES = "2026-03-12T15:09:26Z"


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    with serving(tmp_path) as (api, kubeconfig):
        choice = NamespaceChoice(Access(str(kubeconfig)), NAMESPACE)
        yield Source(api, kubeconfig, KubernetesClusters(choice))


def published(source: Source, *bursts: BurstStatus) -> dict[str, Any]:
    """Show these bursts after a look at what there is; return the MiniCluster, empty if it is gone."""
    source.clusters.clusters()
    source.clusters.publish({UID: bursts} if bursts else {})
    found: dict[str, Any] = source.api.items.get(PATH, {})
    return found


def finalizers(source: Source) -> list[str]:
    return list(source.api.items[PATH]["metadata"].get("finalizers", ()))


def test_its_bursts_are_shown_and_keep_it_until_they_are_deleted(source: Source) -> None:
    source.add(bursting={"expose": "none"}, finalizers=[FINALIZER])
    shown = published(source, BURST)
    assert shown["status"]["bursts"] == [BURST.model_dump()]
    assert finalizers(source) == [FINALIZER, BURST_FINALIZER]
    active = BURST.model_copy(update={"state": "active"})
    assert published(source, active)["status"]["bursts"][0]["state"] == "active"
    assert "bursts" not in published(source)["status"]
    assert finalizers(source) == [FINALIZER]


def test_what_has_not_changed_costs_no_request(source: Source) -> None:
    source.add(bursting={"expose": "none"})
    published(source, BURST)
    source.clusters.clusters()
    before = len(source.api.requests)
    source.clusters.publish({UID: (BURST,)})
    assert len(source.api.requests) == before


def test_what_somebody_else_has_taken_out_is_shown_again(source: Source) -> None:
    source.add(bursting={"expose": "none"})
    published(source, BURST)
    del source.api.items[PATH]["status"]["bursts"], source.api.items[PATH]["metadata"]["finalizers"]
    assert published(source, BURST)["status"]["bursts"] == [BURST.model_dump()]
    assert finalizers(source) == [BURST_FINALIZER]


def test_it_is_kept_before_the_first_machine_is_made(source: Source) -> None:
    found = source.one(expose="none")
    found.join("burst-0")
    assert finalizers(source) == [BURST_FINALIZER]


def test_one_that_is_being_deleted_stays_for_its_bursts_and_gets_no_others(source: Source) -> None:
    source.one(expose="none")
    published(source, BURST)
    source.api.items[PATH]["metadata"]["deletionTimestamp"] = GOES
    [found] = source.clusters.clusters()
    assert found.is_ending
    assert found.problem == "it is being deleted: its bursts end, and it gets no others"
    with pytest.raises(LeadAway, match="MiniCluster science/mc: it is being deleted: its bursts end"):
        found.join("burst-0")
    source.clusters.publish({UID: (BURST.model_copy(update={"state": "deleting"}),)})
    assert published(source, BURST)["status"]["bursts"] == [BURST.model_dump()]
    assert published(source) == {}
    assert source.clusters.clusters() == []


def test_one_that_began_to_go_just_now_is_not_joined(source: Source) -> None:
    found = source.one(expose="none")
    source.api.items[PATH]["metadata"]["deletionTimestamp"] = GOES
    with pytest.raises(LeadAway, match="MiniCluster science/mc is being deleted"):
        found.join("burst-0")


def test_one_whose_bursts_are_managed_no_more_is_released(source: Source) -> None:
    source.add(bursting={"expose": "none"})
    published(source, BURST)
    del source.api.items[PATH]["spec"]["bursting"]
    assert source.clusters.clusters() == []
    source.clusters.publish({})
    assert (finalizers(source), source.api.items[PATH]["status"]) == ([], {})


def test_who_writes_it_meanwhile_comes_first(source: Source) -> None:
    source.add(bursting={"expose": "none"})
    conflict = Refusal(409, "the object has been modified", "Conflict")
    source.api.fail("PATCH", "miniclusters", conflict, conflict)
    published(source, BURST)
    assert finalizers(source) == [BURST_FINALIZER]


def test_a_user_without_the_right_shows_nothing_and_bursts_all_the_same(source: Source) -> None:
    found = source.one(expose="none")
    source.api.fail("PATCH", "miniclusters", FORBIDDEN)
    assert found.join("burst-0").slot == "burst-0"
    before = len(source.api.requests)
    source.clusters.publish({UID: (BURST,)})
    assert len(source.api.requests) == before
    assert "status" not in source.api.items[PATH]


def test_what_failed_is_an_error_and_others_have_had_their_turn(source: Source) -> None:
    source.add("a", {"expose": "none"}, uid="uid-a")
    source.add(bursting={"expose": "none"})
    source.clusters.clusters()
    source.api.fail("GET", "miniclusters", Refusal(500, "not now"))
    with pytest.raises(BackendError, match="not now"):
        source.clusters.publish({UID: (BURST,), "uid-a": (BURST,)})
    assert source.api.items[PATH]["status"]["bursts"] == [BURST.model_dump()]
