"""What goes wrong with writes to the API server in memory, and when."""

from collections.abc import Callable
from dataclasses import dataclass

from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from tests.operator.memory_api import Crash, Faults, Request

FAULTS: dict[str, BaseException] = {
    "conflict": ApiError(409, "Conflict", "the object has been modified"),
    "busy": ApiError(429, "TooManyRequests", "try again later", 1.0),
    "error": ApiError(500, "InternalError", "etcdserver: request timed out"),
    "unavailable": ApiError(503, "ServiceUnavailable", "the server is restarting"),
    "no answer": ApiUnreachableError("no answer: connection reset"),
    "crash": Crash(),
}


@dataclass
class Armed(Faults):
    """Lets some writes pass, and then raises errors, before a write is done or after it."""

    kill: Callable[[], None]
    what: str = ""
    passing: int = 0
    times: int = 0
    late: bool = False

    def before(self, request: Request) -> None:
        """Raise the error that is due before a write."""
        if self.passing:
            self.passing -= 1
        elif self.times and not self.late:
            self._go_off()

    def after(self, request: Request) -> None:
        """Raise the error that is due after a write was done."""
        if self.times and self.late and not self.passing:
            self._go_off()

    def disarm(self) -> None:
        """Let everything pass."""
        self.times = 0

    def _go_off(self) -> None:
        self.times -= 1
        if self.what == "crash":
            self.kill()
        raise FAULTS[self.what]
