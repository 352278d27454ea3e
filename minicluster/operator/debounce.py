"""Debounces changes of objects: many of them become one call for their MiniCluster.

Each call goes through all pods of the MiniCluster, so fewer calls cost less.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.kube_client.objects import Name

DEBOUNCE_INTERVAL = 0.02
"""Seconds from the first change to the call."""


class Debounce:
    """Calls every one of `followers` once for a MiniCluster, soon after the first of several changes."""

    def __init__(self, *followers: Callable[[Name], None]) -> None:
        self._followers = followers
        self._changed: set[Name] = set()

    def __call__(self, name: Name) -> None:
        """Take in that a MiniCluster, or something of it, has changed."""
        if name not in self._changed:
            self._changed.add(name)
            asyncio.get_running_loop().call_later(DEBOUNCE_INTERVAL, self._call, name)

    def _call(self, name: Name) -> None:
        self._changed.discard(name)
        for follow in self._followers:
            follow(name)
