"""A cluster of EKS for each burst: what is asked for, in which order it goes, and what may go wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import yaml

from burst.errors import AccountLimitReached, CallInvalid, NameTaken, ProviderError, RetryLater
from burst.lifecycle.records import ResourceKey, ResourcePhase
from burst.planning import money
from burst.providers.eks.cluster_preflight import CLUSTER_RIGHTS
from burst.providers.eks.provider import opened
from burst.providers.kubernetes.made_nodes import NO_TUNNELS_THERE
from burst.rehearsal.cloud import CloudFault
from burst.rehearsal.eks_clusters import CLUSTERS
from tests.burst.joining.near import join_settings
from tests.burst.providers.eks_world import CREATION, FEE, MACHINE, EksClusterWorld
from tests.burst.providers.kubernetes.fake_api import serving

if TYPE_CHECKING:
    from collections.abc import Callable

LABEL = "62dgmfw4gk"
CREATE, DELETE = "eks.CreateCluster", "eks.DeleteCluster"
CLUSTER, NODES = f"mcb-{LABEL}-cluster", f"mcb-{LABEL}-nodes"
LOCATION = "eks/123456789012/eu-central-1/mcb-*/default"


@pytest.fixture
def own() -> EksClusterWorld:
    return EksClusterWorld()


def keys(own: EksClusterWorld) -> list[ResourceKey]:
    return list(own.clusters.resources(own.wanted))


def test_the_cluster_is_first_and_has_the_nodes(own: EksClusterWorld) -> None:
    found = [(each.kind, each.name, each.nodes) for each in keys(own)]
    assert found == [("cluster", CLUSTER, 4), ("node-group", NODES, 0), ("workers", f"mcb-{LABEL}-pods", 0)]


def test_offers_have_the_fee_and_the_time_that_a_cluster_takes(own: EksClusterWorld) -> None:
    usual, spot = own.clusters.offers()
    assert (usual.fee, usual.ready, usual.provisioning) == (FEE, 780.0, 1560.0)
    assert (spot.fee, spot.spot) == (FEE, True)


def test_what_is_asked_for_is_what_the_settings_have() -> None:
    own = EksClusterWorld(version="1.36", publicAccessCidrs=["192.0.2.0/24"], securityGroups=["sg-1"])
    own.make()
    cluster, group = own.cloud.groups
    assert cluster.detail == {
        "name": CLUSTER,
        "clientRequestToken": f"token-{LABEL}-0",
        "version": "1.36",
        "roleArn": CREATION["clusterRole"],
        "resourcesVpcConfig": {
            "subnetIds": ["subnet-1", "subnet-2"],
            "securityGroupIds": ["sg-1"],
            "endpointPublicAccess": True,
            "endpointPrivateAccess": True,
            "publicAccessCidrs": ["192.0.2.0/24"],
        },
        "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
        "upgradePolicy": {"supportType": "STANDARD"},
        "tags": {
            "minicluster-burst": LABEL,
            "minicluster-owner": "here",
            "minicluster-expires": "1800003600",
        },
    }
    assert (group.parent, group.name) == (CLUSTER, NODES)
    # The name service of the cluster has no other nodes.
    assert (group.detail["taints"], group.detail["labels"]) == ([], {"minicluster-burst": LABEL})


def test_nodes_wait_for_the_cluster_and_the_cluster_for_the_end_of_its_nodes(own: EksClusterWorld) -> None:
    cluster, nodes, _ = keys(own)
    own.clusters.create(cluster, "token", own.wanted)
    with pytest.raises(CallInvalid, match=f"Cluster '{CLUSTER}' is in CREATING status"):
        own.clusters.create(nodes, "token-2", own.wanted)
    own.pass_by(120)
    own.clusters.create(nodes, "token-2", own.wanted)
    own.pass_by(120)
    own.clusters.delete(cluster, own.wanted)
    assert DELETE not in own.cloud.calls
    assert own.clusters.get(nodes, own.wanted).phase is ResourcePhase.GOING
    own.pass_by(60)
    own.clusters.delete(cluster, own.wanted)
    assert own.clusters.get(cluster, own.wanted).phase is ResourcePhase.GOING
    own.pass_by(60)
    assert list(own.clusters.owned("here")) == []
    fee, price = money.cost(FEE, 1, 360), money.cost(money.amount("0.36"), 4, 180)
    assert own.cloud.bill() == fee + price


def test_pods_go_with_their_nodes_though_no_api_server_answers(own: EksClusterWorld) -> None:
    own.make()
    *_, pods = keys(own)
    assert own.clusters.get(pods, own.wanted).phase is ResourcePhase.READY
    own.clusters.delete(pods, own.wanted)
    assert own.clusters.get(pods, own.wanted).phase is ResourcePhase.ABSENT
    assert own.clusters.get(keys(own)[1], own.wanted).phase is ResourcePhase.GOING


def test_a_cluster_that_fails_after_minutes_has_its_reason_and_is_deleted(own: EksClusterWorld) -> None:
    own.cloud.order(CREATE, CloudFault.BROKEN)
    cluster = keys(own)[0]
    own.clusters.create(cluster, "token", own.wanted)
    assert own.clusters.get(cluster, own.wanted).phase is ResourcePhase.COMING
    own.pass_by(600)
    found = own.clusters.get(cluster, own.wanted)
    assert found.phase is ResourcePhase.BROKEN
    assert found.reason == (
        "FAILED: the subnets of cluster.create have too few free addresses: use larger ones: Subnets have too"
        " few free IP addresses (InsufficientFreeAddresses)"
    )
    own.clusters.delete(cluster, own.wanted)
    own.pass_by(60)
    assert list(own.clusters.owned("here")) == []
    assert own.cloud.bill() == money.cost(FEE, 1, 660)


def test_a_lost_answer_and_a_token_that_is_asked_twice_make_one_cluster(own: EksClusterWorld) -> None:
    own.cloud.order(CREATE, CloudFault.ANSWER_LOST)
    cluster = keys(own)[0]
    with pytest.raises(RetryLater):
        own.clusters.create(cluster, "token", own.wanted)
    own.clusters.create(cluster, "token", own.wanted)
    assert (len(own.cloud.groups), own.cloud.calls.count(CREATE)) == (1, 1)


def test_a_cluster_that_is_being_made_is_deleted_later(own: EksClusterWorld) -> None:
    cluster = keys(own)[0]
    own.clusters.create(cluster, "token", own.wanted)
    with pytest.raises(RetryLater, match="is currently being created"):
        own.clusters.delete(cluster, own.wanted)
    own.pass_by(120)
    own.clusters.delete(cluster, own.wanted)
    assert own.clusters.get(cluster, own.wanted).phase is ResourcePhase.GOING


def test_a_deletion_that_fails_is_begun_again(own: EksClusterWorld) -> None:
    cluster = keys(own)[0]
    own.clusters.create(cluster, "token", own.wanted)
    own.pass_by(120)
    own.cloud.order(DELETE, CloudFault.FAILS)
    own.clusters.delete(cluster, own.wanted)
    own.pass_by(60)
    found = own.clusters.get(cluster, own.wanted)
    assert found.phase is ResourcePhase.BROKEN
    assert found.reason == "FAILED: The security group of the cluster has a dependent object (Other)"
    own.clusters.delete(cluster, own.wanted)
    own.pass_by(60)
    assert list(own.clusters.owned("here")) == []


def test_node_groups_of_somebody_else_keep_a_cluster_and_are_named(own: EksClusterWorld) -> None:
    cluster = keys(own)[0]
    own.clusters.create(cluster, "token", own.wanted)
    own.pass_by(120)
    size = {"scalingConfig": {"desiredSize": 1}}
    own.cloud.make(CLUSTER, "pool-1", MACHINE.machine, 1, {}, detail=size)
    words = f"cluster {CLUSTER} has node groups that are not of its burst: pool-1"
    with pytest.raises(RetryLater, match=words):
        own.clusters.delete(cluster, own.wanted)
    assert DELETE not in own.cloud.calls


def test_a_cluster_of_another_installation_is_neither_listed_nor_deleted(own: EksClusterWorld) -> None:
    own.make()
    other = own.wanted._replace(installation="elsewhere")
    assert list(own.clusters.owned("elsewhere")) == []
    with pytest.raises(NameTaken, match=f"cluster {CLUSTER} is there, and not of this burst"):
        own.clusters.create(keys(own)[0], "another", other)
    own.clusters.delete(keys(own)[0], other)
    own.clusters.delete(keys(own)[1], other)
    assert [each.deleted for each in own.cloud.groups] == [None, None]


REFUSALS: dict[str, tuple[Callable[[EksClusterWorld], object], type[ProviderError], str]] = {
    "quota": (
        lambda own: setattr(own.account.eks, "cluster_quota", 0),
        AccountLimitReached,
        f"{LOCATION}: Cluster limit exceeded: 0 clusters (ResourceLimitExceededException)",
    ),
    "no-capacity": (
        lambda own: own.cloud.order(CREATE, CloudFault.NO_CAPACITY),
        CallInvalid,
        "does not have sufficient capacity (UnsupportedAvailabilityZoneException)",
    ),
    "machine": (
        lambda own: setattr(own, "wanted", own.wanted._replace(machine="c8")),
        CallInvalid,
        "provider eks has no machine 'c8', but c7i.2xlarge",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_makes_nothing(own: EksClusterWorld, name: str) -> None:
    spoil, kind, words = REFUSALS[name]
    spoil(own)
    with pytest.raises(kind, match=re.escape(words)):
        own.clusters.create(keys(own)[0], "token", own.wanted)
    assert own.cloud.groups == []


WRONG: dict[str, tuple[dict[str, object], Callable[[EksClusterWorld], object], str]] = {
    "old": (
        {"version": "1.29"},
        lambda own: own.account.eks.denied.add("eks.DescribeClusterVersions"),
        "Kubernetes 1.29 (cluster.create.version) is older than 1.31, the oldest tested",
    ),
    "no-version": (
        {"version": "1.42"},
        lambda _own: None,
        "EKS makes no clusters of version 1.42 (cluster.create.version)",
    ),
    "extended": (
        {"version": "1.33"},
        lambda _own: None,
        (
            "version 1.33 (cluster.create.version) is in extended support, in which EKS makes none without a"
            " higher fee: right would be a newer one"
        ),
    ),
    "one-zone": (
        {},
        lambda own: own.account.queries.zones.update({"subnet-1": "a", "subnet-2": "a"}),
        (
            "subnets subnet-1, subnet-2 (cluster.create.subnets) are all in eu-central-1a: right would be 2"
            " zones or more"
        ),
    ),
    "few-addresses": (
        {},
        lambda own: own.account.queries.subnets.update({"subnet-1": 3}),
        "subnet subnet-1 (cluster.create.subnets) has 3 free addresses; right would be 6 or more",
    ),
    "another-vpc": (
        {},
        lambda own: own.account.queries.elsewhere.add("subnet-2"),
        "subnets subnet-2 are not in vpc-1, the VPC of subnet-1",
    ),
    "no-role": (
        {},
        lambda own: own.account.queries.roles.discard("burst-clusters"),
        "there is no role burst-clusters (cluster.create.clusterRole) in account 123456789012",
    ),
    "quota": (
        {},
        lambda own: setattr(own.account.queries, "cluster_quota", 1),
        (
            "account 123456789012 has 1 clusters in eu-central-1, and may have 1: ask AWS for a higher quota"
            " (L-1194D53C)"
        ),
    ),
    "may-not-list": (
        {},
        lambda own: own.account.eks.denied.add("eks.ListClusters"),
        "what is there cannot be listed: eks:ListClusters: User is not authorized (AccessDeniedException)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found_in_words_before_anything_is_made(name: str) -> None:
    creation, spoil, words = WRONG[name]
    own = EksClusterWorld(**creation)
    spoil(own)
    assert list(own.clusters.problems()) == [f"{LOCATION}: {words}"]
    assert all(call.split(".")[1].startswith(("Describe", "Get", "List")) for call in own.cloud.calls)


def test_the_policy_has_the_rights_that_are_used_and_no_other(own: EksClusterWorld) -> None:
    path = Path(__file__).parents[4] / "deploy" / "clouds" / "eks-clusters-policy.json"
    granted = [action for each in json.loads(path.read_text())["Statement"] for action in each["Action"]]
    assert set(granted) == set(CLUSTER_RIGHTS)
    list(own.clusters.problems())
    own.make()
    for key in reversed(keys(own)):
        own.clusters.delete(key, own.wanted)
        own.pass_by(120)
    list(own.clusters.owned("here"))
    used = {each.replace(".", ":") for each in own.cloud.calls}
    assert {CREATE.replace(".", ":"), DELETE.replace(".", ":")} <= used <= set(CLUSTER_RIGHTS)


def test_a_burst_is_a_cluster_nodes_and_pods_and_leaves_nothing(own: EksClusterWorld, tmp_path: Path) -> None:
    """Pods are made at the API server that the cluster has, by a token that is signed for that cluster."""
    with serving(tmp_path) as (api, kubeconfig):
        [found] = yaml.safe_load(kubeconfig.read_text())["clusters"]
        own.account.eks.api_server, api.namespace = found["cluster"]["server"], "default"
        context = SimpleNamespace(join=join_settings, state=tmp_path, tunnel_pods=None)
        settings = own.account.settings([MACHINE], cluster={"create": CREATION}, namespace="default")
        provider = opened("eks", settings, context, own.account.server.url)
        wanted = own.wanted._replace(nodes=2, cluster="uid")
        for number, key in enumerate(provider.resources(wanted)):
            provider.create(key, f"token-{number}", wanted)
            own.pass_by(120)
            assert provider.get(key, wanted).phase is ResourcePhase.READY
        [job] = api.of("jobs")
        assert job["metadata"]["namespace"] == "default"
        assert job["spec"]["template"]["spec"]["nodeSelector"] == {"minicluster-burst": LABEL}
        assert list(provider.tunnel_problems()) == [NO_TUNNELS_THERE]
        own.account.eks.api_server = "https://127.0.0.1:1"
        for key in reversed(provider.resources(wanted)):
            provider.delete(key, wanted)
            own.pass_by(120)
        assert list(provider.owned("here")) == []
        assert [each.name for each in own.cloud.listed_groups(CLUSTERS)] == []
