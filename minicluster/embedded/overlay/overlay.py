"""The overlay: a star of brokers, the lead in its middle (ROUTER), the followers around it (DEALER).

Messages are a JSON header {"type": …} and sometimes raw bytes. A follower sends `hello`; the lead answers
`welcome` or `refused`. With `goodbye` a follower leaves in order; with `shutdown` the lead ends the
instance. Handlers registered by type receive all other messages. ZeroMQ's heartbeats detect dead links. A
follower that lost its link ends, and may be started anew. Of two brokers for one rank the newcomer stays,
as with real Flux; the other one has to end.

A message that cannot be handled is dropped and logged: those behind it are read all the same.
"""

from __future__ import annotations

import asyncio
import errno
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import zmq

from minicluster.broker_link.rejected_peers import UNKNOWN, RejectedPeers
from minicluster.embedded.errors import BootError
from minicluster.embedded.log import DEBUG, ERR, INFO, WARNING, Log
from minicluster.embedded.overlay import wire
from minicluster.embedded.overlay.handshake import objection
from minicluster.embedded.overlay.message_guard import MessageGuard, PeerCounts, quoted

if TYPE_CHECKING:
    from minicluster.embedded.configuration import Bootstrap
    from minicluster.embedded.ports import JSON

MessageReceiver = Callable[[int, Any, bytes], None]
"""Receives (sender's rank, header, body). The header's type names its record; the overlay knows none."""

RECEIVE_QUEUE = 1_000
"""Messages of one follower that wait in the lead's memory; a follower that sends more of them waits."""
MAX_MESSAGE_BYTES = 64 << 20
"""Bytes of a follower's message: a client's request has 16 MiB at most, and thrice that as JSON in ASCII."""

VERSION = "0.88.0"
"""The Flux release whose interfaces this instance has; MAJOR.MINOR is the same in all of its brokers."""


@dataclass(frozen=True, slots=True)
class OverlayTimeouts:
    """Time limits in seconds; 0: no limit."""

    connect: float
    link_timeout: float  # a link without a heartbeat for so long is lost


@dataclass(slots=True)
class Peer:
    """A follower as the lead sees it."""

    identity: bytes
    host: str
    hello: JSON
    """The message by which it joined."""


class _Overlay:
    """The common part of both sides."""

    def __init__(self, bootstrap: Bootstrap, log: Log, timing: OverlayTimeouts) -> None:
        self.rank = bootstrap.rank
        self._bootstrap = bootstrap
        self._log = log
        self._timing = timing
        self._handlers: dict[str, MessageReceiver] = {}
        self._loop = asyncio.get_running_loop()
        self._open = False

    def on(self, kind: str, handler: MessageReceiver) -> None:
        """Call `handler` for messages of this type; the lead also gets its own."""
        self._handlers[kind] = handler


class LeadOverlay(_Overlay):
    """The lead's side. `joined(rank, host)` and `left(rank, reason, lost)` report membership."""

    def __init__(self, bootstrap: Bootstrap, log: Log, timing: OverlayTimeouts) -> None:
        super().__init__(bootstrap, log, timing)
        self.refused = PeerCounts()  # connections by address
        self.rejected_peers = RejectedPeers()
        self.lost = 0  # links
        self.uuid = str(uuid.uuid4())
        self.endpoint = ""
        self.peers: dict[int, Peer] = {}
        self.joined: Callable[[int, str], None] = lambda _rank, _host: None
        self.left: Callable[[int, str, bool], None] = lambda _rank, _reason, _lost: None
        self._ranks: dict[bytes, int] = {}
        self._empty = asyncio.Event()
        self._guard = MessageGuard(log, self._receive, lambda frames: _sender(self._ranks.get(frames[0])))

    def open(self) -> None:
        """Bind the configured endpoint; an instance of one broker needs no socket."""
        if self._bootstrap.bind is None or self._bootstrap.certificate is None:
            return
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        socket = context.socket(zmq.ROUTER)
        wire.secure(socket, self._bootstrap.certificate, server=True, timeout=self._timing.link_timeout)
        socket.router_mandatory = True
        socket.rcvhwm, socket.maxmsgsize = RECEIVE_QUEUE, MAX_MESSAGE_BYTES
        # Before the bind: without an authenticator ZeroMQ admits every key.
        self._authenticator = wire.Authenticator(context, self._bootstrap.certificate, self._refused)
        self._monitor = wire.Monitor(socket, gone=self._probe, failed=self._refused)
        try:
            socket.bind(self._bootstrap.bind)
        except zmq.ZMQError as error:
            self._authenticator.close()
            self._monitor.close()
            socket.close()
            raise BootError(
                f"error binding to {self._bootstrap.bind}: {zmq.strerror(error.errno or 0)}"
            ) from error
        self.endpoint = bytes(socket.getsockopt(zmq.LAST_ENDPOINT)).decode().rstrip("\0")
        self._wire = wire.Wire(socket, self._guard)
        self._open = True

    def _receive(self, frames: wire.Frames) -> None:
        identity = frames[0]
        message, body = wire.decode(frames[1:])
        rank = self._ranks.get(identity)
        if message["type"] == "hello":
            self._hello(identity, message)
        elif rank is not None:
            if message["type"] == "goodbye":
                self._leave(rank, quoted(message.get("reason")), lost=False)
            else:
                self._dispatch(rank, message, body)

    def _dispatch(self, rank: int, message: Mapping[str, Any], body: bytes) -> None:
        handler = self._handlers.get(message["type"])
        if handler is None:
            raise ValueError(f"its type {message['type']!r} is unknown")
        handler(rank, message, body)

    def _hello(self, identity: bytes, message: JSON) -> None:
        rank, host = message.get("rank"), quoted(message.get("host"))
        reason = objection(self._bootstrap, VERSION, message)
        if reason is not None:
            if self.refused.note(host):
                text = f"rejecting connection from {host} (rank {quoted(rank)}): {reason}"
                self._log(ERR, text, "overlay")
            self.rejected_peers.note(host, reason)
            self._send_to(identity, {"type": "refused", "reason": reason})
            return
        assert isinstance(rank, int)  # noqa: S101 - objection has checked it
        self._make_way(rank, identity)
        self.peers[rank] = Peer(identity, host, message)
        self._ranks[identity] = rank
        self._empty.clear()
        welcome = {"type": "welcome", "uuid": self.uuid, "hosts": list(self._bootstrap.hosts)}
        if self._send_to(identity, welcome):
            self.rejected_peers.forget(host)
            self._log(DEBUG, f"accepted {host} (rank {rank})", "overlay")
            self.joined(rank, host)

    def _make_way(self, rank: int, newcomer: bytes) -> None:
        """Drop the broker that has this rank so far, with its jobs."""
        self._probe_ranks([rank])
        former = self.peers.get(rank)
        if former is None:
            return
        text = f"{former.host} (rank {rank}) reconnected after crash, dropping old connection state"
        self._log(ERR, text, "overlay")
        reason = f"another broker has joined as rank {rank}"
        if former.identity != newcomer:
            self._send_to(former.identity, {"type": "refused", "reason": reason})
        self._leave(rank, reason, lost=True)

    def _refused(self, address: str | None) -> None:
        """Count a peer with another certificate; as it tries for ever, log its 1st, 2nd, 4th, … try."""
        peer = address or UNKNOWN
        self.rejected_peers.note(peer, "wrong certificate")
        if count := self.refused.note(peer):
            text = f"refused a broker from {peer} ({count}x): it does not have this instance's certificate"
            self._log(ERR, text, "overlay")

    def send(self, rank: int, message: Mapping[str, object], body: bytes | None = None) -> bool:
        """Send to one rank, or to the lead itself; return False where that rank is gone."""
        if rank == 0:
            self._loop.call_soon(self._dispatch, 0, message, body or b"")
            return True
        peer = self.peers.get(rank)
        if peer is None:
            return False
        if self._send_to(peer.identity, message, body):
            return True
        self._leave(rank, "lost connection", lost=True)
        return False

    def _send_to(self, identity: bytes, message: Mapping[str, object], body: bytes | None = None) -> bool:
        try:
            self._wire.send([identity, *wire.encode(message, body)])
        except zmq.ZMQError as error:
            if error.errno in {zmq.EHOSTUNREACH, zmq.EAGAIN}:
                return False
            raise
        return True

    def _probe(self) -> None:
        """Find which peer is gone, as ZeroMQ does not report it: a ROUTER refuses to send to that peer."""
        self._probe_ranks(tuple(self.peers))
        self._loop.call_later(0.1, self._probe_ranks, tuple(self.peers))

    def _probe_ranks(self, ranks: Iterable[int]) -> None:
        for rank in ranks if self._open else ():
            self.send(rank, {"type": "ping"})

    def _leave(self, rank: int, reason: str, *, lost: bool) -> None:
        peer = self.peers.pop(rank, None)
        if peer is None:
            return
        self._ranks.pop(peer.identity, None)
        self.lost += lost
        went = "lost" if lost else "left"
        self._log(WARNING if lost else INFO, f"{peer.host} (rank {rank}) {went}: {reason}", "overlay")
        if not self.peers:
            self._empty.set()
        self.left(rank, reason, lost)

    async def shutdown(self, timeout: float, *, final: bool) -> None:
        """Shut every follower down within `timeout` seconds; `final`: for good, else the lead comes back."""
        for rank in tuple(self.peers):
            self.send(rank, {"type": "shutdown", "final": final})
        if self.peers:
            try:
                await asyncio.wait_for(self._empty.wait(), timeout)
            except TimeoutError:
                self._log(ERR, f"no goodbye from ranks {sorted(self.peers)} within {timeout:g} s", "overlay")

    def close(self) -> None:
        """Close every connection."""
        if self._open:
            self._open = False
            self._monitor.close()
            self._wire.close(linger=200)
            self._authenticator.close()


class FollowerOverlay(_Overlay):
    """A follower's side. `ended(error)` reports the link's end: None when the lead ended the instance."""

    def __init__(self, bootstrap: Bootstrap, log: Log, timing: OverlayTimeouts) -> None:
        super().__init__(bootstrap, log, timing)
        self._failed = False  # to shake hands
        self._greeted = False
        self._guard = MessageGuard(log, self._receive, lambda _frames: "the lead")
        self.about: JSON = {}
        """What `hello` tells the lead of this broker besides."""
        self.ended: Callable[[BootError | None], None] = lambda _error: None
        self.welcome: asyncio.Future[JSON] = self._loop.create_future()

    def open(self) -> None:
        """Connect, and send hello once connected; ZeroMQ tries until the lead answers."""
        bootstrap = self._bootstrap
        if bootstrap.connect is None or bootstrap.certificate is None:
            raise BootError(f"rank {bootstrap.rank} has no endpoint of the lead to connect to")
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        socket = context.socket(zmq.DEALER)
        wire.secure(socket, bootstrap.certificate, server=False, timeout=self._timing.link_timeout)
        socket.routing_id = f"{bootstrap.rank}-{uuid.uuid4().hex}".encode()
        socket.reconnect_ivl, socket.reconnect_ivl_max = 50, 1000
        socket.setsockopt(zmq.CONNECT_TIMEOUT, int(self._timing.connect * 1000))
        # Before the connect: the handshake may succeed at once, and the monitor must report it to send hello.
        self._monitor = wire.Monitor(socket, gone=self._gone, failed=self._handshake_failed, met=self._hello)
        try:
            socket.connect(bootstrap.connect)
        except zmq.ZMQError as error:
            self._monitor.close()
            socket.close()
            raise BootError(
                f"cannot connect to {bootstrap.connect}: {zmq.strerror(error.errno or 0)}"
            ) from error
        self._wire = wire.Wire(socket, self._guard)
        self._open = True
        self._connect_timer = self._loop.call_later(self._timing.connect or 30, self._still_waiting)

    def _hello(self) -> None:
        self._greeted = True
        me = {"rank": self.rank, "host": self._bootstrap.hosts[self.rank], "version": VERSION}
        self.send(0, {"type": "hello", **self.about, **me})

    def _still_waiting(self) -> None:
        self._log(
            WARNING, f"no answer yet from the lead at {self._bootstrap.connect}; still trying", "overlay"
        )

    def _receive(self, frames: wire.Frames) -> None:
        message, body = wire.decode(frames)
        kind = message["type"]
        if kind == "welcome":
            self._connect_timer.cancel()
            if not self.welcome.done():
                self.welcome.set_result(message)
        elif kind == "refused":
            self._end(
                BootError(f"the lead at {self._bootstrap.connect} refused this broker: {message['reason']}")
            )
        elif kind == "shutdown":
            self._end(None if message["final"] else BootError("the lead was told to go, and may come back"))
        elif kind in self._handlers:
            self._handlers[kind](0, message, body)

    def send(self, rank: int, message: Mapping[str, object], body: bytes | None = None) -> bool:  # noqa: ARG002 - one is above
        """Send to the lead; return False once the link ended."""
        if not self._open:
            return False
        try:
            self._wire.send(wire.encode(message, body))
        except zmq.ZMQError as error:
            if error.errno != errno.EAGAIN:
                raise
            return False
        return True

    def goodbye(self, reason: str) -> None:
        """Leave in order."""
        self.send(0, {"type": "goodbye", "reason": reason})

    def _gone(self) -> None:
        if self._greeted:  # also without a welcome: messages that are still on their way do not matter
            self._end(BootError("overlay disconnect: the lead's connection is gone"))

    def _handshake_failed(self, _address: str | None) -> None:
        if not self._failed:
            self._failed = True
            self._log(
                ERR,
                f"the lead at {self._bootstrap.connect} refused this broker or is not the lead:"
                " CURVE handshake failed, both need the same certificate",
                "overlay",
            )

    def _end(self, error: BootError | None) -> None:
        self._connect_timer.cancel()
        self.ended(error)

    def close(self) -> None:
        """Close the connection, after a moment for a goodbye that is being sent."""
        if self._open:
            self._open = False
            self._connect_timer.cancel()
            self._monitor.close()
            self._wire.close(linger=500)


def _sender(rank: int | None) -> str:
    return "a peer that has not joined" if rank is None else f"rank {rank}"


Overlay = LeadOverlay | FollowerOverlay
