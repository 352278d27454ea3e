"""The errors of a program's requests to the MiniCluster that it runs in, as one tree.

WithinError
├── NotInsideError    it runs in no MiniCluster, or in one that takes no requests; names what is missing
├── DeniedError       its service account may not; names the missing Role, and how to make it
├── RefusedError      the size is not allowed, or it was refused for another reason
└── UnreachableError  the API server, or the cluster's supervisor, does not answer
"""

from __future__ import annotations


class WithinError(Exception):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 1


class NotInsideError(WithinError):
    """This process runs in no MiniCluster, or in one that takes no requests; it names what is missing."""


class DeniedError(WithinError):
    """The service account may not do it; the message names the missing Role, and how to make it."""


class RefusedError(WithinError):
    """The API server or the supervisor refused the size; the message has its reason."""

    exit_code = 2


class UnreachableError(WithinError):
    """The API server, or the cluster's supervisor, does not answer; a later attempt may succeed."""
