"""How a broker is called: the same topics for both engines, by one protocol.

There is one adapter for each way. `flux_link.FluxLink` runs in Flux's own Python. Two adapters are in
`minicluster.instance.links`: `embedded.EmbeddedLink` uses the embedded broker's socket, and `lines.LinesLink`
a helper process, or a relay in a pod.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from minicluster.broker_link.errors import RequestRefused

    JSON = dict[str, Any]
    # Gets each answer: a payload, or the refusal that ends the request (ENODATA: the end of a stream).
    Callback = Callable[[JSON | None, RequestRefused | None], None]


class Accepted:
    """The answer to a request that was accepted, and will be carried out."""


class BrokerLink(Protocol):
    """A connection to a broker, for one thread at a time. All methods but `wake` raise InstanceGone.

    Where a method has `user`, the request is made as the user with that uid, and answered as to him; None:
    as who made the connection. An instance that knows no users refuses the request.
    """

    engine: str
    """Either "flux" or "embedded"."""

    def rpc(self, topic: str, payload: JSON, timeout: float | None = None, user: int | None = None) -> JSON:
        """Return the one answer. Raises RequestRefused; WaitTimeout after `timeout` seconds."""

    def stream(self, topic: str, payload: JSON, callback: Callback, user: int | None = None) -> int:
        """Ask for a stream of answers; return the request's number.

        `callback` is called within `dispatch` and `rpc`.
        """

    def cancel(self, number: int) -> None:
        """Ask for no more of a stream; its callback is not called any more."""

    def dispatch(self, timeout: float | None) -> None:
        """Wait for answers of streams, for `wake`, or for `timeout` seconds; hand out what came.

        It may return earlier, and with nothing handed out.
        """

    def wake(self) -> None:
        """Have `dispatch` return: the one method for other threads."""

    def user_refusal(self, uid: int) -> str:
        """Return why no request of this connection can be of that user; empty: it can."""

    def submit(self, jobspec: JSON, urgency: int, flags: int = 0, timeout: float | None = None) -> int:
        """Sign a jobspec, submit it as it is, and return the job's id. Raises RequestRefused, WaitTimeout."""

    def request_submit(self, jobspec: JSON, urgency: int, flags: int, callback: Callback) -> int:
        """Sign a jobspec and submit it as it is; return the request's number.

        `callback` gets the answer within `dispatch`: its payload has the job's `id`.
        """

    def dump(self, path: str) -> None:
        """Save the instance's data to a new file beside the broker. Raises RequestRefused."""

    def close(self) -> None:
        """Hang up; the instance goes on, and streams have no further answers."""


class LeadLink(BrokerLink, Protocol):
    """A link to the lead broker, for programs on its host."""

    def request(self, topic: str, payload: JSON, callback: Callback, user: int | None = None) -> int:
        """Ask for one answer, which `callback` gets within `dispatch`; return the request's number."""

    def sync(self) -> None:
        """Make durable what the instance holds, so that it outlives a lead that is killed.

        Raises RequestRefused.
        """

    def queue_policy(self) -> str:
        """Return the policy that is loaded now."""

    def rejected_peers(self) -> Sequence[str]:
        """Return the peers that the lead rejected lately, with the reasons, newest first."""
