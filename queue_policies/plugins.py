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

from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

import pluggy

from queue_policies import builtin
from queue_policies.errors import UnknownPolicy
from queue_policies.plugin_group import (
    PROJECT,
    PluginGroup,
    PluginProblem,
    ignored,
    shown,
    unresolved,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from queue_policies.policy import Policy

__all__ = (
    "GROUP",
    "Hooks",
    "PluginProblem",
    "PolicyRegistry",
    "configured",
    "fault",
    "hookimpl",
    "hookspec",
    "load",
    "policies",
    "registry",
    "shown",
)

GROUP = "minicluster.policies"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Hooks:
    """The hooks that a plug-in may implement."""

    @hookspec
    def minicluster_policies(self) -> Iterable[type[Policy]]:  # type: ignore[empty-body]
        """Return the policies that the plug-in offers."""


_POLICIES = PluginGroup(
    GROUP,
    "minicluster_policies",
    Hooks,
    "queue policy",
    "policy",
    "decide",
    "decide(state, now)",
    UnknownPolicy,
)


@dataclass(frozen=True, slots=True)
class PolicyRegistry:
    """The policies that can be used, and what is wrong with the others."""

    policies: dict[str, type[Policy]]
    problems: tuple[PluginProblem, ...]

    @property
    def unknown(self) -> tuple[PluginProblem, ...]:
        """The problems by which a policy may be missing: all but those of names that are taken."""
        return unresolved(self.policies, self.problems)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each plug-in or policy that is ignored."""
        return ignored(self.problems)

    def failure(self, name: str) -> str:
        """Return why the policy of this name is ignored; empty if it is not, or is unknown."""
        return next((each.text for each in self.unknown if each.name == name), "")

    def kind(self, name: str) -> type[Policy]:
        """Return a policy's class.

        Raises PolicyPlugin if that policy is ignored. Raises UnknownPolicy with the nearest name, and with
        the plug-ins that failed before they returned policies.
        """
        return cast("type[Policy]", _POLICIES.kind(name, self.policies, self.problems))


def registry() -> PolicyRegistry:
    """Find every policy. A plug-in's errors are in `problems`; they raise nothing."""
    found = builtin.policies()
    return PolicyRegistry(found, tuple(_POLICIES.find(found)))


def policies() -> dict[str, type[Policy]]:
    """Return every policy that can be used, by its name."""
    return registry().policies


def load(
    name: str,
    settings: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Policy:
    """Make the policy called `name`; `warn` is called for each plug-in that is ignored.

    Raises UnknownPolicy (with the nearest names), PolicySettings or PolicyPlugin.
    """
    if name in builtin.CLASSES and not metadata.entry_points(group=GROUP):
        return configured(builtin.kind(name), settings or {})
    known = registry()
    policy = configured(known.kind(name), settings or {})
    if warn is not None:
        for text in known.warnings:
            warn(text)
    return policy


def fault(policy: Any) -> str:
    """Return what is wrong with an offered policy, empty: nothing."""
    return _POLICIES.fault(policy)


def configured(kind: type[Policy], settings: Mapping[str, Any]) -> Policy:
    """Make a policy with these settings. Raises PolicySettings."""
    return cast("Policy", _POLICIES.configured(kind, settings))
