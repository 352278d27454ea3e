"""What can go wrong with our scheduler in real Flux.

FluxSchedulerError
├── WrongArgument    an argument of the module, or a value in broker.toml, that is none
└── NoRoom           a policy starts a job for which there is no room; names policy and job
"""

from __future__ import annotations


class FluxSchedulerError(Exception):
    """Root of the tree."""


class WrongArgument(FluxSchedulerError):  # noqa: N818 - it reads as what it is
    """The module was given what it does not know; the message says what it knows."""


class NoRoom(FluxSchedulerError):  # noqa: N818 - it reads as what it is
    """What the policy counted as room is none on these nodes."""
