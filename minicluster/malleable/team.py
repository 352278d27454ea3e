"""Channels between the tasks of a program whose number changes: frames over TCP, each task a listener.

    team = Team.open()
    team.send(1, "rows", body, first=10)
    frame = team.receive(timeout=5)

Tasks that start together find each other by PMI, as MPI does. A task that an order has started sends its
address to the instance. The first task receives it (Hooks.after_grow), admits the new task, and passes the
address on to the others. A task that received a frame can answer its sender. Only tasks that have the
program's key are let in. The key comes from the job's token, or by PMI.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import queue
import secrets
import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minicluster.malleable import frames, handshake
from minicluster.malleable.errors import TeamError
from minicluster.malleable.frames import Frame
from minicluster.malleable.link import split_address
from minicluster.malleable.order_handling import FIRST
from minicluster.malleable.pmi import Pmi
from minicluster.malleable.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GONE = "gone"
"""The kind of the frame (or two) that reports a task whose connection ended without a goodbye."""
_TIMEOUT = 60.0


class Team:
    """The tasks that this one knows, by their numbers. Sending is for any thread, receiving for one."""

    def __init__(self, number: int, key: str, host: str = "127.0.0.1") -> None:
        self.number = number
        self.joining = False  # whether it was started for an order: then the first task's frames direct it
        self.addresses: dict[int, str] = {}
        self._key = key
        self._inbox: queue.SimpleQueue[Frame] = queue.SimpleQueue()
        self._out: dict[int, socket.socket] = {}
        self._in: set[socket.socket] = set()
        self._sending = threading.Lock()
        self._closed = False
        self._orphaned = False  # whether the end of the first task was received
        self._listener = socket.create_server((host, 0))
        self.address = f"{host}:{self._listener.getsockname()[1]}"
        _start(self._accept, "accept")

    @classmethod
    def open(cls, environment: Mapping[str, str] | None = None) -> Team:
        """Make the team of this job's tasks, or join it. Raises MalleableError, OSError."""
        environment = os.environ if environment is None else environment
        worker = Worker.from_environment(environment)
        host = _own_host(worker)
        if worker.joining and worker.credentials is not None:
            team = cls(worker.number, _key(worker.credentials.token), host)
            team.joining = True
            worker.join(team.address)
            return team
        pmi = Pmi(environment)
        fresh = secrets.token_hex(32) if worker.credentials is None else ""
        offers = pmi.exchange(fresh)  # the first task's counts
        team = cls(worker.number, _key(worker.credentials.token if worker.credentials else offers[0]), host)
        team.addresses = dict(enumerate(pmi.exchange(team.address)))
        pmi.close()
        if team.number != FIRST:
            # It notices the end of the first one then, though neither has sent anything. That may be over.
            with contextlib.suppress(OSError, TeamError), team._sending:
                team._connection(FIRST)
        return team

    @property
    def others(self) -> list[int]:
        """The numbers of the tasks known besides this one."""
        return sorted(set(self.addresses) - {self.number})

    def admit(self, addresses: Mapping[int, str]) -> None:
        """Let these tasks be sent to from now on; `addresses` by their numbers."""
        self.addresses.update(addresses)

    def dismiss(self, *numbers: int) -> None:
        """Close the connections to these tasks; frames that were sent to them still arrive."""
        for number in numbers:
            self.addresses.pop(number, None)
            connection = self._out.pop(number, None)
            if connection is not None:
                _send_bye(connection, self.number)  # the thread that watches it closes it

    def send(self, to: int, kind: str, body: Any = b"", **fields: Any) -> None:
        """Send a frame to a task; `body` is any object with contiguous bytes. Raises TeamError."""
        frame = Frame(self.number, kind, fields, memoryview(body).cast("B") if len(body) else b"")  # type: ignore[arg-type]
        if to == self.number:
            self._inbox.put(replace(frame, body=bytes(frame.body)))
            return
        try:
            with self._sending:
                frames.send(self._connection(to), frame)
        except OSError as error:
            raise TeamError(f"task {to} at {self.addresses.get(to)} cannot be reached: {error}") from None

    def receive(self, timeout: float | None = None) -> Frame | None:
        """Return the next frame of any task; None after `timeout` seconds (None: wait for ever).

        Frames of one task come in the order in which it sent them. Raises TeamError where the first task was
        reported gone and all frames were returned: nobody would end a worker that waits on.
        """
        try:
            frame = self._inbox.get(block=timeout != 0 and not self._orphaned, timeout=timeout or None)
        except queue.Empty:
            if self._orphaned:
                raise TeamError(f"task {FIRST} is gone; a worker ends when it receives {GONE!r}") from None
            return None
        self._orphaned |= frame.kind == GONE and frame.sender == FIRST
        return frame

    def close(self) -> None:
        """Send a goodbye to all tasks, and stop listening."""
        self._closed = True
        self.dismiss(*tuple(self._out))
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread, which closes it
        for connection in tuple(self._in):
            _send_bye(connection, self.number)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)

    def __enter__(self) -> Team:  # noqa: PYI034 - Self is newer than Flux's own Python may be
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Outgoing: a thread for each notices when the task at the other end is gone.

    def _connection(self, to: int) -> socket.socket:
        if to not in self._out:
            if to not in self.addresses:
                raise TeamError(f"there is no task {to}; known are {sorted(self.addresses)}")
            connection = socket.create_connection(split_address(self.addresses[to]), timeout=_TIMEOUT)
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                handshake.introduce(connection, self._key, self.number, self.address)
            except BaseException:
                connection.close()
                raise
            connection.settimeout(None)
            self._out[to] = connection
            _start(self._watch, "watch", connection, to)
        return self._out[to]

    def _watch(self, connection: socket.socket, to: int) -> None:
        has_left = False
        with contextlib.suppress(OSError, TeamError):
            has_left = frames.receive(connection, handshake.LIMIT).kind == handshake.BYE
        with self._sending, connection:
            is_known = self._out.get(to) is connection
            if is_known:
                del self._out[to]
        if is_known and not has_left:
            self._inbox.put(Frame(to, GONE))

    # Incoming: a thread for the listener, and one for each task that sends.

    def _accept(self) -> None:
        with self._listener:
            while not self._closed:
                try:
                    connection, _ = self._listener.accept()
                except OSError:
                    return
                self._in.add(connection)
                if self._closed:  # nobody would say goodbye to who connects as late as this
                    connection.close()
                    return
                _start(self._read, "read", connection)

    def _read(self, connection: socket.socket) -> None:
        sender = None
        with contextlib.suppress(OSError, TeamError), connection:
            sender = self._proved(connection)
            while sender is not None:
                frame = frames.receive(connection)
                if frame.kind == handshake.BYE:
                    sender = None
                else:
                    self._inbox.put(replace(frame, sender=sender))
        self._in.discard(connection)
        is_known = sender in self.addresses  # a task that was dismissed is no loss
        if sender is not None and is_known and not self._closed:
            self._inbox.put(Frame(sender, GONE))

    def _proved(self, connection: socket.socket) -> int | None:
        """Return the number of the task that connected, and keep its address; None without a proof."""
        connection.settimeout(_TIMEOUT)
        other = handshake.meet(connection, self._key, self.number)
        connection.settimeout(None)
        if other is None:
            return None
        self.addresses.setdefault(*other)
        return other[0]


def _start(target: Callable[..., None], name: str, *arguments: object) -> None:
    threading.Thread(target=target, args=arguments, name=f"team-{name}", daemon=True).start()


def _send_bye(connection: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):
        frames.send(connection, Frame(number, handshake.BYE))
        connection.shutdown(socket.SHUT_WR)


def _key(token: str) -> str:
    return hmac.new(token.encode(), b"team", hashlib.sha256).hexdigest()


def _own_host(worker: Worker) -> str:
    """Return this task's address for the other tasks.

    With credentials it is that of the interface towards the instance, else that of the host name.
    """
    if worker.credentials is not None:
        target = split_address(worker.credentials.address)
        family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:  # connecting one of these sends nothing
            probe.connect(target)
            return str(probe.getsockname()[0])
    try:
        host = socket.gethostbyname(socket.gethostname())
        socket.create_server((host, 0)).close()  # the name may be of another machine
    except OSError:
        return "127.0.0.1"
    return host
