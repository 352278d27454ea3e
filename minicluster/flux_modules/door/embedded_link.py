"""The link to the embedded instance's lead, by its socket. Not part of the zip: it needs our own Python."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
from typing import TYPE_CHECKING

from minicluster.embedded.client import Client
from minicluster.embedded.errors import BrokerUnreachable, RpcError
from minicluster.flux_modules.door.errors import BrokerGone, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minicluster.flux_modules.door.link import JSON, Taker


class EmbeddedLink:
    """One connection; see `Link`."""

    engine = "embedded"

    def __init__(self, uri: str) -> None:
        try:
            self._client = Client(uri)
        except BrokerUnreachable as error:
            raise BrokerGone(str(error)) from error
        self._awake, self._waker = socket.socketpair()
        self._waker.setblocking(False)

    def call(self, topic: str, payload: JSON, taker: Taker) -> int:
        """Ask for a stream of answers."""

        def take(answer: JSON | None, refusal: RpcError | None) -> None:
            taker(answer, None if refusal is None else Refused(refusal.errnum, refusal.text))

        with _as_ours():
            return self._client.call(topic, payload, take, streaming=True)

    def cancel(self, number: int) -> None:
        """Ask for no more of a stream."""
        with _as_ours():
            self._client.cancel(number)

    def rpc(self, topic: str, payload: JSON, timeout: float) -> JSON:
        """Return the one answer."""
        with _as_ours():
            return self._client.rpc(topic, payload, timeout)

    def submit(self, jobspec: JSON, urgency: int) -> int:
        """Submit a jobspec as it is."""
        request = {"jobspec": jobspec, "urgency": urgency, "flags": 0}
        return int(self.rpc("job-ingest.submit", request, 10.0)["id"])

    def sync(self) -> None:
        """Do nothing: whatever is answered is durable."""

    def dispatch(self, timeout: float) -> None:
        """Wait for answers, for `wake`, or for `timeout` seconds."""
        awake, client = self._awake.fileno(), self._client.fileno()
        ready, _, _ = select.select([client, awake], [], [], timeout)
        if awake in ready:
            self._awake.recv(4096)
        if client in ready:
            with _as_ours():
                self._client.dispatch(0)

    def wake(self) -> None:
        """Have `dispatch` return."""
        with contextlib.suppress(OSError):  # full: it is awake; closed: it is over
            self._waker.send(b"x")

    def queue_policy(self) -> str:
        """Return which policy is loaded."""
        return "minicluster/" + str(self.rpc("attr.get", {"name": "minicluster.queue-policy"}, 10.0)["value"])

    def turned_away(self) -> Sequence[str]:
        """Return whom the lead turned away lately."""
        peers = self.rpc("overlay.stats-get", {}, 10.0)["turned-away"]
        return [f"{each['peer']}: turned away: {each['reason']}" for each in peers]

    def close(self) -> None:
        """Hang up."""
        self._client.close()
        self._awake.close()
        self._waker.close()


@contextlib.contextmanager
def _as_ours() -> Iterator[None]:
    """Turn the client's errors into the door's."""
    try:
        yield
    except RpcError as error:
        if error.errnum == errno.ECONNRESET:
            raise BrokerGone(error.text) from error
        raise Refused(error.errnum, error.text) from error
