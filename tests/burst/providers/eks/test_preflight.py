"""What an administrator reads before a burst is made: each problem in words, and what would be right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from burst.providers.eks.preflight import RIGHTS
from burst.rehearsal.cloud import CloudFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.burst.providers.eks_world import EksWorld

LOCATION = "eks/123456789012/eu-central-1/far/bursts"
ISSUE = {"code": "Ec2SubnetNotFound", "message": "subnet-9 is gone"}


def _full(world: EksWorld) -> None:
    world.account.queries.group_quota = 0


def _outside(world: EksWorld) -> None:
    world.account.queries.elsewhere.add("subnet-2")


def _renamed(world: EksWorld) -> None:
    world.account.eks.cluster = "another"


WRONG: dict[str, tuple[Callable[[EksWorld], object], str]] = {
    "no-cluster": (_renamed, "there is no cluster far in eu-central-1"),
    "creating": (
        lambda world: setattr(world.account.eks, "status", "CREATING"),
        "cluster far is CREATING; right would be ACTIVE",
    ),
    "unwell": (
        lambda world: world.account.eks.issues.append(ISSUE),
        "cluster far is not well: subnet-9 is gone (Ec2SubnetNotFound)",
    ),
    "expired": (
        lambda world: world.cloud.order("eks.DescribeCluster", CloudFault.DENIED),
        "The security token included is expired (ExpiredTokenException)",
    ),
    "no-subnet": (
        lambda world: world.account.queries.subnets.pop("subnet-2"),
        "subnets: The subnet ID 'subnet-2' does not exist (InvalidSubnetID.NotFound)",
    ),
    "another-vpc": (_outside, "subnets subnet-2 are not in vpc-1, the VPC of cluster far"),
    "few-addresses": (
        lambda world: world.account.queries.subnets.update({"subnet-1": 3, "subnet-2": 4}),
        "subnets subnet-1, subnet-2 have 7 free addresses; right would be 16 or more",
    ),
    "no-role": (
        lambda world: world.account.queries.roles.clear(),
        "there is no role burst-nodes (nodeRole) in account 123456789012",
    ),
    "quota": (
        _full,
        "cluster far has 0 node groups, and may have 0: ask AWS for a higher quota (L-6D54EA21)",
    ),
    "may-not-list-groups": (
        lambda world: world.account.eks.denied.add("eks.ListNodegroups"),
        "what is there cannot be listed: eks:ListNodegroups: User is not authorized (AccessDeniedException)",
    ),
    "may-not-list-machines": (
        lambda world: world.account.eks.denied.add("ec2.DescribeInstances"),
        "what is there cannot be listed: ec2:DescribeInstances: Not authorized (UnauthorizedOperation)",
    ),
}


def test_a_cluster_with_which_all_is_well_has_no_problem(world: EksWorld) -> None:
    assert world.provider.problems() == []


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found_in_words(world: EksWorld, name: str) -> None:
    spoil, words = WRONG[name]
    spoil(world)
    assert world.provider.problems() == [f"{LOCATION}: {words}"]


def test_what_may_not_be_read_is_passed_over(world: EksWorld) -> None:
    world.account.eks.denied |= {"ec2.DescribeSubnets", "iam.GetRole", "servicequotas.GetServiceQuota"}
    assert world.provider.problems() == []


def test_it_writes_nothing(world: EksWorld) -> None:
    world.provider.problems()
    assert all(call.split(".")[1].startswith(("Describe", "Get", "List")) for call in world.cloud.calls)


def test_the_policy_has_the_rights_that_are_used_and_no_other() -> None:
    policy = json.loads((Path(__file__).parents[4] / "deploy" / "clouds" / "eks-policy.json").read_text())
    granted = [action for each in policy["Statement"] for action in each["Action"]]
    assert set(granted) == set(RIGHTS)
    assert {each["Effect"] for each in policy["Statement"]} == {"Allow"}


def test_every_call_is_one_of_the_rights(world: EksWorld) -> None:
    world.provider.problems()
    world.create()
    world.get()
    world.delete()
    world.provider.owned("here")
    assert {each.replace(".", ":") for each in world.cloud.calls} <= set(RIGHTS)
