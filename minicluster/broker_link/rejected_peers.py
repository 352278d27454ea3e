"""The peers that the lead rejected lately, and why: this explains why an expected broker does not join."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.broker_link.link import JSON

FORGET_SECONDS = 60.0
"""Seconds; a rejected broker tries again within 15 s (the start script's longest pause)."""
MAX_PEERS = 64
"""The most peers that are kept; the oldest are dropped."""
UNKNOWN = "an unknown address"
"""The peer whose connection was closed before anybody looked at its address."""


class RejectedPeers:
    """Rejected peers, by host name or (with another certificate) by address.

    Most likely an unknown one is among those that are known by now, as a rejected broker tries again: it is
    kept only while no other peer was rejected for the same reason.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._peers: dict[str, tuple[float, str]] = {}  # the newest last

    def note(self, peer: str, reason: str) -> None:
        """Note that `peer` was rejected now."""
        known = [each["peer"] for each in self.fresh() if each["reason"] == reason]
        if peer == UNKNOWN and set(known) - {UNKNOWN}:
            return
        if self._peers.get(UNKNOWN, (0.0, ""))[1] == reason:
            self.forget(UNKNOWN)
        self.forget(peer)
        self._peers[peer] = (self._clock(), reason)
        if len(self._peers) > MAX_PEERS:
            self.forget(next(iter(self._peers)))

    def forget(self, peer: str) -> None:
        """Drop `peer`, which was accepted."""
        self._peers.pop(peer, None)

    def fresh(self) -> list[JSON]:
        """Return the peers that were rejected lately, the newest first: peer, reason, seconds ago."""
        now = self._clock()
        return [
            {"peer": peer, "reason": reason, "ago": now - when}
            for peer, (when, reason) in reversed(self._peers.items())
            if now - when <= FORGET_SECONDS
        ]


def lines(peers: Iterable[JSON]) -> list[str]:
    """Return rejected peers as a lead's report names them."""
    return [f"{each['peer']}: turned away: {each['reason']}" for each in peers]
