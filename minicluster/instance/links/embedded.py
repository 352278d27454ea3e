"""The link to a broker of the embedded instance, by its socket. In no zip: it needs our own Python."""

from __future__ import annotations

import contextlib
import errno
import socket
from typing import TYPE_CHECKING

from minicluster.broker_link import spool_requests
from minicluster.broker_link.errors import InstanceError, InstanceGone, WaitTimeout, refusal_of
from minicluster.broker_link.users import ONE_USER
from minicluster.embedded.client import BrokerClient, readable
from minicluster.embedded.errors import BrokerUnreachable, RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.broker_link.link import JSON, Callback


class EmbeddedEndpoint:
    """A broker's socket; see `Endpoint`."""

    inherits_environment = True
    user: int | None = None

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def link(self) -> EmbeddedLink:
        """Connect."""
        return EmbeddedLink(self.uri)

    def close(self) -> None:
        """Do nothing: the links share no connection."""


class EmbeddedLink:
    """One connection; see `LeadLink`. `is_named`: errors name the address, which no client adds."""

    engine = "embedded"

    def __init__(self, uri: str, *, is_named: bool = True) -> None:
        self._prefix = f"{uri}: " if is_named else ""
        try:
            self._client = BrokerClient(uri)
        except BrokerUnreachable as error:
            raise InstanceGone(str(error)) from error
        self._awake, self._waker = socket.socketpair()
        self._waker.setblocking(False)

    def stream(self, topic: str, payload: JSON, callback: Callback, user: int | None = None) -> int:
        """Ask for a stream of answers."""
        return self.request(topic, payload, callback, user, streaming=True)

    call = stream  # its name in release 0.1.0, by which others' routes at the lead know it

    def request_submit(self, jobspec: JSON, urgency: int, flags: int, callback: Callback) -> int:
        """Submit a jobspec; nothing is signed, the socket admits its owner only."""
        request = {"jobspec": jobspec, "urgency": urgency, "flags": flags}
        return self.request("job-ingest.submit", request, callback)

    def request(
        self,
        topic: str,
        payload: JSON,
        callback: Callback,
        user: int | None = None,
        *,
        streaming: bool = False,
    ) -> int:
        """Ask for one answer, or for a stream of them."""
        _check_owner(topic, user)

        def take(answer: JSON | None, refusal: RpcError | None) -> None:
            ended = None if refusal is None else refusal_of(topic, refusal.errnum, refusal.text)
            callback(answer, ended)

        try:
            return self._client.call(topic, payload, take, streaming=streaming)
        except RpcError as error:
            raise _failure(self._prefix, topic, error) from error

    def cancel(self, number: int) -> None:
        """Ask for no more of a stream."""
        try:
            self._client.cancel(number)
        except RpcError as error:
            raise _failure(self._prefix, "cancel", error) from error

    def rpc(self, topic: str, payload: JSON, timeout: float | None = None, user: int | None = None) -> JSON:
        """Return the one answer."""
        _check_owner(topic, user)
        if topic.startswith(spool_requests.PREFIX):
            return spool_requests.answer(self, topic, payload)  # this is beside the lead
        try:
            return self._client.rpc(topic, payload, timeout)
        except RpcError as error:
            raise _failure(self._prefix, topic, error, timeout) from error

    def user_refusal(self, uid: int) -> str:  # noqa: ARG002 - of no user
        """Return why no request can be another user's: the socket admits the owner only."""
        return ONE_USER

    def submit(self, jobspec: JSON, urgency: int, flags: int = 0, timeout: float | None = None) -> int:
        """Submit a jobspec; nothing is signed, the socket admits its owner only."""
        request = {"jobspec": jobspec, "urgency": urgency, "flags": flags}
        return int(self.rpc("job-ingest.submit", request, timeout)["id"])

    def dump(self, path: str) -> None:
        """Save the instance's data."""
        self.rpc("content.dump", {"path": path})

    def sync(self) -> None:
        """Do nothing: the embedded instance answers only what it has stored."""

    def dispatch(self, timeout: float | None) -> None:
        """Wait for answers, for `wake`, or for `timeout` seconds."""
        awake, client = self._awake.fileno(), self._client.fileno()
        ready = readable((client, awake), timeout)
        if awake in ready:
            self._awake.recv(4096)
        if client in ready:
            try:
                self._client.dispatch(0)
            except RpcError as error:
                raise _failure(self._prefix, "", error) from error

    def wake(self) -> None:
        """Have `dispatch` return."""
        with contextlib.suppress(OSError):  # full: it is awake; closed: it is over
            self._waker.send(b"x")

    def queue_policy(self) -> str:
        """Return which policy is loaded."""
        return "minicluster/" + str(self.rpc("attr.get", {"name": "minicluster.queue-policy"}, 10.0)["value"])

    def rejected_peers(self) -> Sequence[str]:
        """Return the peers that the lead rejected lately."""
        from minicluster.broker_link import rejected_peers  # noqa: PLC0415 - not for relays, which start light

        return rejected_peers.lines(self.rpc("overlay.stats-get", {}, 10.0)["turned-away"])

    def close(self) -> None:
        """Hang up."""
        self._client.close()
        self._awake.close()
        self._waker.close()


def _check_owner(topic: str, user: int | None) -> None:
    """Raise NotAllowed for a request of a user, which would be answered as to the owner."""
    if user is not None:
        raise refusal_of(topic, errno.EPERM, ONE_USER)


def _failure(prefix: str, topic: str, error: RpcError, timeout: float | None = None) -> InstanceError:
    """Return our error for the client's."""
    if error.errnum == errno.ECONNRESET:
        return InstanceGone(f"{prefix}the broker ended the connection")
    if error.errnum == errno.ETIMEDOUT and timeout is not None:
        return WaitTimeout(f"{topic}: no answer in {timeout:g} s")
    return refusal_of(topic, error.errnum, error.text)
