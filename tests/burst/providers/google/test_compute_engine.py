"""Bursts of Compute Engine's instances, and every fault that its cloud plays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from burst.errors import AccessDenied, AccountLimitReached, CallInvalid, NoCapacity, ProviderError, RetryLater
from burst.lifecycle.records import ResourcePhase
from burst.planning import money
from burst.providers.compute_engine.bulk_insert import instance_names
from burst.rehearsal.cloud import CloudFault
from burst.rehearsal.compute_engine import BULK_INSERT, DELETE, MAX_ORDER_SECONDS
from burst.rehearsal.compute_instances import LIST_ALL
from tests.burst.providers.google.rigs import PRICE, SPOT_PRICE, START, ComputeEngineRig, burst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COMING, READY, GOING = ResourcePhase.COMING, ResourcePhase.READY, ResourcePhase.GOING
ABSENT, BROKEN = ResourcePhase.ABSENT, ResourcePhase.BROKEN


def names(rig: ComputeEngineRig) -> list[str]:
    return sorted(each.name for each in rig.cloud.there())


def gone(rig: ComputeEngineRig) -> None:
    """Delete a burst as the service does: until two listings have nothing of it."""
    for _ in range(200):
        if rig.get(burst()).phase is ABSENT and not list(rig.provider.owned("here")):
            return
        rig.delete(burst())
        rig.wait(30.0)
    raise AssertionError(f"{names(rig)} are left")


def test_a_burst_is_one_order_of_all_instances_or_none(engine: ComputeEngineRig) -> None:
    engine.create(burst(nodes=3))
    [order] = engine.google.compute.instances.orders.values()
    assert engine.cloud.calls.count(BULK_INSERT) == 1
    assert (order.body["count"], order.body["minCount"]) == ("3", "3")
    assert sorted(order.body["perInstanceProperties"]) == instance_names(burst(nodes=3))
    properties = order.body["instanceProperties"]
    assert properties["scheduling"] == {
        "provisioningModel": "STANDARD",
        "instanceTerminationAction": "DELETE",
        "maxRunDuration": {"seconds": "7200"},
        "automaticRestart": False,
        "onHostMaintenance": "MIGRATE",
    }
    assert properties["labels"] == {
        "minicluster-burst": burst().label,
        "minicluster-owner": "here",
        "minicluster-expires": f"{burst().until:.0f}",
    }
    assert "serviceAccounts" not in properties
    assert properties["metadata"] == {"items": [{"key": "startup-script", "value": "join 62dgmfw4gk"}]}
    assert order.body["locationPolicy"]["targetShape"] == "ANY_SINGLE_ZONE"


def test_a_spot_burst_asks_for_spot_machines_and_has_their_price(engine: ComputeEngineRig) -> None:
    engine.create(burst(spot=True))
    [order] = engine.google.compute.instances.orders.values()
    scheduling = order.body["instanceProperties"]["scheduling"]
    assert (scheduling["provisioningModel"], scheduling["onHostMaintenance"]) == ("SPOT", "TERMINATE")
    engine.wait(3600.0)
    assert engine.cloud.bill() == 2 * SPOT_PRICE


@pytest.fixture
def chosen(tmp_path: Path) -> Iterator[ComputeEngineRig]:
    """A provider of which much is set."""
    more = {
        "zones": ["us-central1-b"],
        "subnetwork": "bursts",
        "externalAddress": True,
        "tags": ["burst"],
        "instanceServiceAccount": "jobs@rehearsal.iam.gserviceaccount.com",
        "image": "projects/images/global/images/flux-1",
        "diskGb": 50,
    }
    rig = ComputeEngineRig(tmp_path, more)
    yield rig
    rig.close()


def test_what_is_set_is_ordered(chosen: ComputeEngineRig) -> None:
    chosen.create(burst())
    [order] = chosen.google.compute.instances.orders.values()
    properties = order.body["instanceProperties"]
    assert order.zone == "us-central1-b"
    assert properties["disks"][0]["initializeParams"] == {
        "sourceImage": "projects/images/global/images/flux-1",
        "diskSizeGb": "50",
        "diskType": "pd-balanced",
    }
    [interface] = properties["networkInterfaces"]
    assert interface["subnetwork"] == "projects/rehearsal/regions/us-central1/subnetworks/bursts"
    assert interface["accessConfigs"] == [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}]
    assert properties["tags"] == {"items": ["burst"]}
    assert properties["serviceAccounts"][0]["email"].startswith("jobs@")


def test_an_order_whose_answer_is_lost_is_served_once(engine: ComputeEngineRig) -> None:
    engine.cloud.order(BULK_INSERT, CloudFault.ANSWER_LOST)
    with pytest.raises(RetryLater):
        engine.create(burst())
    engine.create(burst())
    assert names(engine) == instance_names(burst())


def test_an_order_that_no_listing_has_yet_is_served_once(engine: ComputeEngineRig) -> None:
    engine.cloud.lag = 60.0
    for _ in range(3):
        engine.create(burst())
        assert engine.get(burst()).phase is COMING
        engine.wait(10.0)
    assert names(engine) == instance_names(burst())
    engine.wait()
    assert engine.get(burst()).phase is READY


def test_what_no_listing_has_yet_is_found_and_deleted_by_its_name(engine: ComputeEngineRig) -> None:
    engine.cloud.lag = 60.0
    engine.create(burst())
    status = engine.get(burst())
    assert (status.phase, status.nodes, status.since) == (COMING, 2, START)
    engine.delete(burst())
    assert engine.get(burst()).phase is GOING
    engine.wait(61.0)
    assert names(engine) == []


def test_an_order_that_has_made_nothing_yet_may_still_do_so(engine: ComputeEngineRig) -> None:
    engine.cloud.order(BULK_INSERT, CloudFault.NO_CAPACITY)
    engine.create(burst())
    status = engine.get(burst())
    assert (status.phase, status.reason, status.nodes) == (COMING, "they are being made", 0)
    engine.delete(burst())
    engine.wait(MAX_ORDER_SECONDS)
    assert engine.get(burst()).phase is ABSENT


def test_what_is_there_and_since_when_is_what_the_listing_has(engine: ComputeEngineRig) -> None:
    engine.create(burst())
    engine.wait(30.0)
    status = engine.get(burst())
    assert (status.phase, status.nodes, status.since) == (COMING, 2, START)
    assert status.reason == "0 of 2 instances run"


def test_a_stock_out_names_its_reason(engine: ComputeEngineRig) -> None:
    engine.cloud.order(BULK_INSERT, CloudFault.NO_CAPACITY)
    engine.create(burst())
    assert engine.get(burst()).phase is COMING
    engine.wait()
    assert engine.get(burst()).phase is ABSENT
    with pytest.raises(NoCapacity, match=r"VM_MIN_COUNT_NOT_REACHED.*ZONE_RESOURCE_POOL_EXHAUSTED.*0 of 2"):
        engine.create(burst())
    assert engine.cloud.bill() == 0


def test_of_a_stock_out_in_part_nothing_is_left_and_what_came_was_billed(engine: ComputeEngineRig) -> None:
    engine.cloud.order(BULK_INSERT, CloudFault.PART)
    engine.create(burst(nodes=4))
    engine.wait(20.0)
    assert engine.get(burst(nodes=4)).nodes == 2
    engine.wait()
    assert names(engine) == []
    with pytest.raises(NoCapacity, match="Requested minimum count of 4 VMs could not be created"):
        engine.create(burst(nodes=4))
    assert engine.cloud.bill() == 2 * money.cost(PRICE, 1, MAX_ORDER_SECONDS)


def test_what_an_order_deletes_again_is_not_left_though_a_listing_has_it(engine: ComputeEngineRig) -> None:
    engine.cloud.lag = 60.0
    engine.cloud.order(BULK_INSERT, CloudFault.PART)
    engine.create(burst(nodes=4))
    engine.wait(80.0)
    status = engine.get(burst(nodes=4))
    assert (status.phase, status.nodes) == (ABSENT, 0)
    assert [each.nodes for each in engine.provider.owned("here")] == [2]
    engine.wait()
    assert list(engine.provider.owned("here")) == []


def test_more_than_a_region_has_is_a_stock_out(engine: ComputeEngineRig) -> None:
    engine.cloud.capacity = {engine.machine: 3}
    engine.create(burst())
    engine.create(burst("7777777777"))
    engine.wait()
    with pytest.raises(NoCapacity, match="does not have enough resources"):
        engine.create(burst("7777777777"))
    assert engine.get(burst()).phase is READY


def test_a_burst_whose_machines_never_boot_stays_on_its_way_and_costs(engine: ComputeEngineRig) -> None:
    engine.cloud.order(BULK_INSERT, CloudFault.BROKEN)
    engine.create(burst())
    engine.wait(3600.0)
    status = engine.get(burst())
    assert (status.phase, status.nodes) == (COMING, 2)
    assert engine.cloud.bill() == 2 * PRICE


REFUSALS: dict[str, tuple[Callable[[ComputeEngineRig], object], type[ProviderError], str]] = {
    "quota": (
        lambda rig: rig.cloud.order(BULK_INSERT, CloudFault.QUOTA),
        AccountLimitReached,
        "rehearsal/us-central1: Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1.",
    ),
    "account": (
        lambda rig: setattr(rig.cloud, "quota", 1),
        AccountLimitReached,
        "rehearsal/us-central1: Quota 'INSTANCES' exceeded: 0 machines of 1 are used, 2 are asked for",
    ),
    "denied": (
        lambda rig: rig.cloud.order(BULK_INSERT, CloudFault.DENIED),
        AccessDenied,
        "rehearsal/us-central1: Required 'compute.regionInstances.bulkInsert' permission",
    ),
    "unavailable": (
        lambda rig: rig.cloud.order(BULK_INSERT, CloudFault.UNAVAILABLE),
        RetryLater,
        "rehearsal/us-central1: The service is currently unavailable.",
    ),
    "revoked": (
        lambda rig: setattr(rig.google.account, "is_revoked", True),
        AccessDenied,
        "the credentials are not good any more, or never were",
    ),
    "zone": (
        lambda rig: rig.google.compute.instances.unreachable.add("us-central1-b"),
        RetryLater,
        "rehearsal/us-central1: zone us-central1-b is not reached: what is there is not known",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_has_its_reason(engine: ComputeEngineRig, name: str) -> None:
    refuse, kind, message = REFUSALS[name]
    refuse(engine)
    with pytest.raises(kind, match=re.escape(message)):
        engine.create(burst())
    assert engine.cloud.bill() == 0


def test_too_many_calls_are_made_later_as_the_cloud_asks(engine: ComputeEngineRig) -> None:
    engine.cloud.order(LIST_ALL, CloudFault.THROTTLED, after=17.0)
    with pytest.raises(RetryLater) as raised:
        engine.get(burst())
    assert raised.value.after == 17.0


def test_a_token_is_renewed_when_it_expires(engine: ComputeEngineRig) -> None:
    engine.create(burst())
    engine.wait(4000.0)
    assert engine.get(burst()).phase is READY
    assert len(engine.google.account.tokens) == 2


def test_credentials_that_are_revoked_in_midlife_delete_nothing(engine: ComputeEngineRig) -> None:
    engine.create(burst())
    engine.wait()
    engine.google.account.is_revoked = True
    for call in (engine.get, engine.delete):
        with pytest.raises(AccessDenied, match="invalid_grant"):
            call(burst())
    assert names(engine) == instance_names(burst())
    engine.google.account.is_revoked = False
    engine.delete(burst())
    engine.wait()
    assert names(engine) == []


@pytest.mark.parametrize(
    ("faults", "takes"),
    [
        pytest.param((), 60.0, id="none"),
        pytest.param((CloudFault.FAILS,) * 6, 180.0, id="fails three times"),
        pytest.param((CloudFault.HANGS,) * 2, 3600.0, id="hangs"),
        pytest.param((CloudFault.LIES,) * 2, 60.0, id="lies"),
        pytest.param((CloudFault.UNAVAILABLE, CloudFault.ANSWER_LOST), 60.0, id="is not answered"),
    ],
)
def test_a_deletion_is_repeated_until_nothing_is_listed(
    engine: ComputeEngineRig, faults: tuple[CloudFault, ...], takes: float
) -> None:
    engine.create(burst())
    engine.wait(3600.0)
    engine.cloud.order(DELETE, *faults)
    for _ in range(len(faults) + 1):
        try:
            engine.delete(burst())
        except RetryLater:
            continue
        break
    gone(engine)
    ends = [each.ended or 0.0 for each in engine.cloud.machines]
    assert takes - 1 <= max(ends) - START - 3600.0 <= takes + 60.0
    assert engine.cloud.bill() == sum(money.cost(PRICE, 1, end - START) for end in ends)


def test_one_instance_that_cannot_be_deleted_keeps_no_other(engine: ComputeEngineRig) -> None:
    engine.create(burst())
    engine.wait()
    engine.cloud.order(DELETE, CloudFault.UNAVAILABLE)
    with pytest.raises(RetryLater, match="currently unavailable"):
        engine.delete(burst())
    engine.wait()
    assert names(engine) == instance_names(burst())[:1]


def test_instances_end_by_themselves_when_the_burst_should(engine: ComputeEngineRig) -> None:
    engine.create(burst(seconds=600.0))
    engine.wait(601.0)
    assert names(engine) == []
    assert engine.get(burst(seconds=600.0)).phase is ABSENT
    assert engine.cloud.bill() == money.cost(PRICE, 2, 600.0)


def test_a_spot_instance_that_is_taken_away_breaks_its_burst(engine: ComputeEngineRig) -> None:
    engine.create(burst(spot=True))
    engine.wait(300.0)
    engine.cloud.end(engine.cloud.there()[:1])
    status = engine.get(burst(spot=True))
    assert (status.phase, status.reason, status.nodes) == (BROKEN, "1 of 2 instances are left", 1)


def test_a_listing_in_pages_is_read_to_its_end(tmp_path: Path) -> None:
    rig = ComputeEngineRig(tmp_path, page_size=1)
    rig.create(burst(nodes=3))
    rig.create(burst("7777777777"))
    rig.wait()
    found = {each.burst: each.nodes for each in rig.provider.owned("here")}
    rig.close()
    assert found == {burst().label: 3, "7777777777": 2}


def test_nodes_of_gke_are_nobodys_instances(engine: ComputeEngineRig) -> None:
    """Their node pool deletes them; who deleted one of them would have it made anew."""
    labels = {"minicluster-owner": "here", "minicluster-burst": burst().label, "goog-gke-node": ""}
    engine.cloud.make("cluster", "pool", engine.machine, 1, labels)
    assert list(engine.provider.owned("here")) == []
    engine.delete(burst())
    engine.wait()
    assert names(engine) == ["pool-0"]


def test_what_a_broker_wrote_is_on_its_console(engine: ComputeEngineRig) -> None:
    engine.create(burst())
    engine.google.compute.instances.consoles[instance_names(burst())[1]] = "mismatched config?"
    assert engine.provider.broker_problem(burst()) == "mismatched config?"
    engine.cloud.order("compute.instances.getSerialPortOutput", CloudFault.DENIED)
    assert engine.provider.broker_problem(burst()) == ""


LATE = "burst 62dgmfw4gk was to end 0 s ago"
UNKNOWN = "provider ce has no machine 'c9', but c2-standard-8"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"until": START}, LATE, id="late"),
        pytest.param({"machine": "c9"}, UNKNOWN, id="unknown"),
    ],
)
def test_what_cannot_be_is_refused_before_any_order(
    engine: ComputeEngineRig, change: dict[str, object], message: str
) -> None:
    with pytest.raises(CallInvalid, match=re.escape(message)):
        engine.create(burst()._replace(**change))  # type: ignore[arg-type]
    assert BULK_INSERT not in engine.cloud.calls
