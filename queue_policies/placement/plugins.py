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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from queue_policies.errors import UnknownPlacement
from queue_policies.placement import builtin
from queue_policies.plugin_group import PluginGroup, PluginProblem, ignored
from queue_policies.plugins import hookimpl, hookspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from queue_policies.placement.protocol import Placement

__all__ = ("GROUP", "Hooks", "PlacementRegistry", "configured", "fault", "hookimpl", "load", "registry")

GROUP = "minicluster.placements"


class Hooks:
    """The hook that a plug-in implements."""

    @hookspec
    def minicluster_placements(self) -> Iterable[type[Placement]]:  # type: ignore[empty-body]
        """Return the placements that the plug-in offers."""


_PLACEMENTS = PluginGroup(
    GROUP,
    "minicluster_placements",
    Hooks,
    "placement",
    "placement",
    "place",
    "place(ask, nodes)",
    UnknownPlacement,
)


@dataclass(frozen=True, slots=True)
class PlacementRegistry:
    """The placements that can be used, and what is wrong with the others."""

    placements: dict[str, type[Placement]]
    problems: tuple[PluginProblem, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each plug-in or placement that is ignored."""
        return ignored(self.problems)

    def kind(self, name: str) -> type[Placement]:
        """Return a placement's class.

        Raises PolicyPlugin if that placement is ignored. Raises UnknownPlacement with the nearest name, and
        with the plug-ins that failed before they returned placements.
        """
        return cast("type[Placement]", _PLACEMENTS.kind(name, self.placements, self.problems))


def registry() -> PlacementRegistry:
    """Find every placement. A plug-in's errors are in `problems`; they raise nothing."""
    found = builtin.placements()
    return PlacementRegistry(found, tuple(_PLACEMENTS.find(found)))


def load(
    name: str,
    settings: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Placement:
    """Make the placement called `name`; `warn` is called for each plug-in that is ignored.

    Raises UnknownPlacement (with the nearest names), PolicySettings or PolicyPlugin.
    """
    if name in builtin.CLASSES and not _PLACEMENTS.entries:
        return configured(builtin.kind(name), settings or {})
    known = registry()
    placement = configured(known.kind(name), settings or {})
    if warn is not None:
        for text in known.warnings:
            warn(text)
    return placement


def fault(placement: Any) -> str:
    """Return what is wrong with an offered placement, empty: nothing."""
    return _PLACEMENTS.fault(placement)


def configured(kind: type[Placement], settings: Mapping[str, Any]) -> Placement:
    """Make a placement with these settings. Raises PolicySettings."""
    return cast("Placement", _PLACEMENTS.configured(kind, settings))
