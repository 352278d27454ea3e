"""The proofs of `make prove-clouds` in short: every fault, and some random lives, over each cloud."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.burst.proofs import cloud_faults, cloud_rights, cloud_rigs, cloud_schedules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.burst.proofs.cloud_rigs import CloudRig

ONCE = (
    "stock-out after part of the nodes",
    "answer of the creation lost",
    "creation throttled",
    "credentials expired amid",
    "deletion fails three times",
    "deletion lies",
    "a machine is taken away",
    "something else under our name",
    "a listing in pages",
)
"""Faults that each cloud's client meets in its own words; the others are the machine's own business."""
OWN_CLUSTERS = (
    "stock-out after part of the nodes",
    "answer of the creation lost",
    "deletion fails three times",
    "something else under our name",
)
"""The same of bursts that have whole clusters: what is not the same as in a cluster that is there."""
RIGS = [each for each in cloud_rigs.SETTINGS if each != "eks-cluster-nodes"]


@pytest.fixture(scope="module", params=RIGS)
def rig(request: pytest.FixtureRequest) -> Iterator[CloudRig]:
    with cloud_rigs.opened(request.param) as opened:
        yield opened


@pytest.mark.parametrize("name", [*cloud_faults.CASES, *cloud_faults.SPECIAL])
def test_whatever_goes_wrong_nothing_is_left_and_the_bill_is_what_is_charged(
    rig: CloudRig, name: str
) -> None:
    once = OWN_CLUSTERS if rig.name.endswith("-cluster") else ONCE
    if rig.name != "memory" and name not in once:
        pytest.skip("`make prove-clouds` has it")
    assert asyncio.run(cloud_faults.prove_one(rig, name, 0.0)) == ""


@pytest.mark.parametrize("seed", range(2))
def test_random_lives(rig: CloudRig, seed: int) -> None:
    if rig.name.endswith("-cluster") and seed:
        pytest.skip("`make prove-clouds` has it")
    outcome = asyncio.run(cloud_schedules.run(rig, seed))
    assert outcome in {"succeeded", "failed", "expired", "stopped"}


def test_its_policy_allows_what_is_called_and_nothing_else(rig: CloudRig) -> None:
    """In two lives, and before them; `make prove-clouds` asks the same of all faults."""
    if rig.name not in cloud_rights.POLICIES:
        pytest.skip("it is no cloud")
    called: set[str] = set()
    for name in ("nothing", "stock-out after part of the nodes"):
        assert asyncio.run(cloud_faults.prove_one(rig, name, 0.0)) == ""
        called.update(rig.found.cloud.calls)
    called |= cloud_rights.preflight(rig)
    assert list(cloud_rights.wrong(rig.name, called)) == []
