"""The connections of one listener, of any number of jobs: bytes come in, steps come out. No I/O.

A new connection gets a nonce. It is unproven until its first line names a job and proves that it belongs to
that job. A program's connection is closed after three lines that violate the protocol. Where too many
connections are unproven, the oldest are closed.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.malleable import messages
from minicluster.malleable.credentials import VERSION
from minicluster.malleable.errors import ProtocolError
from minicluster.malleable.events import NOTHING, Step
from minicluster.malleable.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.malleable.events import ConnectionId
    from minicluster.malleable.session import Session

WRONG_LINES = 3
MAX_UNPROVEN = 256
"""The most connections that are unproven at a time: one more closes the oldest."""


def _nonce() -> str:
    return secrets.token_hex(16)


@dataclass
class _Caller:
    nonce: str
    session: Session | None = None
    wrong: int = 0
    lines: Lines = field(default_factory=lambda: Lines(messages.LINE_LIMIT))


class Exchange:
    """Assigns connections to jobs, and passes their lines to the jobs' sessions."""

    def __init__(self, nonce: Callable[[], str] = _nonce) -> None:
        self._nonce = nonce
        self._sessions: dict[str, Session] = {}
        self._callers: dict[ConnectionId, _Caller] = {}

    def add(self, session: Session) -> None:
        """Accept the program and the workers of this job from now on."""
        self._sessions[session.job] = session

    def remove(self, job: str) -> Step:
        """Close the connections of a job that has ended; its session has no more events."""
        session = self._sessions.pop(job, None)
        gone = tuple(key for key, caller in self._callers.items() if caller.session is session is not None)
        for connection in gone:
            del self._callers[connection]
        return Step(closes=gone)

    def opened(self, connection: ConnectionId) -> Step:
        """Send the nonce over a new connection."""
        caller = self._callers[connection] = _Caller(self._nonce())
        hello = messages.encode(messages.Hello(VERSION, caller.nonce))
        unproven = [key for key, each in self._callers.items() if each.session is None]
        step = Step(sends=((connection, hello),))
        return step + (self._hang_up(unproven[0]) if len(unproven) > MAX_UNPROVEN else NOTHING)

    def received(self, connection: ConnectionId, data: bytes, now: float) -> Step:
        """Process bytes that were read, which may be parts of lines."""
        caller = self._callers.get(connection)
        step = NOTHING
        for line in caller.lines.feed(data) if caller is not None else ():
            if connection not in self._callers:
                break  # it was hung up on amid its lines
            step += self._line(connection, self._callers[connection], line, now)
        return step

    def closed(self, connection: ConnectionId, now: float) -> Step:
        """Process the end of a connection that the other side closed, or that was lost."""
        del now  # every event has this parameter
        caller = self._callers.pop(connection, None)
        return NOTHING if caller is None or caller.session is None else caller.session.closed(connection)

    def _line(self, connection: ConnectionId, caller: _Caller, line: bytes | None, now: float) -> Step:
        try:
            message = messages.parse_to_instance(line)
            if caller.session is not None:
                return caller.session.receive(message, now)
            return self._introduced(connection, caller, message, now)
        except ProtocolError as error:
            return self._wrong(connection, caller, str(error))

    def _introduced(
        self, connection: ConnectionId, caller: _Caller, message: messages.ToInstance, now: float
    ) -> Step:
        if not isinstance(message, (messages.Register, messages.Join)):
            raise ProtocolError(f"{message.type}: register or join comes first")
        session = self._sessions.get(message.job)
        if session is None:  # the same message as for a wrong proof: it does not reveal which jobs exist
            raise ProtocolError(f"{message.type}: the proof is not one of this job")
        if isinstance(message, messages.Register):
            step = session.register(connection, caller.nonce, message)
            caller.session = session
        else:
            step = session.join(connection, caller.nonce, message, now)
        for gone in step.closes:
            self._callers.pop(gone, None)
        return step

    def _wrong(self, connection: ConnectionId, caller: _Caller, reason: str) -> Step:
        caller.wrong += 1
        step = Step(sends=((connection, messages.encode(messages.Error(reason))),))
        if caller.session is not None and caller.wrong < WRONG_LINES:
            return step
        return step + self._hang_up(connection)

    def _hang_up(self, connection: ConnectionId) -> Step:
        caller = self._callers.pop(connection)
        step = Step(closes=(connection,))
        return step if caller.session is None else step + caller.session.closed(connection)
