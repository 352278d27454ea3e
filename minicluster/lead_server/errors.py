"""The lead server's errors, as one tree.

LeadServerError
├── FilesUnusable    the certificate, its key or the token cannot be used; names the file
├── BadRequest       a request is invalid: HTTP's status code, and a message for the client
├── OperationFailed  an operation failed for a reason that it does not know: kind and text of the error
└── Unproven         a request without proof of the user's identity
"""

from __future__ import annotations

from minicluster.broker_link.errors import InstanceError


class LeadServerError(InstanceError):
    """Root of the tree."""


class FilesUnusable(LeadServerError):  # noqa: N818 - named for the state it reports
    """The certificate, its key or the token cannot be used, so nothing is served."""


class BadRequest(LeadServerError):  # noqa: N818 - HTTP's name for it
    """A request is invalid."""

    def __init__(self, text: str, code: int = 400) -> None:
        self.code = code
        """HTTP's status code."""
        super().__init__(text)


class OperationFailed(LeadServerError):  # noqa: N818 - named for what happened
    """An operation failed for a reason that it does not know, such as a system call that was refused."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")


class Unproven(LeadServerError):  # noqa: N818 - named for what is the case
    """The request does not come from the front proxy, or names no user."""
