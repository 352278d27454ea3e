"""Everything that the harness raises.

HarnessError
├── MissingProgramsError     no etcd, kube-apiserver, … here, and none to be built: tests skip, under CI fail
├── ComponentError     a program of the control plane ended, or did not become ready in time; quotes its log
├── GuardianError        the process that holds the others is gone
├── ContextError        the kubeconfig or the context that was named cannot be used
└── ApiError            the API server refused; carries its status and message
"""


class HarnessError(Exception):
    """What went wrong with the test cluster itself."""


class MissingProgramsError(HarnessError):
    """A program is neither found nor can be built; the message has where it was searched."""


class ComponentError(HarnessError):
    """A program of the control plane does not run as it should."""


class GuardianError(HarnessError):
    """The guardian does not answer."""


class ContextError(HarnessError):
    """The existing cluster cannot be reached with its kubeconfig."""


class ApiError(HarnessError):
    """An answer of 400 or above."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
