"""The errors of policies.

PolicyError
├── UnknownPolicy      no policy of that name; names the nearest
├── PolicySettings     a setting that the policy does not have, or of the wrong type
├── PolicyPlugin       a plug-in that does not load; names it
├── PolicyDefect       a policy raised, or returned an impossible action; names it, the job and the state
│   └── PlacementDefect    a placement raised, or returned what is not free, or too little; names the same
└── OrderRefused       an order by hand that cannot be given to a job now; has the reason
"""

from __future__ import annotations


class PolicyError(Exception):
    """Root of the tree."""


class UnknownPolicy(PolicyError):  # noqa: N818 - it reads as what it is
    """No policy has this name."""


class PolicySettings(PolicyError):  # noqa: N818 - it reads as what it is
    """A setting is unknown or of the wrong type."""


class PolicyPlugin(PolicyError):  # noqa: N818 - it reads as what it is
    """A plug-in failed to load or offers something that is no policy."""


class PluginWarning(UserWarning):
    """A plug-in is ignored."""


class PolicyDefect(PolicyError):  # noqa: N818 - it reads as what it is
    """A policy raised, or returned an action that is impossible."""


class PlacementDefect(PolicyDefect):
    """A placement raised, or returned an allocation that is not free or is not what was requested."""


class OrderRefused(PolicyError):  # noqa: N818 - it reads as what it is
    """The user's order to a job cannot be given now; the message is a sentence about the job."""
