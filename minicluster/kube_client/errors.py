"""What can go wrong with an API server, as one tree.

KubernetesError
├── AccessError           no way in: no kubeconfig, no such context, no service account
├── ApiUnreachableError   no answer: connection refused or lost, time over
├── ApiError              an answer that is a refusal; carries the status code and the server's own words
└── UserError           what a person asked for was not done; says why, and what would be right
    ├── RequestError      it does not fit the document, or no such thing can be (exit code 2)
    ├── MissingError      there is no such MiniCluster, pod or namespace, or no CRD
    ├── AccessDeniedError the person has not the right, or is not known
    ├── RefusalError      the API server refused it, in its own words and with the lines of the document
    ├── NotRunningError   the MiniCluster has no broker that could be asked: it waits, is suspended, has ended
    ├── LostError         the connection to its lead broke off; what was begun there goes on (exit code 125)
    ├── TimeOverError     --timeout passed first (exit code 124)
    └── FailedError       the MiniCluster failed, or cannot be carried out; ends with its exit code
"""

from __future__ import annotations

from dataclasses import dataclass

NO_CRD = "MiniClusters are not known to this cluster: install the CRD: minicluster crd | kubectl apply -f -"


class KubernetesError(Exception):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 1


class AccessError(KubernetesError):
    """There is no way to an API server."""


class ApiUnreachableError(KubernetesError):
    """The API server did not answer."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing wrong with a request: the field (`spec.size`), and what about it."""

    field: str
    message: str
    reason: str = ""


class ApiError(KubernetesError):
    """The API server refused a request.

    `status` is the HTTP status code, `reason` the server's word for it, such as "AlreadyExists";
    `retry_after` are the seconds it asked to wait, 0 if it did not. `kind` is what it is about, such as
    "namespaces"; `causes` are the single things that are wrong.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after: float = 0.0,
        *,
        kind: str = "",
        causes: tuple[Cause, ...] = (),
    ) -> None:
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.kind = kind
        self.causes = causes
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later without anybody doing anything: 409, 429, 5xx."""
        return self.status in {408, 409, 429} or self.status >= 500


class UserError(KubernetesError):
    """What a person asked for was not done."""


class RequestError(UserError):
    """What was asked for does not fit the document, or no such thing can be."""

    exit_code = 2


class MissingError(UserError):
    """There is no such MiniCluster, pod or namespace, or no CRD."""


class AccessDeniedError(UserError):
    """The person has not the right, or is not known."""


class RefusalError(UserError):
    """The API server refused it."""


class NotRunningError(UserError):
    """The MiniCluster has no broker that could be asked; says which state it is in, and what to do."""


class LostError(UserError):
    """The connection to the lead broke off, and with it only our part: the exit code is none of a job's."""

    exit_code = 125


class TimeOverError(UserError):
    """The time given with --timeout passed first."""

    exit_code = 124


class FailedError(UserError):
    """The MiniCluster failed, or cannot be carried out."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        self.exit_code = exit_code
        super().__init__(message)
