"""Who was turned away by the lead lately, and why: for whoever waits for a broker that does not come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.ports import JSON

MEMORY = 60.0
"""Seconds; a broker that is turned away tries again within 15 s (the start script's longest pause)."""
MOST = 64
"""More peers than this are not remembered: the oldest are forgotten."""


class RejectedPeers:
    """Peers, by host name or (with another certificate) by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._peers: dict[str, tuple[float, str]] = {}  # the newest last

    def note(self, peer: str, reason: str) -> None:
        """`peer` was turned away just now."""
        self.forget(peer)
        self._peers[peer] = (self._clock(), reason)
        if len(self._peers) > MOST:
            self.forget(next(iter(self._peers)))

    def forget(self, peer: str) -> None:
        """`peer` was let in."""
        self._peers.pop(peer, None)

    def fresh(self) -> list[JSON]:
        """Return who was turned away lately, the newest first: peer, reason, seconds ago."""
        now = self._clock()
        return [
            {"peer": peer, "reason": reason, "ago": now - when}
            for peer, (when, reason) in reversed(self._peers.items())
            if now - when <= MEMORY
        ]
