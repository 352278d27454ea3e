"""What every provider does: the cases that hold for all of them, those of others as well."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from burst.errors import NameTaken
from burst.lifecycle.records import PREFIX, ResourcePhase
from burst.providers.provider import WantedBurst
from tests.burst.providers.conformance.eks_rig import EksClusterRig, EksRig
from tests.burst.providers.conformance.rigs import MemoryRig
from tests.burst.providers.local.local_rig import LocalRig

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from burst.lifecycle.records import ResourceKey
    from tests.burst.providers.conformance.rigs import Rig

LABEL = "62dgmfw4gk"
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


RIGS = {"memory": MemoryRig, "local": LocalRig, "eks": EksRig, "eks-cluster": EksClusterRig}


@pytest.fixture(params=RIGS)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    made: Rig = RIGS[request.param]()
    yield made
    made.close()


def wanted(rig: Rig, label: str = LABEL, nodes: int = 2, installation: str = "here") -> WantedBurst:
    return WantedBurst(label, installation, nodes, rig.machine, spot=False, until=4_000_000_000.0)


def make(rig: Rig, burst: WantedBurst) -> Sequence[ResourceKey]:
    """Make all resources of a burst, each once the one before is ready."""
    keys = rig.provider.resources(burst)
    for number, key in enumerate(keys):
        rig.provider.create(key, f"token-{burst.label}-{number}", burst)
        rig.wait()
    return keys


def phases(rig: Rig, burst: WantedBurst) -> list[ResourcePhase]:
    return [rig.provider.get(key, burst).phase for key in rig.provider.resources(burst)]


def test_a_burst_that_is_not_there_has_no_broker_problem(rig: Rig) -> None:
    assert rig.provider.broker_problem(wanted(rig)) == ""


def test_names_are_made_from_the_label_before_any_call(rig: Rig) -> None:
    keys = rig.provider.resources(wanted(rig))
    assert keys == rig.provider.resources(wanted(rig))
    assert len({key[:2] for key in keys}) == len(keys) > 0
    for key in keys:
        assert key.name.startswith(f"{PREFIX}{LABEL}")
        assert _NAME.fullmatch(key.name)
    other = rig.provider.resources(wanted(rig, "7777777777"))
    assert not {key.name for key in keys} & {key.name for key in other}


def test_what_costs_money_is_known_before(rig: Rig) -> None:
    assert sum(key.nodes for key in rig.provider.resources(wanted(rig, nodes=3))) == 3


def test_offers_name_the_provider_and_have_a_price(rig: Rig) -> None:
    offers = rig.provider.offers()
    assert offers == rig.provider.offers()
    assert {offer.provider for offer in offers} == {rig.provider.name}
    assert rig.machine in {offer.machine for offer in offers}
    assert all(offer.price >= 0 and offer.shape.cores > 0 for offer in offers)


def test_nothing_is_there_before_it_is_made(rig: Rig) -> None:
    burst = wanted(rig)
    assert set(phases(rig, burst)) == {ResourcePhase.ABSENT}
    assert list(rig.provider.owned("here")) == []


def test_a_resource_comes_and_goes(rig: Rig) -> None:
    burst = wanted(rig)
    keys = make(rig, burst)
    assert set(phases(rig, burst)) == {ResourcePhase.READY}
    for key in reversed(keys):
        rig.provider.delete(key, burst)
        assert rig.provider.get(key, burst).phase in (ResourcePhase.GOING, ResourcePhase.ABSENT)
        rig.wait()
    assert set(phases(rig, burst)) == {ResourcePhase.ABSENT}
    assert list(rig.provider.owned("here")) == []


def test_a_status_has_its_labels_and_its_time(rig: Rig) -> None:
    burst = wanted(rig)
    [first, *_] = make(rig, burst)
    status = rig.provider.get(first, burst)
    assert (status.key, status.burst, status.installation) == (first, LABEL, "here")
    assert status.since > 0


def test_what_is_made_twice_is_there_once(rig: Rig) -> None:
    burst = wanted(rig)
    keys = make(rig, burst)
    before = sorted(each.key for each in rig.provider.owned("here"))
    for number, key in enumerate(keys):
        rig.provider.create(key, f"token-{LABEL}-{number}", burst)
    rig.wait()
    assert sorted(each.key for each in rig.provider.owned("here")) == before


def test_what_is_deleted_twice_is_gone(rig: Rig) -> None:
    burst = wanted(rig)
    keys = make(rig, burst)
    for _ in range(2):
        for key in reversed(keys):
            rig.provider.delete(key, burst)
    rig.wait()
    for key in keys:
        rig.provider.delete(key, burst)
    rig.wait()
    assert set(phases(rig, burst)) == {ResourcePhase.ABSENT}


def test_a_listing_has_all_bursts_of_an_installation(rig: Rig) -> None:
    one, other = wanted(rig), wanted(rig, "7777777777")
    keys = [*make(rig, one), *make(rig, other)]
    listed = list(rig.provider.owned("here"))
    assert {each.burst for each in listed} == {one.label, other.label}
    assert {each.key.name for each in listed} <= {key.name for key in keys}
    assert sum(each.key.nodes for each in listed) == 4
    assert list(rig.provider.owned("elsewhere")) == []


def test_a_listing_has_when_each_is_to_end(rig: Rig) -> None:
    """By that a sweep elsewhere knows what nobody will end any more."""
    burst = wanted(rig)
    make(rig, burst)
    assert {each.until for each in rig.provider.owned("here")} == {burst.until}


def test_a_listed_resource_can_be_deleted_by_what_the_listing_has(rig: Rig) -> None:
    """As sweeps do it, without a ledger: what has to go first may be gone at the second one."""
    make(rig, wanted(rig))
    for _ in range(2):
        for status in rig.provider.owned("here"):
            owner = (status.burst, status.installation)
            found = WantedBurst(*owner, status.key.nodes, "", spot=False, until=0.0)
            rig.provider.delete(status.key, found)
        rig.wait()
    assert list(rig.provider.owned("here")) == []


def test_a_name_that_somebody_else_has_is_left_alone(rig: Rig) -> None:
    burst = wanted(rig)
    [first, *_] = rig.provider.resources(burst)
    rig.occupy(first)
    rig.wait()
    with pytest.raises(NameTaken, match=re.escape(first.name)):
        rig.provider.create(first, "token", burst)
    assert rig.provider.get(first, burst).phase is ResourcePhase.ABSENT
    rig.provider.delete(first, burst)
    rig.wait()
    assert rig.others() == 1
    assert list(rig.provider.owned("here")) == []


def test_another_installation_with_the_same_label_is_somebody_else(rig: Rig) -> None:
    mine, other = wanted(rig), wanted(rig, installation="elsewhere")
    keys = make(rig, mine)
    with pytest.raises(NameTaken):
        rig.provider.create(keys[0], "token", other)
    rig.provider.delete(keys[0], other)
    rig.wait()
    assert set(phases(rig, mine)) == {ResourcePhase.READY}
