"""What can go wrong when a program asks something of the MiniCluster that it runs in, as one tree.

WithinError
├── NotInsideError    it runs in no MiniCluster, or in one that cannot be asked: says what is missing
├── DeniedError       its service account may not; says which Role is missing, and how to make it
├── RefusedError      the size is not allowed, or it was refused for another reason
└── UnreachableError  nobody answers: the API server, or the cluster's supervisor
"""

from __future__ import annotations


class WithinError(Exception):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 1


class NotInsideError(WithinError):
    """This process runs in no MiniCluster, or in one that cannot be asked."""


class DeniedError(WithinError):
    """The service account may not do it; the message says how it may."""


class RefusedError(WithinError):
    """It was refused, in the words of whoever did."""

    exit_code = 2


class UnreachableError(WithinError):
    """Nobody answers: try again."""
