"""A ZeroMQ socket on the asyncio loop, with CURVE, an authenticator (ZAP, RFC 27) and a connection monitor.

zmq.asyncio is not used: it costs start time and memory, and the loop only needs the socket's descriptor.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket as socketlib
from typing import TYPE_CHECKING

import zmq
from zmq.utils import z85
from zmq.utils.monitor import parse_monitor_message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from zmq import Socket

    from minicluster.embedded.configuration import Certificate
    from minicluster.embedded.ports import JSON

Frames = list[bytes]

_BATCH = 64  # messages taken before other work of the loop gets its turn
_HANDSHAKE_FAILED = (
    zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
    | zmq.Event.HANDSHAKE_FAILED_AUTH
)


def encode(message: Mapping[str, object], blob: bytes | None = None) -> Frames:
    """Return the frames of an overlay message: its JSON header and perhaps a body of raw bytes."""
    header = json.dumps(message, separators=(",", ":")).encode()
    return [header] if blob is None else [header, blob]


def decode(frames: Frames) -> tuple[JSON, bytes]:
    """Return header and body. Raises ValueError where the frames are no overlay message."""
    header = json.loads(frames[0])
    if not isinstance(header, dict) or not isinstance(header.get("type"), str):
        raise ValueError("no overlay message")  # noqa: TRY004 - one kind for what is not the protocol
    return header, frames[1] if len(frames) > 1 else b""


class Wire:
    """Calls `receive(frames)` for each message; `send` never blocks."""

    def __init__(self, socket: Socket[bytes], receive: Callable[[Frames], None]) -> None:
        self.socket = socket
        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._descriptor = int(socket.getsockopt(zmq.FD))
        self._loop.add_reader(self._descriptor, self._drain)
        self._loop.call_soon(self._drain)

    def send(self, frames: Frames) -> None:
        """Queue a message. Raises zmq.ZMQError (EHOSTUNREACH) where a ROUTER's peer is gone."""
        self.socket.send_multipart(frames, zmq.NOBLOCK)
        # The descriptor is edge-triggered and `send` may have swallowed the edge.
        if int(self.socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        for _ in range(_BATCH):
            if self.socket.closed:
                return
            try:
                frames = self.socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                self._receive(frames)
            except Exception:
                self._loop.call_soon(self._drain)  # no event comes for what waits behind it
                raise
        self._loop.call_soon(self._drain)

    def close(self, linger: int = 0) -> None:
        """Close the socket; queued messages are sent for `linger` milliseconds at most."""
        if not self.socket.closed:
            self._loop.remove_reader(self._descriptor)
            self.socket.close(linger)


def secure(socket: Socket[bytes], certificate: Certificate, *, server: bool, timeout: float) -> None:
    """Set the socket's CURVE keys and heartbeats; ZeroMQ detects a dead link within `timeout` seconds."""
    socket.curve_publickey = certificate.public_key.encode()
    socket.curve_secretkey = certificate.secret_key.encode()
    if server:
        socket.curve_server = True
        socket.zap_domain = b"minicluster"
    else:
        socket.curve_serverkey = certificate.public_key.encode()
    socket.linger = 0
    socket.sndhwm = socket.rcvhwm = 0
    socket.ipv6 = True
    if timeout:
        milliseconds = max(1000, int(timeout * 1000))
        socket.heartbeat_ivl = min(2000, milliseconds // 2)
        socket.heartbeat_timeout = milliseconds
        socket.heartbeat_ttl = milliseconds
        socket.setsockopt(zmq.TCP_MAXRT, milliseconds)


class Authenticator:
    """ZAP handler: admits a peer only with the certificate's own public key."""

    def __init__(
        self, context: zmq.Context[Socket[bytes]], certificate: Certificate, refused: Callable[[str], None]
    ) -> None:
        self._key = z85.decode(certificate.public_key.encode())
        self._refused = refused
        socket = context.socket(zmq.REP)
        socket.linger = 0
        socket.bind("inproc://zeromq.zap.01")
        self._wire = Wire(socket, self._decide)

    def _decide(self, frames: Frames) -> None:
        version, request, _domain, address, _identity, mechanism, *credentials = frames
        admitted = version == b"1.0" and mechanism == b"CURVE" and credentials == [self._key]
        verdict = [b"200", b"OK"] if admitted else [b"400", b"another certificate"]
        self._wire.send([b"1.0", request, *verdict, b"", b""])
        if not admitted:
            self._refused(_plain_address(address.decode(errors="replace")))

    def close(self) -> None:
        """Stop answering."""
        self._wire.close()


class Monitor:
    """Reports peers that connect, vanish or fail the handshake.

    `failed` gets the address of the peer, or None where its connection was closed before anybody looked.
    """

    def __init__(
        self,
        socket: Socket[bytes],
        *,
        gone: Callable[[], None],
        failed: Callable[[str | None], None],
        met: Callable[[], None] = lambda: None,
    ) -> None:
        events = (
            zmq.Event.ACCEPTED | zmq.Event.DISCONNECTED | zmq.Event.HANDSHAKE_SUCCEEDED | _HANDSHAKE_FAILED
        )
        self._newest: str | None = None  # the address of the newest connection
        self._socket = socket
        self._met = met
        self._gone = gone
        self._failed = failed
        self._wire = Wire(socket.get_monitor_socket(int(events)), self._event)

    def _event(self, frames: Frames) -> None:
        message = parse_monitor_message(frames)
        event = message["event"]
        if event == zmq.Event.ACCEPTED:
            self._newest = _peer_address(message["value"])
        elif event == zmq.Event.DISCONNECTED:
            self._gone()
        elif event & _HANDSHAKE_FAILED:
            # ZeroMQ names only this end here: the peer is that of the newest connection.
            self._failed(self._newest)
        else:
            self._met()

    def close(self) -> None:
        """Stop watching; the socket itself stays open.

        The monitor is disabled before its receiving end is closed. Else ZeroMQ's thread could wait for ever
        to report a peer that vanishes just then, and this process for that thread.
        """
        if not self._socket.closed:
            self._socket.disable_monitor()
            self._wire.close()


def _peer_address(descriptor: int) -> str | None:
    """Return the IP address at the other end of ZeroMQ's connection, or None where it is closed already."""
    try:
        with socketlib.socket(fileno=os.dup(descriptor)) as connection:
            return _plain_address(str(connection.getpeername()[0]))
    except OSError:
        return None


def _plain_address(address: str) -> str:
    """Return an IP address without the prefix that an IPv4 peer has on a socket that takes IPv6 as well."""
    return address.removeprefix("::ffff:")
