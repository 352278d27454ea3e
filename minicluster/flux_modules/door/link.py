"""The connection to the lead broker: one a thread, with the same topics for both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from minicluster.flux_modules.door.errors import Refused

    JSON = dict[str, Any]
    # Gets each answer: a payload, or the refusal that ends the request (ENODATA: the end of a stream).
    Taker = Callable[[JSON | None, Refused | None], None]


class Accepted:
    """The answer that what was asked for is going to be done."""


class Asking(Protocol):
    """What is enough for following the instance; all methods raise BrokerGone."""

    def call(self, topic: str, payload: JSON, taker: Taker) -> int:
        """Ask for a stream of answers; `taker` is called within `dispatch` and `rpc`. Returns its number."""

    def rpc(self, topic: str, payload: JSON, timeout: float) -> JSON:
        """Return the one answer. Raises Refused, with ETIMEDOUT after `timeout` seconds."""

    def dispatch(self, timeout: float) -> None:
        """Wait for answers of streams, for `wake`, or for `timeout` seconds; hand out what came."""


class Link(Asking, Protocol):
    """Every method but `wake` belongs to the thread that made the link; all raise BrokerGone."""

    engine: str

    def cancel(self, number: int) -> None:
        """Ask for no more of a stream; its taker is not called any more."""

    def submit(self, jobspec: JSON, urgency: int) -> int:
        """Submit a jobspec as it is, and return the job's id. Raises Refused."""

    def sync(self) -> None:
        """Make durable what the instance holds, so that it outlives a lead that is killed. Raises Refused."""

    def wake(self) -> None:
        """Have `dispatch` return: the one method for other threads."""

    def queue_policy(self) -> str:
        """Return which policy is really loaded."""

    def turned_away(self) -> Sequence[str]:
        """Return whom the lead turned away lately and why, newest first."""

    def close(self) -> None:
        """Hang up."""
