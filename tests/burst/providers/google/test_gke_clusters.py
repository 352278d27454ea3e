"""A cluster of GKE for each burst, made and deleted with its nodes, and every fault that its cloud plays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from burst.errors import AccountLimitReached, NameTaken, RetryLater
from burst.lifecycle.records import ResourcePhase
from burst.planning import money
from burst.providers.node_pools.access import ClusterEndpoint
from burst.rehearsal.cloud import CloudFault
from burst.rehearsal.gke_clusters import CREATE_CLUSTER, DELETE_CLUSTER
from tests.burst.providers.google.rigs import (
    FEE,
    LABEL,
    LOCATION,
    MACHINE,
    PRICE,
    START,
    GkeClusterRig,
    burst,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMING, READY, GOING = ResourcePhase.COMING, ResourcePhase.READY, ResourcePhase.GOING
ABSENT, BROKEN = ResourcePhase.ABSENT, ResourcePhase.BROKEN
CLUSTER = f"mcb-{LABEL}-cluster"


def cluster(rig: GkeClusterRig) -> Any:
    """Return the cluster that was asked for, as it went over the wire."""
    [found] = rig.cloud.listed_groups(LOCATION)
    return found.detail["cluster"]


def test_a_cluster_is_asked_for_with_its_nodes_in_one_call(own: GkeClusterRig) -> None:
    own.create()
    found = cluster(own)
    labels = {"minicluster-burst": LABEL, "minicluster-owner": "here"}
    assert (found["name"], found["network"], found["subnetwork"]) == (CLUSTER, "default", "default")
    assert found["resourceLabels"] == {**labels, "minicluster-expires": f"{burst().until:.0f}"}
    [pool] = found["nodePools"]
    assert (pool["name"], pool["initialNodeCount"]) == (f"mcb-{LABEL}-nodes", 2)
    # What GKE itself runs, such as its name service, has no other nodes.
    assert "taints" not in pool["config"]
    assert pool["config"]["labels"]["minicluster-burst"] == LABEL
    assert pool["config"]["maxRunDuration"] == "7200s"
    assert own.cloud.calls.count(CREATE_CLUSTER) == 1


def test_what_is_set_is_asked_for(tmp_path: Path) -> None:
    creation = {"version": "1.36", "podsRange": "pods", "servicesRange": "services", "privateNodes": True}
    rig = GkeClusterRig(tmp_path, creation, controlPlane="dns")
    rig.create()
    rig.close()
    found = cluster(rig)
    assert found["initialClusterVersion"] == "1.36"
    assert found["ipAllocationPolicy"] == {
        "useIpAliases": True,
        "clusterSecondaryRangeName": "pods",
        "servicesSecondaryRangeName": "services",
    }
    assert found["privateClusterConfig"] == {"enablePrivateNodes": True}
    dns = found["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]
    assert dns == {"allowExternalTraffic": True}


def test_it_comes_and_goes_with_its_nodes_and_costs_both(own: GkeClusterRig) -> None:
    own.create()
    own.wait(30.0)
    found = own.get()
    assert (found.phase, found.nodes, found.since) == (COMING, 2, START)
    own.wait()
    assert own.get().phase is READY
    [listed] = own.clusters.owned("here")
    assert (listed.key, listed.nodes, listed.burst) == (own.key(), 2, LABEL)
    own.delete()
    assert own.get().phase is GOING
    own.delete()
    assert own.cloud.calls.count(DELETE_CLUSTER) == 1
    own.wait(60.0)
    assert (own.get().phase, list(own.clusters.owned("here"))) == (ABSENT, [])
    assert own.cloud.bill() == 2 * money.cost(PRICE, 1, 210.0) + money.cost(FEE, 1, 210.0)


def test_pods_go_with_the_cluster(own: GkeClusterRig) -> None:
    own.create()
    own.wait()
    _, pods = own.provider.resources(burst())
    own.provider.create(pods, "token", burst())
    own.wait()
    assert own.provider.get(pods, burst()).phase is READY
    own.provider.delete(pods, burst())
    assert (own.provider.get(pods, burst()).phase, own.get().phase) == (ABSENT, GOING)


def test_a_cluster_whose_answer_is_lost_is_made_once(own: GkeClusterRig) -> None:
    own.cloud.order(CREATE_CLUSTER, CloudFault.ANSWER_LOST)
    with pytest.raises(RetryLater):
        own.create()
    own.create()
    assert (own.cloud.calls.count(CREATE_CLUSTER), len(own.cloud.there())) == (1, 2)


def test_a_cluster_of_ours_that_came_meanwhile_is_success(
    own: GkeClusterRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.create()
    unseen, read = [None], own.clusters._found
    monkeypatch.setattr(own.clusters, "_found", lambda *given: unseen.pop() if unseen else read(*given))
    own.create()
    assert (own.cloud.calls.count(CREATE_CLUSTER), len(own.cloud.there())) == (2, 2)


SHORT = "RUNNING_WITH_ERROR: its zone has no more such machines now: "
BROKEN_CLUSTERS = {
    "none": (CloudFault.NO_CAPACITY, f"{SHORT}0 of 2 machines of type {MACHINE} came", 0),
    "part": (CloudFault.PART, f"{SHORT}1 of 2 machines of type {MACHINE} came", 1),
    "never ready": (CloudFault.BROKEN, "ERROR: its control plane never became ready", 2),
}


@pytest.mark.parametrize("name", BROKEN_CLUSTERS)
def test_a_broken_cluster_has_its_reason_and_what_came_is_counted(own: GkeClusterRig, name: str) -> None:
    fault, reason, nodes = BROKEN_CLUSTERS[name]
    own.cloud.order(CREATE_CLUSTER, fault)
    own.create()
    own.wait()
    found = own.get()
    assert (found.phase, found.nodes) == (BROKEN, nodes)
    assert found.reason.startswith(reason)
    own.delete()
    own.wait()
    assert (own.get().phase, list(own.clusters.owned("here"))) == (ABSENT, [])


def test_a_deletion_that_fails_is_begun_again(own: GkeClusterRig) -> None:
    own.create()
    own.wait()
    own.cloud.order(DELETE_CLUSTER, CloudFault.FAILS)
    own.delete()
    own.wait(60.0)
    found = own.get()
    assert (found.phase, found.reason) == (BROKEN, "ERROR: its deletion has failed")
    own.delete()
    own.wait(60.0)
    assert list(own.clusters.owned("here")) == []


def test_machines_that_outlive_their_cluster_are_deleted_by_themselves(own: GkeClusterRig) -> None:
    own.create()
    own.wait()
    own.cloud.order(DELETE_CLUSTER, CloudFault.LIES)
    own.delete()
    found, [listed] = own.get(), own.clusters.owned("here")
    assert (found.phase, found.nodes) == (BROKEN, 2)
    assert (listed.key, listed.burst) == (own.key(), LABEL)
    own.delete()
    own.wait()
    assert (own.get().phase, own.cloud.there()) == (ABSENT, [])


def test_a_cluster_that_is_being_made_is_deleted_later(own: GkeClusterRig) -> None:
    own.create()
    with pytest.raises(RetryLater, match=r"mcb-\*: Cluster is running incompatible operation"):
        own.delete()


def test_a_cluster_of_somebody_else_is_left_alone(own: GkeClusterRig) -> None:
    own.occupy(own.key())
    own.wait()
    with pytest.raises(NameTaken, match=f"cluster {CLUSTER} is there, and not of this burst"):
        own.create()
    own.delete()
    assert (own.get().phase, own.others()) == (ABSENT, 1)


def test_a_quota_makes_nothing(own: GkeClusterRig) -> None:
    own.cloud.quota = 1
    with pytest.raises(AccountLimitReached, match="Insufficient regional quota"):
        own.create()
    assert own.cloud.groups == []


def test_a_zone_that_the_listing_does_not_reach_is_no_empty_one(own: GkeClusterRig) -> None:
    own.google.clusters.missing_zones.append("us-central1-b")
    with pytest.raises(RetryLater, match="zones us-central1-b are not reached: what is there is not known"):
        own.clusters.owned("here")


def test_the_api_server_is_that_of_the_bursts_cluster(own: GkeClusterRig) -> None:
    own.create()
    with pytest.raises(RetryLater, match="the cluster has no public address of its API server"):
        own.clusters.endpoint(burst())
    own.wait()
    assert own.clusters.endpoint(burst()) == ClusterEndpoint("https://192.0.2.1")
    assert own.clusters.token(burst()) in own.google.account.tokens


WRONG: dict[str, tuple[dict[str, Any], Callable[[GkeClusterRig], object], str]] = {
    "rights": (
        {},
        lambda rig: rig.google.account.lacking.update({"container.clusters.create", "container.jobs.create"}),
        "the credentials may not, in project rehearsal: container.clusters.create, container.jobs.create",
    ),
    "version": (
        {"version": "1.34"},
        lambda _rig: None,
        "GKE makes no clusters of version 1.34 (cluster.create.version) in us-central1-a, but of 1.35, 1.36",
    ),
    "subnetwork": (
        {"subnetwork": "far"},
        lambda _rig: None,
        "project rehearsal has no subnetwork far in region us-central1",
    ),
    "range": (
        {"podsRange": "pods"},
        lambda _rig: None,
        "subnetwork default has no secondary range pods (cluster.create.podsRange), but none",
    ),
    "quota": (
        {},
        lambda rig: rig.google.compute.catalog.quotas.update(CPUS=(24.0, 25.0)),
        "quota CPUS of region us-central1 has nothing left: 25 of 24 are used",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found_in_words_before_anything_is_made(tmp_path: Path, name: str) -> None:
    creation, spoil, words = WRONG[name]
    rig = GkeClusterRig(tmp_path, creation)
    spoil(rig)
    found = list(rig.provider.problems())
    rig.close()
    assert found == [words]
    assert rig.cloud.groups == []


def test_all_is_well_with_a_project_in_which_clusters_can_be_made(own: GkeClusterRig) -> None:
    assert list(own.provider.problems()) == []
    [usual, spot] = own.provider.offers()
    assert (usual.fee, spot.fee, usual.ready, usual.provisioning) == (FEE, FEE, 600.0, 1200.0)
    assert re.fullmatch(r"gke/rehearsal/us-central1-a/mcb-\*/default", own.provider.location)
