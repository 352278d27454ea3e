"""News of many pods as one look at their MiniCluster: a look goes through all of its pods."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.kubernetes.records import Name

SOON = 0.02
"""Seconds after the first piece of news at which a MiniCluster is looked at."""


class Noticing:
    """Has everybody in `looks` look at a MiniCluster soon after something was heard of it, once."""

    def __init__(self, *looks: Callable[[Name], None]) -> None:
        self._looks = looks
        self._noticed: set[Name] = set()

    def __call__(self, name: Name) -> None:
        """Something was heard of a MiniCluster."""
        if name not in self._noticed:
            self._noticed.add(name)
            asyncio.get_running_loop().call_later(SOON, self._look, name)

    def _look(self, name: Name) -> None:
        self._noticed.discard(name)
        for look in self._looks:
            look(name)
