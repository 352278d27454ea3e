"""The task that speaks for a job's program, as its instance sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.malleable import events, messages
from minicluster.malleable.credentials import proves
from minicluster.malleable.errors import ProtocolError
from minicluster.malleable.events import NOTHING, Step

if TYPE_CHECKING:
    from minicluster.malleable.events import ConnectionId
    from minicluster.malleable.messages import ToProgram

NOT_YET = "its program has not registered yet: try again"
"""Why a program takes no orders that has just begun."""
_REGISTRATIONS = 2  # a program whose connection was lost may come back once


class Speaker:
    """Keeps the connection of this task, if it has one, and whether the program takes orders."""

    def __init__(self, job: str, token: str) -> None:
        self.job = job
        self.connection: ConnectionId | None = None
        self._token = token
        self._registrations = 0
        self._rigid = False

    @property
    def accepts_resize(self) -> bool:
        """Whether it takes orders."""
        return self.connection is not None and not self._rigid

    @property
    def obstacle(self) -> str:
        """Why it takes no orders; empty where it does."""
        if self._rigid:
            return "its program has deregistered"
        if self.connection is None and self._registrations:
            return "its program has closed or lost its connection"
        return "" if self.connection is not None else NOT_YET

    def check(self, nonce: str, message: messages.Register) -> None:
        """Check a registration. Raises ProtocolError where it is not allowed."""
        if not proves(message.mac, self._token, nonce, "register", self.job):
            raise ProtocolError("register: the proof is not one of this job")
        if self._rigid:
            raise ProtocolError("register: the program has deregistered, which is for good")
        if self._registrations == _REGISTRATIONS:
            raise ProtocolError("register: the program has come back once before")

    def begin(self, connection: ConnectionId) -> None:
        """Note that it has registered over this connection."""
        self._registrations += 1
        self.connection = connection

    def leave(self, reason: str, *, for_good: bool = False) -> Step:
        """Note that it takes no orders any more."""
        if self._rigid:
            return NOTHING
        self._rigid = for_good
        return Step(events=(events.ProgramDeregistered(self.job, reason),))

    def send(self, message: ToProgram) -> Step:
        """Return the step that sends it a message; an empty one where it has no connection."""
        if self.connection is None:
            return NOTHING
        return Step(sends=((self.connection, messages.encode(message)),))
