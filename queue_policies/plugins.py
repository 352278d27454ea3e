"""Finds policies: ours, and those of plug-ins.

A plug-in is a module, named by an entry point of the group `minicluster.policies`, that implements the hook:

    from queue_policies.plugins import hookimpl

    @hookimpl
    def minicluster_policies():
        return [MyPolicy]          # classes as `queue_policies.policy.Policy` describes them

A plug-in that does not load, and a class that is no policy, are ignored. The registry lists them as problems.
They are an error only when that policy is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from queue_policies import builtin
from queue_policies.errors import UnknownPolicy
from queue_policies.plugin_group import PROJECT, PluginGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from queue_policies.policy import Policy

__all__ = ("GROUP", "Hooks", "configured", "fault", "hookimpl", "hookspec", "load", "policies", "registry")

GROUP = "minicluster.policies"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Hooks:
    """The hooks that a plug-in may implement."""

    @hookspec
    def minicluster_policies(self) -> Iterable[type[Policy]]:  # type: ignore[empty-body]
        """Return the policies that the plug-in offers."""


_POLICIES: PluginGroup[Policy] = PluginGroup(
    GROUP,
    builtin.CLASSES,
    "minicluster_policies",
    Hooks,
    "queue policy",
    "policy",
    "decide",
    "decide(state, now)",
    UnknownPolicy,
)
registry, load = _POLICIES.registry, _POLICIES.load
configured, fault = _POLICIES.configured, _POLICIES.fault


def policies() -> dict[str, type[Policy]]:
    """Return every policy that can be used, by its name."""
    return registry().classes
