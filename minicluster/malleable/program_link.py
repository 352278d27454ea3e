"""The link over which a program receives orders; once it was lost, the program may register once more."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from minicluster.malleable import messages
from minicluster.malleable.errors import Rejected
from minicluster.malleable.link import Link

if TYPE_CHECKING:
    from minicluster.malleable.credentials import Credentials
    from minicluster.malleable.messages import ToInstance, ToProgram

_log = logging.getLogger(__name__)


class ProgramLink:
    """The link of a program. It is never open without credentials, where no instance gives orders."""

    def __init__(self, credentials: Credentials | None, timeout: float) -> None:
        self._credentials = credentials
        self._timeout = timeout
        self._link: Link | None = None
        self._may_return = True

    @property
    def is_open(self) -> bool:
        """Whether the program receives orders."""
        return self._link is not None

    def open(self) -> messages.Registered | None:
        """Register with the instance; return its answer, None without credentials.

        Raises OSError and Rejected.
        """
        if self._credentials is None:
            return None
        link = Link(self._credentials, self._timeout)
        try:
            answer = link.register(self._timeout)
        except BaseException:
            link.close()
            raise
        self._link = link
        return answer

    def come_back(self) -> messages.Registered | None:
        """Register once more; return the instance's answer, None where it fails or was done once already."""
        if not self._may_return:
            return None
        self._may_return = False
        try:
            return self.open()
        except (OSError, Rejected) as error:
            _log.warning("the program stays at its size: %s", error)
            return None

    def drop(self) -> None:
        """Close the connection."""
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def end(self, last: ToInstance | None = None) -> None:
        """Send a last message, and close the connection for good."""
        self._may_return = False
        if last is not None:
            self.send(last)
        self.drop()

    def send(self, message: ToInstance) -> None:
        """Send a message, if the link is open."""
        try:
            if self._link is not None:
                self._link.send(message)
        except OSError as error:
            _log.debug("%s was not sent: %s", message.type, error)  # reading finds that it is lost

    def receive(self, timeout: float) -> tuple[list[ToProgram], Exception | None]:
        """Return the messages that have come, and why the connection is lost, if it is.

        Waits up to `timeout` seconds for a first message. Orders that have expired already are left out, and
        where the connection is lost all messages but Released.
        """
        received: list[ToProgram] = []
        link = self._link
        try:
            while link is not None:
                message = link.receive(0.0 if received else timeout)
                if message is None:
                    break
                received.append(message)
        except (OSError, Rejected) as error:
            lost = error if self._link is link else None  # else it was closed here
            return [message for message in received if isinstance(message, messages.Released)], lost
        over = {message.order for message in received if isinstance(message, messages.Expired)}
        return [
            message
            for message in received
            if isinstance(message, messages.Expired) or getattr(message, "order", 0) not in over
        ], None
