"""The errors of back ends, as one tree.

BackendError              root; `exit_code` is what the command line ends with
├── WrongRequest          the request does not fit the document or the back end (exit code 2)
│   ├── NotOffered        the back end cannot do that; the message has what can be done instead
│   └── UnknownBackend    there is no back end of that name
├── NoCluster             there is no cluster of that name
├── OutOfTime             the time given passed first (exit code 124)
└── BackendPlugin         the plug-in of the back end that was asked for does not load

Back ends raise these, or errors of their own below them. An instance that refuses raises
minicluster.instance.errors, a wrong document minicluster.document.errors.
"""

# ruff: noqa: N818 - errors are named for the state that they report

from __future__ import annotations


class BackendError(Exception):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 1


class WrongRequest(BackendError):
    """The request does not fit the document or the back end."""

    exit_code = 2


class NotOffered(WrongRequest):
    """The back end cannot do that."""


class UnknownBackend(WrongRequest):
    """There is no back end of that name."""


class NoCluster(BackendError):
    """There is no cluster of that name."""


class OutOfTime(BackendError):
    """The time given passed first."""

    exit_code = 124


class BackendPlugin(BackendError):
    """The plug-in of the back end that was asked for does not load."""
