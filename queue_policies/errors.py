"""What can go wrong with a policy.

PolicyError
├── UnknownPolicy      no policy of that name; names the nearest
├── PolicySettings     a setting that the policy does not have, or of the wrong kind
├── PolicyPlugin       a plug-in that does not load; names it
└── PolicyDefect       a policy that raised or answered with what cannot be; names it, the job and the state
"""

from __future__ import annotations


class PolicyError(Exception):
    """Anything wrong with a scheduling policy."""


class UnknownPolicy(PolicyError):  # noqa: N818 - it reads as what it is
    """No policy has this name."""


class PolicySettings(PolicyError):  # noqa: N818 - it reads as what it is
    """A setting is unknown or of the wrong kind."""


class PolicyPlugin(PolicyError):  # noqa: N818 - it reads as what it is
    """A plug-in failed to load or offers something that is no policy."""


class PluginWarning(UserWarning):
    """A plug-in is passed over."""


class PolicyDefect(PolicyError):  # noqa: N818 - it reads as what it is
    """A policy raised, or answered with an action that cannot be carried out."""
