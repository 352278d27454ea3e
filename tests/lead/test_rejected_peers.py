"""Who was turned away lately."""

from __future__ import annotations

import pytest

from minicluster.broker_link.rejected_peers import FORGET_SECONDS, MAX_PEERS, UNKNOWN, RejectedPeers


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def peers(known: RejectedPeers) -> list[str]:
    return [each["peer"] for each in known.fresh()]


def test_the_newest_comes_first() -> None:
    known = RejectedPeers()
    for peer in ("a", "b", "a"):
        known.note(peer, "why")
    assert peers(known) == ["a", "b"]


def test_reason_and_age_are_listed() -> None:
    clock = Clock()
    known = RejectedPeers(clock)
    known.note("a", "wrong certificate")
    clock.now += 2
    assert known.fresh() == [{"peer": "a", "reason": "wrong certificate", "ago": 2.0}]


def test_old_ones_are_not_listed() -> None:
    clock = Clock()
    known = RejectedPeers(clock)
    known.note("a", "why")
    clock.now += FORGET_SECONDS + 1
    known.note("b", "why")
    assert peers(known) == ["b"]


def test_one_that_was_let_in_is_forgotten() -> None:
    known = RejectedPeers()
    known.note("a", "why")
    known.forget("a")
    assert peers(known) == []


def test_no_more_than_a_few_are_remembered() -> None:
    known = RejectedPeers()
    for number in range(MAX_PEERS + 5):
        known.note(str(number), "why")
    assert len(peers(known)) == MAX_PEERS
    assert "0" not in peers(known)


@pytest.mark.parametrize(
    ("noted", "listed"),
    [
        ([UNKNOWN], [UNKNOWN]),
        ([UNKNOWN, "a"], ["a"]),
        (["a", UNKNOWN], ["a"]),
        ([UNKNOWN, UNKNOWN, "a", "b", UNKNOWN], ["b", "a"]),
    ],
)
def test_an_unknown_peer_is_one_of_those_that_are_known(noted: list[str], listed: list[str]) -> None:
    """A broker tries again and again: its address is seen sooner or later."""
    known = RejectedPeers()
    for peer in noted:
        known.note(peer, "wrong certificate")
    assert peers(known) == listed


def test_an_unknown_peer_is_none_that_was_rejected_for_another_reason() -> None:
    known = RejectedPeers()
    known.note("mc-1", "another version")
    known.note(UNKNOWN, "wrong certificate")
    known.note("mc-2", "another version")
    assert peers(known) == ["mc-2", UNKNOWN, "mc-1"]
