"""The errors of our scheduler in real Flux.

FluxSchedulerError
├── WrongArgument    an invalid argument of the module or of a request, or an invalid value in broker.toml
└── NoRoom           a policy starts a job for which there is no room; names policy and job
"""

from __future__ import annotations


class FluxSchedulerError(Exception):
    """Root of the tree."""


class WrongArgument(FluxSchedulerError):  # noqa: N818 - it reads as what it is
    """An argument or value is not valid; the message names those that are."""


class NoRoom(FluxSchedulerError):  # noqa: N818 - it reads as what it is
    """A job does not fit on these nodes, though the policy counted enough resources."""
