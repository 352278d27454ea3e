"""When a broker without its lead is killed, and when its follower leaves. Pure; times are in seconds."""

from __future__ import annotations

import enum
from typing import NamedTuple

MAX_INTERVAL = 5.0
"""Between two requests."""


class FenceLimits(NamedTuple):
    """For how long the lead may give no answer."""

    fence: float = 0.0
    """Then the broker is killed, with what its jobs started; 0: never."""
    leave: float = 0.0
    """Then the follower ends for good; 0: never."""

    @property
    def shortest(self) -> float:
        """The limit that is reached first. One of them must be given."""
        return min(each for each in self if each > 0)

    @property
    def interval(self) -> float:
        """How much time is between two requests: several fit into the shortest limit."""
        return min(MAX_INTERVAL, self.shortest / 6)

    @property
    def timeout(self) -> float:
        """After which time a request is given up, and another one is made."""
        return self.shortest / 3


class FenceVerdict(enum.Enum):
    """What is to be done about a broker."""

    WAIT = "wait"
    FENCE = "fence"
    """Kill it, with everything that it started; it may be started anew."""
    LEAVE = "leave"
    """The same, and it is not started any more."""


class LeadContact(NamedTuple):
    """What is known of a broker and its lead; times are by one clock."""

    broker: float
    """When this broker sent the last request that the lead has answered, or when it was started."""
    lead: float
    """When a broker of this follower sent the last one, or when the follower was started."""
    joined: bool
    """Whether the lead may have started something here: before the broker has joined, it cannot."""


def verdict(limits: FenceLimits, contact: LeadContact, now: float) -> FenceVerdict:
    """Return what is to be done. A broker that has not joined yet is given until it has to leave."""
    if limits.leave and now - contact.lead >= limits.leave:
        return FenceVerdict.LEAVE
    if limits.fence and contact.joined and now - contact.broker >= limits.fence:
        return FenceVerdict.FENCE
    return FenceVerdict.WAIT
