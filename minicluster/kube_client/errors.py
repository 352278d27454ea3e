"""The errors of an API server, as one tree.

KubernetesError
├── AccessError           no credentials: no kubeconfig, no such context, no service account
├── ApiUnreachableError   no answer: connection refused or lost, or a timeout
├── LeadershipLostError   a process that does not lead (any more) was about to write
├── ListenError           the address and port for /healthz and /metrics are not available
├── ApiError              the server refused the request; has the status code and the server's message
└── UserError             a user's request was not carried out; has why, and what would be right
    ├── RequestError      it does not fit the document, or cannot be (exit code 2)
    ├── MissingError      there is no such MiniCluster, pod or namespace, or no CRD
    ├── AccessDeniedError the user has not the right, or is not authenticated
    ├── RefusalError      the API server refused it: its message, with the lines of the document
    ├── NotRunningError   the MiniCluster has no broker now: it waits, is suspended, or has ended
    ├── LostError         the connection to its lead broke off; what was begun there goes on (exit code 125)
    ├── TimeOverError     --timeout passed first (exit code 124)
    └── FailedError       the MiniCluster failed, or cannot be carried out; ends with its exit code
"""

from __future__ import annotations

from dataclasses import dataclass

NO_CRD = (
    "MiniClusters are not known to this cluster: install the CRD:"
    " minicluster crd | kubectl apply --server-side -f -"
)

ANOTHERS_CRD = (
    "the CRD of MiniClusters is another operator's (the reference Flux Operator's has that name): delete its"
    " MiniClusters, end that operator, then put this one's in place: minicluster crd | kubectl apply"
    " --server-side --force-conflicts -f -"
)


class KubernetesError(Exception):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 1


class AccessError(KubernetesError):
    """There are no credentials for an API server."""


class ApiUnreachableError(KubernetesError):
    """The API server did not answer."""


class LeadershipLostError(KubernetesError):
    """This process does not lead, or cannot know any more that it does."""


class ListenError(KubernetesError):
    """The address and port for /healthz, /readyz and /metrics cannot be bound; the message has a way out."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with a request."""

    field: str
    """Its path, such as `spec.size`."""
    message: str
    reason: str = ""


class ApiError(KubernetesError):
    """The API server refused a request.

    `status` is the HTTP status code, `reason` that of the Status object, such as "AlreadyExists".
    `retry_after` is in seconds, 0 where the server gave none. `kind` names the resource, such as
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
        """Whether the same request may succeed later without a user's action: 408, 409, 429, 5xx."""
        return self.status in {408, 409, 429} or self.status >= 500


class UserError(KubernetesError):
    """A user's request was not carried out."""


class RequestError(UserError):
    """The request does not fit the document, or cannot be."""

    exit_code = 2


class MissingError(UserError):
    """There is no such MiniCluster, pod or namespace, or no CRD."""


class AccessDeniedError(UserError):
    """The user has not the right, or is not authenticated."""


class RefusalError(UserError):
    """The API server refused it."""


class NotRunningError(UserError):
    """The MiniCluster has no broker now; the message has its state, and what to do."""


class LostError(UserError):
    """The connection to the lead broke off. Jobs go on there, so the exit code is none of a job's."""

    exit_code = 125


class TimeOverError(UserError):
    """The time given with --timeout passed first."""

    exit_code = 124


class FailedError(UserError):
    """The MiniCluster failed, or cannot be carried out."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        self.exit_code = exit_code
        super().__init__(message)
