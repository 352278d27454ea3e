"""The placements of this package by their names; each module is imported when its placement is asked for."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queue_policies.placement.protocol import Placement

CLASSES = {
    "low-rank": "queue_policies.placement.low_rank:LowRank",
    "spread": "queue_policies.placement.spread:SpreadNodes",
    "pack": "queue_policies.placement.pack:PackNodes",
    "random": "queue_policies.placement.random_nodes:RandomNodes",
    "task-group": "queue_policies.placement.task_group:TaskGroup",
    "balanced": "queue_policies.placement.balanced:Balanced",
}
"""Where each placement's class is, by its `name`."""


def kind(name: str) -> type[Placement]:
    """Return the class of a placement of ours. Raises KeyError."""
    found: type[Placement] = resolve_name(CLASSES[name])
    return found


def placements() -> dict[str, type[Placement]]:
    """Return every placement of ours, by its name."""
    return {name: kind(name) for name in CLASSES}
