"""The errors of our scheduler in real Flux.

FluxSchedulerError
├── WrongArgument    an invalid argument of the module or of a request, or an invalid value in broker.toml
├── TopologyInvalid  what Flux has from hwloc about a node cannot be read
└── NoRoom           a policy starts a job for which there is no room; names policy and job
"""

from __future__ import annotations


class FluxSchedulerError(Exception):
    """Root of the tree."""


class WrongArgument(FluxSchedulerError):  # noqa: N818 - it reads as what it is
    """An argument or value is not valid; the message names those that are."""


class TopologyInvalid(FluxSchedulerError):  # noqa: N818 - it reads as what it is
    """The text is no topology of hwloc; the message has what was wrong."""


class NoRoom(FluxSchedulerError):  # noqa: N818 - it reads as what it is
    """A job does not fit on these nodes, though the policy counted enough resources."""
