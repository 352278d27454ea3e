"""Bursts on node pools of GKE, and every fault that its cloud plays."""

from __future__ import annotations

import base64
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from burst.errors import AccessDenied, AccountLimitReached, CallInvalid, NameTaken, ProviderError, RetryLater
from burst.lifecycle.records import ResourcePhase
from burst.planning import money
from burst.planning.records import NodeShape, Offer
from burst.providers.gke import KIND
from burst.providers.node_pools.access import ClusterEndpoint
from burst.rehearsal.cloud import CloudFault
from burst.rehearsal.gke import CREATE, DELETE, GET
from tests.burst.joining.near import join_settings
from tests.burst.providers.google.rigs import LABEL, MACHINE, PRICE, SPOT_PRICE, START, GkeRig, burst, priced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from burst.providers.provider import WantedBurst

COMING, READY, GOING = ResourcePhase.COMING, ResourcePhase.READY, ResourcePhase.GOING
ABSENT, BROKEN = ResourcePhase.ABSENT, ResourcePhase.BROKEN
POOL = f"mcb-{LABEL}-nodes"


def create(rig: GkeRig, wanted: WantedBurst | None = None) -> None:
    rig.pools.create(wanted or burst(), "token")


def pool(rig: GkeRig) -> Any:
    """Return the pool that was asked for, as it went over the wire."""
    [group] = rig.cloud.groups
    return group.detail["nodePool"]


def gone(rig: GkeRig) -> None:
    """Delete a burst as the service does: until a listing has nothing of it."""
    for _ in range(200):
        if rig.pools.get(burst()).phase is ABSENT and not list(rig.pools.owned("here")):
            return
        if rig.pools.get(burst()).phase is not GOING:
            rig.pools.delete(burst())
        rig.wait(30.0)
    raise AssertionError("something is left")


def test_a_pool_is_for_one_burst_alone_and_ends_by_itself(gke: GkeRig) -> None:
    create(gke, burst(spot=True))
    found = pool(gke)
    config = found["config"]
    labels = {
        "minicluster-burst": LABEL,
        "minicluster-owner": "here",
        "minicluster-expires": f"{burst().until:.0f}",
    }
    assert (found["name"], found["initialNodeCount"], found["locations"]) == (POOL, 2, ["us-central1-a"])
    assert found["autoscaling"] == found["management"] == {}
    assert config["taints"] == [{"key": "minicluster-burst", "value": LABEL, "effect": 1}]
    assert config["labels"] == labels
    assert config["resourceLabels"] == {**labels, "minicluster-cluster": "us-central1-a_far"}
    assert (config["spot"], config["maxRunDuration"], config["machineType"]) == (True, "7200s", MACHINE)
    gke.wait(3600.0)
    assert gke.cloud.bill() == 2 * SPOT_PRICE


def test_a_cluster_in_a_release_channel_gets_pools_as_it_wants_them(gke: GkeRig) -> None:
    gke.google.gke.detail = {"releaseChannel": {"channel": "REGULAR"}}
    create(gke)
    assert pool(gke)["management"] == {"autoRepair": True, "autoUpgrade": True}


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[GkeRig]:
    """A provider of which much is set."""
    more = {
        "location": "us-central1",
        "zone": "us-central1-b",
        "machines": [priced(gpus=1, accelerator="nvidia-l4")],
        "nodeServiceAccount": "nodes@rehearsal.iam.gserviceaccount.com",
        "tags": ["burst"],
        "diskGb": 80,
        "imageType": "UBUNTU_CONTAINERD",
    }
    rig = GkeRig(tmp_path, more)
    rig.google.gke.location = "us-central1"
    yield rig
    rig.close()


def test_what_is_set_is_asked_for(chosen: GkeRig) -> None:
    create(chosen)
    config = pool(chosen)["config"]
    assert pool(chosen)["locations"] == ["us-central1-b"]
    [accelerator] = config["accelerators"]
    assert (accelerator["acceleratorCount"], accelerator["acceleratorType"]) == ("1", "nvidia-l4")
    assert (config["diskSizeGb"], config["imageType"], config["tags"]) == (80, "UBUNTU_CONTAINERD", ["burst"])
    assert config["serviceAccount"].startswith("nodes@")
    assert chosen.pools.get(burst()).nodes == 2


def test_what_is_there_and_since_when_is_what_compute_engine_lists(gke: GkeRig) -> None:
    create(gke)
    gke.wait(30.0)
    status = gke.pools.get(burst())
    assert (status.phase, status.nodes, status.since) == (COMING, 2, START)
    assert status.reason == "2 of 2 machines are there"
    gke.wait()
    assert gke.pools.get(burst()).phase is READY
    [one] = gke.pools.owned("here")
    assert (one.key.name, one.key.nodes, one.nodes, one.burst) == (POOL, 2, 2, LABEL)


def test_a_pool_whose_answer_is_lost_is_made_once(gke: GkeRig) -> None:
    gke.cloud.order(CREATE, CloudFault.ANSWER_LOST)
    with pytest.raises(RetryLater):
        create(gke)
    create(gke)
    assert gke.cloud.calls.count(CREATE) == 1
    assert len(gke.cloud.there()) == 2


def test_a_pool_of_ours_that_came_meanwhile_is_success(gke: GkeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    create(gke)
    gke.wait()
    seen = [None]
    read = gke.pools._pool

    def late(*given: Any) -> Any:
        return seen.pop() if seen else read(*given)

    monkeypatch.setattr(gke.pools, "_pool", late)
    create(gke)
    assert gke.cloud.calls.count(CREATE) == 2
    assert len(gke.cloud.there()) == 2


def test_a_pool_that_is_being_deleted_is_made_later(gke: GkeRig) -> None:
    create(gke)
    gke.wait()
    gke.pools.delete(burst())
    with pytest.raises(RetryLater, match=f"node pool {POOL} of this burst is being deleted"):
        create(gke)


def test_a_pool_of_somebody_else_is_left_alone(gke: GkeRig) -> None:
    gke.cloud.make(gke.google.gke.path, POOL, MACHINE, 1, {})
    with pytest.raises(NameTaken, match=f"node pool {POOL} is there, and not of this burst"):
        create(gke)
    gke.pools.delete(burst())
    gke.wait()
    assert len(gke.cloud.there()) == 1


def test_a_cluster_does_one_thing_at_a_time(gke: GkeRig) -> None:
    create(gke)
    other = burst("7777777777")
    for call in (lambda: create(gke, other), lambda: gke.pools.delete(burst())):
        with pytest.raises(RetryLater, match="rehearsal/us-central1-a/far: Cluster is running incompatible"):
            call()
    gke.wait()
    create(gke, other)
    assert len(gke.cloud.there()) == 4


SHORT = "RUNNING_WITH_ERROR: its zone has no more such machines now: "
BROKEN_POOLS = {
    "none": (CloudFault.NO_CAPACITY, "GCE_STOCKOUT", f"{SHORT}0 of 4 machines of type {MACHINE} came", 0),
    "part": (CloudFault.PART, "GCE_STOCKOUT", f"{SHORT}2 of 4 machines of type {MACHINE} came", 2),
    "quota": (
        CloudFault.PART,
        "GCE_QUOTA_EXCEEDED",
        "RUNNING_WITH_ERROR: the project may not have more: ask Google for a higher quota: 2 of 4 machines",
        2,
    ),
    "never ready": (CloudFault.BROKEN, "", "ERROR: its machines never became ready", 4),
}


@pytest.mark.parametrize("name", BROKEN_POOLS)
def test_a_broken_pool_has_its_reason_and_what_came_is_billed(gke: GkeRig, name: str) -> None:
    fault, code, reason, nodes = BROKEN_POOLS[name]
    gke.google.gke.shortage = code
    gke.cloud.order(CREATE, fault)
    create(gke, burst(nodes=4))
    assert gke.pools.get(burst(nodes=4)).phase is COMING
    gke.wait()
    status = gke.pools.get(burst(nodes=4))
    assert (status.phase, status.nodes) == (BROKEN, nodes)
    assert status.reason.startswith(reason)
    gone(gke)
    assert gke.cloud.there() == []


REFUSALS: dict[str, tuple[Callable[[GkeRig], object], type[ProviderError], str]] = {
    "quota": (
        lambda rig: rig.cloud.order(CREATE, CloudFault.QUOTA),
        AccountLimitReached,
        'rehearsal/us-central1-a/far: Insufficient regional quota to satisfy request: resource "CPUS"',
    ),
    "denied": (
        lambda rig: rig.cloud.order(CREATE, CloudFault.DENIED),
        AccessDenied,
        "rehearsal/us-central1-a/far: Required 'container.nodePools.create' permission",
    ),
    "unavailable": (
        lambda rig: rig.cloud.order(GET, CloudFault.UNAVAILABLE),
        RetryLater,
        "rehearsal/us-central1-a/far: The service is currently unavailable.",
    ),
    "revoked": (
        lambda rig: setattr(rig.google.account, "is_revoked", True),
        AccessDenied,
        "the credentials are not good any more, or never were",
    ),
    "no cluster": (
        lambda rig: setattr(rig.google.gke, "cluster", "near"),
        CallInvalid,
        "Not found: projects/rehearsal/locations/us-central1-a/clusters/far.",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_has_its_reason(gke: GkeRig, name: str) -> None:
    refuse, kind, message = REFUSALS[name]
    refuse(gke)
    with pytest.raises(kind, match=re.escape(message)):
        create(gke)
    assert gke.cloud.bill() == 0


def test_too_many_calls_are_made_later_as_the_cloud_asks(gke: GkeRig) -> None:
    gke.cloud.order(GET, CloudFault.THROTTLED, after=9.0)
    with pytest.raises(RetryLater) as raised:
        gke.pools.get(burst())
    assert raised.value.after == 9.0


@pytest.mark.parametrize(
    ("faults", "takes"),
    [
        pytest.param((), 60.0, id="none"),
        pytest.param((CloudFault.FAILS,) * 3, 240.0, id="fails three times"),
        pytest.param((CloudFault.HANGS,), 3600.0, id="hangs"),
        pytest.param((CloudFault.ANSWER_LOST,), 60.0, id="is not answered"),
    ],
)
def test_a_deletion_is_repeated_until_nothing_is_listed(
    gke: GkeRig, faults: tuple[CloudFault, ...], takes: float
) -> None:
    create(gke)
    gke.wait(1800.0)
    gke.cloud.order(DELETE, *faults)
    if faults == (CloudFault.ANSWER_LOST,):
        with pytest.raises(RetryLater):
            gke.pools.delete(burst())
    gone(gke)
    [first, second] = [each.ended or 0.0 for each in gke.cloud.machines]
    assert first == second
    assert takes - 1 <= first - START - 1800.0 <= takes + 60.0
    assert gke.cloud.bill() == money.cost(PRICE, 2, first - START)


def test_machines_that_outlive_their_pool_are_deleted_by_themselves(gke: GkeRig) -> None:
    """The deletion of the pool was reported as done, and its machines cost money."""
    create(gke)
    gke.wait()
    gke.cloud.order(DELETE, CloudFault.LIES)
    gke.pools.delete(burst())
    status = gke.pools.get(burst())
    assert (status.phase, status.nodes) == (BROKEN, 2)
    assert status.reason == "it is gone, and 2 of its machines are still there"
    assert [(each.key.name, each.burst) for each in gke.pools.owned("here")] == [(POOL, LABEL)]
    gke.pools.delete(burst())
    assert gke.pools.get(burst()).phase is GOING
    gke.wait()
    assert gke.pools.get(burst()).phase is ABSENT
    assert gke.cloud.there() == []


def test_machines_that_only_an_old_listing_has_are_not_left(gke: GkeRig) -> None:
    """A deletion is not begun again and again for them."""
    create(gke)
    gke.wait()
    gke.cloud.lag = 60.0
    gke.pools.delete(burst())
    gke.wait(61.0)
    assert gke.pools.get(burst()).phase is ABSENT
    assert [each.nodes for each in gke.pools.owned("here")] == [2]
    gke.pools.delete(burst())
    assert "compute.instances.delete" not in gke.cloud.calls
    gke.wait(60.0)
    assert list(gke.pools.owned("here")) == []


def test_nodes_end_by_themselves_when_the_burst_should(gke: GkeRig) -> None:
    create(gke, burst(seconds=600.0))
    gke.wait(601.0)
    assert gke.cloud.there() == []
    assert gke.cloud.bill() == money.cost(PRICE, 2, 600.0)


def test_pools_of_another_cluster_of_the_project_are_not_listed(gke: GkeRig) -> None:
    labels = {
        "minicluster-owner": "here",
        "minicluster-burst": LABEL,
        "minicluster-cluster": "us-central1-a_x",
    }
    gke.cloud.make("projects/rehearsal/locations/us-central1-a/clusters/x", POOL, MACHINE, 1, labels)
    assert list(gke.pools.owned("here")) == []
    assert gke.pools.get(burst()).phase is ABSENT


AUTHORITY = base64.b64encode(b"a certificate").decode()
DNS = {"controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": "gke-1.us-central1.gke.goog"}}}
ENDPOINTS = {
    "public": ClusterEndpoint("https://192.0.2.1", AUTHORITY),
    "private": ClusterEndpoint("https://10.0.0.2", AUTHORITY),
    "dns": ClusterEndpoint("https://gke-1.us-central1.gke.goog"),
}


@pytest.mark.parametrize("kind", ENDPOINTS)
def test_the_api_server_is_where_the_cluster_has_it(tmp_path: Path, kind: str) -> None:
    rig = GkeRig(tmp_path, {"controlPlane": kind})
    rig.google.gke.authority = AUTHORITY
    rig.google.gke.detail = {"privateClusterConfig": {"privateEndpoint": "10.0.0.2"}, **DNS}
    found = rig.pools.endpoint()
    rig.close()
    assert found == ENDPOINTS[kind]


def test_an_address_that_the_cluster_does_not_have_is_named(tmp_path: Path) -> None:
    rig = GkeRig(tmp_path, {"controlPlane": "private"})
    message = "rehearsal/us-central1-a/far: the cluster has no private address of its API server"
    with pytest.raises(RetryLater, match=message):
        rig.pools.endpoint()
    rig.close()


def test_the_token_for_the_api_server_is_the_accounts_own(gke: GkeRig) -> None:
    assert gke.pools.token() in gke.google.account.tokens
    gke.google.account.is_revoked = True
    gke.pools._account._credentials = None
    with pytest.raises(AccessDenied, match="invalid_grant"):
        gke.pools.token()


def test_it_is_opened_without_a_call(gke: GkeRig, tmp_path: Path) -> None:
    context: Any = SimpleNamespace(join=join_settings, state=tmp_path, tunnel_pods=None)
    found = KIND.open("cloud", gke.settings, context)
    assert found.location == "gke/rehearsal/us-central1-a/far/bursts"
    shape = NodeShape(4)
    assert found.offers() == (
        Offer("cloud", MACHINE, shape, PRICE, ready=180.0),
        Offer("cloud", MACHINE, shape, SPOT_PRICE, ready=180.0, spot=True),
    )
    assert [each.name for each in found.resources(burst())] == [POOL, f"mcb-{LABEL}"]
    assert gke.cloud.calls == []
