"""What may happen to calls, and to what they begin: nothing is doubled, and nothing is left unseen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from burst.errors import AccessDenied, AccountLimitReached, CallInvalid, ProviderError, RetryLater
from burst.lifecycle.records import ResourcePhase
from burst.planning import money
from burst.rehearsal.cloud import CloudFault
from tests.burst.providers.eks_world import MACHINE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.burst.providers.eks_world import EksWorld

HOURLY = money.amount("0.36")
CREATE, DELETE = "eks.CreateNodegroup", "eks.DeleteNodegroup"
REFUSALS: dict[str, tuple[CloudFault, type[ProviderError], str]] = {
    "unavailable": (CloudFault.UNAVAILABLE, RetryLater, "The service is unavailable."),
    "throttled": (CloudFault.THROTTLED, RetryLater, "Rate exceeded (ThrottlingException)"),
    "expired": (CloudFault.DENIED, AccessDenied, "token included is expired (ExpiredTokenException)"),
    "limit": (CloudFault.QUOTA, AccountLimitReached, "Maximum number of nodegroups reached"),
}
CALLS: dict[str, tuple[str, Callable[[EksWorld], object]]] = {
    "create": (CREATE, lambda world: world.create()),
    "look-first": ("eks.DescribeNodegroup", lambda world: world.create()),
    "get": ("eks.DescribeNodegroup", lambda world: world.get()),
    "machines": ("ec2.DescribeInstances", lambda world: world.get()),
    "list": ("eks.ListNodegroups", lambda world: world.provider.owned("here")),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_an_error_with_the_location_and_amazons_words(world: EksWorld, name: str) -> None:
    fault, error, words = REFUSALS[name]
    world.cloud.order(CREATE, fault, after=7)
    with pytest.raises(error, match=re.escape(words)) as raised:
        world.create()
    assert str(raised.value).startswith("eks/123456789012/eu-central-1/far/bursts: ")
    if isinstance(raised.value, RetryLater):
        assert raised.value.after == 7
    assert world.cloud.groups == []


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("fault", [CloudFault.UNAVAILABLE, CloudFault.DENIED, CloudFault.ANSWER_LOST])
def test_no_call_takes_a_failure_for_an_answer(world: EksWorld, name: str, fault: CloudFault) -> None:
    call, make = CALLS[name]
    world.cloud.order(call, fault)
    with pytest.raises(AccessDenied if fault is CloudFault.DENIED else RetryLater):
        make(world)


def test_more_than_the_account_may_have_makes_nothing(world: EksWorld) -> None:
    world.cloud.quota = 3
    with pytest.raises(AccountLimitReached, match="0 machines of 3 are used, 4 are asked for"):
        world.create()
    assert world.cloud.groups == []


def test_a_lost_answer_makes_one_group(world: EksWorld) -> None:
    world.cloud.order(CREATE, CloudFault.ANSWER_LOST)
    with pytest.raises(RetryLater):
        world.create()
    world.create()
    assert [each.name for each in world.cloud.groups] == [world.key.name]
    assert world.cloud.calls.count(CREATE) == 1


def test_a_creation_that_is_asked_for_twice_at_once_makes_one_group(world: EksWorld) -> None:
    """As by two services: the second one did not see the first one's group."""
    groups = world.account.groups(world.account.settings([MACHINE]))
    eks, asked = groups._clients.client("eks"), groups._request(world.wanted, "token")
    first, second = (eks.create_nodegroup(**asked)["nodegroup"] for _ in range(2))
    assert first["nodegroupArn"] == second["nodegroupArn"]
    assert len(world.cloud.groups) == 1


@pytest.mark.parametrize(
    ("fault", "there", "words"),
    [
        (CloudFault.NO_CAPACITY, 0, "0 of 4 machines of type c7i.2xlarge came: there are no more"),
        (CloudFault.PART, 2, "2 of 4 machines of type c7i.2xlarge came: there are no more"),
        (CloudFault.BROKEN, 4, "did not join the cluster: see the policies of the node role"),
    ],
    ids=["no-capacity", "part", "broken"],
)
def test_a_group_that_never_becomes_ready_is_broken_and_what_came_costs(
    world: EksWorld, fault: CloudFault, there: int, words: str
) -> None:
    world.cloud.order(CREATE, fault)
    world.create()
    world.pass_by(120)
    found = world.get()
    assert (found.phase, found.nodes) == (ResourcePhase.BROKEN, there)
    assert words in found.reason
    assert world.cloud.bill() == money.cost(HOURLY, there, 120)
    world.delete()
    world.pass_by(60)
    assert world.get().phase is ResourcePhase.ABSENT


def test_a_deletion_that_fails_is_begun_again_until_it_is_done(world: EksWorld) -> None:
    world.create()
    world.pass_by(120)
    world.cloud.order(DELETE, *[CloudFault.FAILS] * 3)
    for _ in range(3):
        world.delete()
        assert world.get().phase is ResourcePhase.GOING
        world.pass_by(60)
        found = world.get()
        assert (found.phase, found.nodes) == (ResourcePhase.BROKEN, 4)
        assert found.reason == (
            "DELETE_FAILED: its security group is still used by something, such as a network interface that"
            " was left over: delete that: DependencyViolation - resource has a dependent object"
            " (Ec2SecurityGroupDeletionFailure) [mcb-62dgmfw4gk-nodes]"
        )
    world.delete()
    world.pass_by(60)
    assert world.get().phase is ResourcePhase.ABSENT
    assert world.cloud.bill() == money.cost(HOURLY, 4, 120 + 4 * 60)


def test_a_deletion_that_hangs_is_not_asked_for_again_and_costs(world: EksWorld) -> None:
    world.create()
    world.cloud.order(DELETE, CloudFault.HANGS)
    for _ in range(3):
        world.delete()
        world.pass_by(600)
        found = world.get()
        assert (found.phase, found.nodes) == (ResourcePhase.GOING, 4)
    assert world.cloud.calls.count(DELETE) == 1
    world.pass_by(1_800)
    assert world.get().phase is ResourcePhase.ABSENT
    assert list(world.provider.owned("here")) == []


def test_machines_that_outlive_their_group_are_still_to_go(world: EksWorld) -> None:
    world.create()
    world.pass_by(120)
    world.cloud.order(DELETE, CloudFault.LIES)
    world.delete()
    [listed], found = world.provider.owned("here"), world.get()
    reason = "it is gone, and 4 of its machines are still there"
    assert (found.phase, found.nodes, found.reason) == (ResourcePhase.GOING, 4, reason)
    assert (listed.burst, listed.key.name, listed.nodes) == (world.wanted.label, world.key.name, 4)
    world.delete()
    world.pass_by(3_600)
    assert world.get().phase is ResourcePhase.ABSENT
    assert list(world.provider.owned("here")) == []


def test_a_group_that_no_listing_has_yet_is_found_by_its_machines(world: EksWorld) -> None:
    world.create()
    world.pass_by(10)
    world.cloud.order("eks.ListNodegroups", CloudFault.UNAVAILABLE)
    with pytest.raises(RetryLater):
        world.provider.owned("here")
    world.cloud.lag = 30
    assert list(world.provider.owned("here")) == []
    world.pass_by(30)
    assert [each.key for each in world.provider.owned("here")] == [world.key]


def test_what_a_late_listing_still_has_is_asked_for_by_name(world: EksWorld) -> None:
    world.create()
    world.pass_by(120)
    world.delete()
    world.pass_by(60)
    world.cloud.lag = 30
    [found] = world.provider.owned("here")
    assert (found.phase, found.key.name) == (ResourcePhase.GOING, world.key.name)
    world.pass_by(30)
    assert list(world.provider.owned("here")) == []


def test_listings_come_in_pages(world: EksWorld) -> None:
    bursts = [world.burst(f"label{number:05}", nodes=3) for number in range(5)]
    for each in bursts:
        world.provider.create(world.provider.resources(each)[0], each.label, each)
    found = world.provider.owned("here")
    assert {each.burst for each in found} == {each.label for each in bursts}
    assert {each.nodes for each in found} == {3}
    assert world.cloud.calls.count("ec2.DescribeInstances") == 8


def test_spot_machines_are_asked_for_and_one_that_is_taken_is_missed(world: EksWorld) -> None:
    world.wanted = world.burst(spot=True)
    world.create()
    world.pass_by(120)
    assert world.get().phase is ResourcePhase.READY
    assert world.cloud.bill() == money.cost(money.amount("0.18"), 4, 120)
    world.cloud.end(world.cloud.there()[:1])
    found = world.get()
    assert (found.phase, found.nodes) == (ResourcePhase.BROKEN, 3)
    assert found.reason.startswith("DEGRADED: its machines could not be launched: there are none now")


def test_what_is_asked_for_is_what_the_settings_have(world: EksWorld) -> None:
    world.create()
    [group] = world.cloud.groups
    label = world.wanted.label
    tags = {"minicluster-burst": label, "minicluster-owner": "here", "minicluster-expires": "1800003600"}
    wanted = {
        "nodegroupName": f"mcb-{label}-nodes",
        "clientRequestToken": "token",
        "scalingConfig": {"minSize": 4, "maxSize": 4, "desiredSize": 4},
        "capacityType": "ON_DEMAND",
        "instanceTypes": ["c7i.2xlarge"],
        "diskSize": 20,
        "subnets": ["subnet-1", "subnet-2"],
        "nodeRole": "arn:aws:iam::123456789012:role/burst-nodes",
        "labels": {"minicluster-burst": label},
        "taints": [{"key": "minicluster-burst", "value": label, "effect": "NO_SCHEDULE"}],
        "tags": tags,
    }
    assert {key: value for key, value in group.detail.items() if key != "fault"} == wanted


def test_a_machine_without_a_row_and_a_cluster_that_is_not_there_are_refused(world: EksWorld) -> None:
    unknown = world.wanted._replace(machine="c8")
    with pytest.raises(CallInvalid, match=r"provider eks has no machine 'c8', but c7i\.2xlarge"):
        world.provider.create(world.key, "token", unknown)
    world.account.eks.cluster = "another"
    with pytest.raises(CallInvalid, match=r"No cluster found for name: far"):
        world.account.groups(world.account.settings([MACHINE], cluster="far")).create(world.wanted, "token")


def test_the_ledger_can_meter_by_what_is_there(world: EksWorld) -> None:
    """The sum over ticks of the reported nodes is the bill."""
    world.cloud.order(CREATE, CloudFault.PART)
    ticks: list[int] = []
    world.create()
    for number in range(12):
        if number == 7:
            world.delete()
        ticks.append(world.get().nodes or 0)
        world.pass_by(20)
    assert (ticks[0], ticks[-1]) == (2, 0)
    assert world.cloud.bill() == money.cost(HOURLY, sum(ticks), 20)
