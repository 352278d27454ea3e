"""Bursts as their MiniCluster's status shows them."""

from __future__ import annotations

from dataclasses import replace

from burst.lifecycle.records import BurstRecord
from burst.lifecycle.states import BurstState
from burst.reports import statuses
from minicluster.document import BurstStatus
from minicluster.document.status import MAX_BURSTS

BURST = BurstRecord(
    id="01hxxxxxxxxxxxxx0000000001",
    cluster="uid-1",
    slot="burst-0",
    provider="far",
    location="far-1",
    machine="c8",
    nodes=2,
    created=1_000.0,
    until=1_773_328_166.4,
    amounts={"all": 3_200_000, "user:ada": 1_000_000},
    state=BurstState.ACTIVE,
)


def numbered(number: int, **changes: object) -> BurstRecord:
    return replace(BURST, id=f"01hxxxxxxxxxxxxx{number:010}", **changes)


def test_what_is_shown_of_a_burst() -> None:
    assert statuses([BURST], "EUR") == {
        "uid-1": (
            BurstStatus(
                id="0000000001",
                slot="burst-0",
                provider="far",
                state="active",
                nodes=2,
                until="2026-03-12T15:09:26Z",
                cost="3.20 EUR",
            ),
        )
    }


def test_open_ones_are_shown_by_minicluster_and_those_that_wait_for_a_slot_come_last() -> None:
    waits = numbered(2, state=BurstState.REQUESTED)
    gone = numbered(3, state=BurstState.DELETED)
    found = statuses([waits, gone, numbered(4), numbered(5, cluster="uid-2"), numbered(1)], "EUR")
    shown = {uid: [(each.id[-1], each.state) for each in several] for uid, several in found.items()}
    assert shown == {
        "uid-1": [("1", "active"), ("4", "active"), ("2", "requested")],
        "uid-2": [("5", "active")],
    }
    assert statuses([gone], "EUR") == {}


def test_there_are_no_more_than_a_status_may_have() -> None:
    found = statuses([numbered(number) for number in range(MAX_BURSTS + 1)], "EUR")
    assert len(found["uid-1"]) == MAX_BURSTS


def test_a_burst_that_costs_nothing() -> None:
    [[found]] = statuses([replace(BURST, amounts={})], "USD").values()
    assert found.cost == "0.00 USD"
