"""Finds placements: ours, and those of plug-ins.

A plug-in is a module, named by an entry point of the group `minicluster.placements`, that implements the
hook:

    from queue_policies.placement.plugins import hookimpl

    @hookimpl
    def minicluster_placements():
        return [MyPlacement]       # classes as `queue_policies.placement.protocol.Placement` describes them

A module may have this hook and that of queue policies, with an entry point in each group. What does not load
is ignored, and listed as a problem. It is an error only when that placement is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.errors import UnknownPlacement
from queue_policies.placement import builtin
from queue_policies.plugin_group import PluginGroup
from queue_policies.plugins import hookimpl, hookspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from queue_policies.placement.protocol import Placement

__all__ = ("GROUP", "Hooks", "configured", "fault", "hookimpl", "load", "registry")

GROUP = "minicluster.placements"


class Hooks:
    """The hook that a plug-in implements."""

    @hookspec
    def minicluster_placements(self) -> Iterable[type[Placement]]:  # type: ignore[empty-body]
        """Return the placements that the plug-in offers."""


_PLACEMENTS: PluginGroup[Placement] = PluginGroup(
    GROUP,
    builtin.CLASSES,
    "minicluster_placements",
    Hooks,
    "placement",
    "placement",
    "place",
    "place(ask, nodes)",
    UnknownPlacement,
)
registry, load = _PLACEMENTS.registry, _PLACEMENTS.load
configured, fault = _PLACEMENTS.configured, _PLACEMENTS.fault
