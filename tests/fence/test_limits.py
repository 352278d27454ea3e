"""When a fence acts, and what it takes for a broker's."""

from __future__ import annotations

import os

import pytest

from minicluster.fence.broker_processes import ProcessStat, all_processes, closure, stat_of
from minicluster.fence.limits import FenceLimits, FenceVerdict, LeadContact, verdict

BOTH = FenceLimits(30.0, 120.0)


@pytest.mark.parametrize(
    ("limits", "unanswered", "alone", "joined", "expected"),
    [
        (BOTH, 29.9, 29.9, True, FenceVerdict.WAIT),
        (BOTH, 30.0, 30.0, True, FenceVerdict.FENCE),
        (BOTH, 5.0, 60.0, True, FenceVerdict.WAIT),
        (BOTH, 60.0, 60.0, False, FenceVerdict.WAIT),
        (BOTH, 20.0, 120.0, False, FenceVerdict.LEAVE),
        (BOTH, 120.0, 120.0, True, FenceVerdict.LEAVE),
        (FenceLimits(fence=30.0), 500.0, 500.0, False, FenceVerdict.WAIT),
        (FenceLimits(leave=120.0), 119.0, 119.0, True, FenceVerdict.WAIT),
    ],
    ids=[
        "in time", "fenced", "new broker", "not joined", "left alone", "both at once", "for ever", "no fence",
    ],
)  # fmt: skip
def test_verdict(
    limits: FenceLimits, unanswered: float, alone: float, joined: bool, expected: FenceVerdict
) -> None:
    assert verdict(limits, LeadContact(1000.0 - unanswered, 1000.0 - alone, joined), 1000.0) is expected


def test_several_requests_fit_into_the_shortest_limit() -> None:
    assert (BOTH.interval, BOTH.timeout) == (5.0, 10.0)
    assert FenceLimits(600.0, 120.0).interval == 5.0
    assert FenceLimits(leave=3.0).interval == 0.5


def stat(parent: int, group: int, session: int) -> ProcessStat:
    return ProcessStat("S", parent, group, session, 1)


def test_what_belongs_to_a_process_is_found_by_parent_session_and_group() -> None:
    """Not by the session of the watcher, which is its broker's as well."""
    processes = {
        10: stat(1, 10, 10),  # the script
        11: stat(10, 10, 10),  # the broker
        12: stat(11, 12, 12),  # its child, with a session
        13: stat(1, 13, 12),  # left by that one
        14: stat(13, 14, 14),
        15: stat(1, 14, 15),  # in the group of that one
        16: stat(10, 10, 10),  # the watcher
        17: stat(1, 17, 17),  # somebody else's
    }
    assert closure({11}, processes, processes[16]) == {11, 12, 13, 14, 15}


def test_this_process_lives() -> None:
    own = stat_of(os.getpid())
    assert own is not None
    assert own.is_alive
    assert all_processes()[os.getpid()].started == own.started
