"""The errors of policies.

PolicyError
├── UnknownPolicy      no policy of that name; names the nearest
├── UnknownPlacement   no placement of that name; names the nearest
├── PolicySettings     a setting that the policy or placement does not have, or of the wrong type
│   └── ExpertsFault   a set of experts, or a grid of actions, that cannot be used; names file and expert
├── PolicyPlugin       a plug-in that does not load; names it
├── PolicyDefect       a policy raised, or returned an impossible action; names it, the job and the state
│   └── PlacementDefect    a placement raised, or returned what is not free, or too little; names the same
├── InvalidDomains     the NUMA domains of a node overlap, or miss a core; names node and cores
├── Undividable        a job cannot be divided into workers, as there is no task or no node
├── TaskAttributeError what a jobspec tells of its tasks is nothing that placements know; names the attribute
└── OrderRefused       an order by hand that cannot be given to a job now; has the reason
"""

from __future__ import annotations


class PolicyError(Exception):
    """Root of the tree."""


class UnknownPolicy(PolicyError):  # noqa: N818 - it reads as what it is
    """No policy has this name."""


class UnknownPlacement(PolicyError):  # noqa: N818 - it reads as what it is
    """No placement has this name."""


class PolicySettings(PolicyError):  # noqa: N818 - it reads as what it is
    """A setting is unknown or of the wrong type."""


class ExpertsFault(PolicySettings):
    """A set of experts, or the actions between which they choose, cannot be used."""


class PolicyPlugin(PolicyError):  # noqa: N818 - it reads as what it is
    """A plug-in failed to load or offers something that is no policy."""


class PluginWarning(UserWarning):
    """A plug-in is ignored."""


class PolicyDefect(PolicyError):  # noqa: N818 - it reads as what it is
    """A policy raised, or returned an action that is impossible."""


class PlacementDefect(PolicyDefect):
    """A placement raised, or returned an allocation that is not free or is not what was requested."""


class InvalidDomains(PolicyError):  # noqa: N818 - it reads as what it is
    """The NUMA domains of a node overlap, or miss one of its cores."""


class Undividable(PolicyError):  # noqa: N818 - it reads as what it is
    """A job without tasks, or nodes that have room for none."""


class TaskAttributeError(PolicyError):
    """A jobspec's `attributes.user` has a profile or a number of workers that is none."""


class OrderRefused(PolicyError):  # noqa: N818 - it reads as what it is
    """The user's order to a job cannot be given now; the message is a sentence about the job."""
