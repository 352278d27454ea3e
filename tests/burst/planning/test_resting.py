"""Providers at which bursts failed are left alone for some time."""

from burst.planning.resting import MAX_REST_SECONDS, PastBurst, resting

NOW = 10_000.0


def test_a_provider_without_failures_is_used() -> None:
    assert resting("far", [], NOW) == ""
    assert resting("far", [PastBurst("far"), PastBurst("far", NOW - 1)], NOW) == ""


def test_after_a_failure_it_rests_for_a_minute() -> None:
    past = [PastBurst("other", NOW), PastBurst("far", NOW - 20)]
    assert resting("far", past, NOW) == "far: bursts failed there once; it is tried again in 40s"
    assert resting("far", past, NOW + 40) == ""


def test_with_each_further_failure_it_rests_twice_as_long() -> None:
    past = [PastBurst("far", NOW), PastBurst("far", NOW - 500), PastBurst("far", NOW - 900), PastBurst("far")]
    words = "far: bursts failed there 3 times in a row; it is tried again in 4m"
    assert resting("far", past, NOW) == words
    assert resting("far", [PastBurst("far", NOW)] * 40, NOW + MAX_REST_SECONDS) == ""


def test_one_that_cannot_delete_gets_nothing_more() -> None:
    past = [PastBurst("far"), PastBurst("far", stuck_for=7200.0)]
    assert resting("far", past, NOW) == "far: a burst there could not be deleted for 2h"
    assert resting("near", past, NOW) == ""
