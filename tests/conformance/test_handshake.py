"""Who may join as which rank: the same words in the lead's log on each engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.laboratory import Laboratory, eventually

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.parametrize("engine", ["embedded", "flux"], indirect=True, scope="session")


def test_a_broker_whose_hosts_are_in_another_order_is_rejected_and_ends(
    fresh: Callable[..., Laboratory],
) -> None:
    lab = fresh("", "-Sbroker.quorum=2", absent=("mc-2",))
    first = lab.brokers.pop(1)
    other = lab.folder / "other.toml"
    other.write_text((lab.folder / "broker.toml").read_text().replace('"mc-1,mc-2"', '"mc-2,mc-1"'))
    lab.start_broker(1, config=other.name, apart="another")
    rejected = lab.brokers.pop(1)
    lab.brokers[1] = first
    assert rejected.wait(60) == 1
    reason = "mc-2 is configured as rank 2: mismatched config?"
    eventually(lambda: f"rejecting connection from mc-1 (rank 2): {reason}" in lab.log(0), "the lead's words")
    assert lab.run_line("flux run -N2 -n2 true").code == 0


def test_of_two_brokers_for_a_rank_the_newcomer_stays(fresh: Callable[..., Laboratory]) -> None:
    lab = fresh()
    job = lab.run_line("flux submit -N2 -n2 sleep 60").stdout.strip()
    assert lab.run_line("flux job wait-event -t 30 $a start", {"a": job}).code == 0
    lab.brokers[2] = lab.brokers.pop(1)  # real Flux lets it live on
    lab.start_broker(1, apart="another")
    words = "mc-1 (rank 1) reconnected after crash, dropping old connection state"
    eventually(lambda: words in lab.log(0), "the lead's words")
    assert lab.run_line("flux job wait-event -t 30 $a clean", {"a": job}).code == 0
    events = lab.run_line("flux job eventlog $a", {"a": job}).stdout
    assert "node failure on mc-1 (rank 1)" in events
    assert lab.run_line("flux run -N2 -n2 true").code == 0
