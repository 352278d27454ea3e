"""The connections of one listener, of any number of jobs: bytes come in, steps come out. No I/O.

Who connects is greeted with a nonce, and is nobody until its first line has named a job and proved to be of
it. A program that breaks the protocol three times is hung up on; of those who never say anything the oldest
go when they are too many.
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

    from minicluster.malleable.events import Connection
    from minicluster.malleable.session import Session

WRONG_LINES = 3
MAX_UNPROVEN = 256
"""Connections that have not proved anything yet; one more, and the oldest is closed."""


def _nonce() -> str:
    return secrets.token_hex(16)


@dataclass
class _Caller:
    nonce: str
    session: Session | None = None
    wrong: int = 0
    lines: Lines = field(default_factory=lambda: Lines(messages.LINE_LIMIT))


class Exchange:
    """Knows which connection is of which job."""

    def __init__(self, nonce: Callable[[], str] = _nonce) -> None:
        self._nonce = nonce
        self._sessions: dict[str, Session] = {}
        self._callers: dict[Connection, _Caller] = {}

    def add(self, session: Session) -> None:
        """Let the program and the workers of this job in."""
        self._sessions[session.job] = session

    def remove(self, job: str) -> Step:
        """The job has ended: hang up on its program. Nothing more is learned of it."""
        session = self._sessions.pop(job, None)
        gone = tuple(key for key, caller in self._callers.items() if caller.session is session is not None)
        for connection in gone:
            del self._callers[connection]
        return Step(closes=gone)

    def opened(self, connection: Connection) -> Step:
        """Greet who has connected."""
        caller = self._callers[connection] = _Caller(self._nonce())
        hello = messages.encode(messages.Hello(VERSION, caller.nonce))
        unproven = [key for key, each in self._callers.items() if each.session is None]
        step = Step(sends=((connection, hello),))
        return step + (self._hang_up(unproven[0]) if len(unproven) > MAX_UNPROVEN else NOTHING)

    def received(self, connection: Connection, data: bytes, now: float) -> Step:
        """Take what was read, however it was cut."""
        caller = self._callers.get(connection)
        step = NOTHING
        for line in caller.lines.feed(data) if caller is not None else ():
            if connection not in self._callers:
                break  # it was hung up on amid its lines
            step += self._line(connection, self._callers[connection], line, now)
        return step

    def closed(self, connection: Connection, now: float) -> Step:
        """The other side has hung up, or cannot be reached any more."""
        del now  # as everything else that happens has it
        caller = self._callers.pop(connection, None)
        return NOTHING if caller is None or caller.session is None else caller.session.closed(connection)

    def _line(self, connection: Connection, caller: _Caller, line: bytes | None, now: float) -> Step:
        try:
            message = messages.parse_to_instance(line)
            if caller.session is not None:
                return caller.session.receive(message, now)
            return self._introduced(connection, caller, message, now)
        except ProtocolError as error:
            return self._wrong(connection, caller, str(error))

    def _introduced(
        self, connection: Connection, caller: _Caller, message: messages.ToInstance, now: float
    ) -> Step:
        if not isinstance(message, (messages.Register, messages.Join)):
            raise ProtocolError(f"{message.type}: register or join comes first")
        session = self._sessions.get(message.job)
        if session is None:  # in words that do not tell which jobs there are
            raise ProtocolError(f"{message.type}: the proof is not one of this job")
        if isinstance(message, messages.Register):
            step = session.register(connection, caller.nonce, message)
            caller.session = session
        else:
            step = session.join(connection, caller.nonce, message, now)
        for gone in step.closes:
            self._callers.pop(gone, None)
        return step

    def _wrong(self, connection: Connection, caller: _Caller, reason: str) -> Step:
        caller.wrong += 1
        step = Step(sends=((connection, messages.encode(messages.Error(reason))),))
        if caller.session is not None and caller.wrong < WRONG_LINES:
            return step
        return step + self._hang_up(connection)

    def _hang_up(self, connection: Connection) -> Step:
        caller = self._callers.pop(connection)
        step = Step(closes=(connection,))
        return step if caller.session is None else step + caller.session.closed(connection)
