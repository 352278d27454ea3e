"""What a task knows of itself, and how a task that an order has started joins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.malleable import credentials as files
from minicluster.malleable import messages
from minicluster.malleable.errors import CredentialsError, Rejected
from minicluster.malleable.link import Link
from minicluster.malleable.variables import ORDER_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.malleable.credentials import Credentials

_TIMEOUT = 60.0


@dataclass(frozen=True)
class Worker:
    """One task of the job."""

    number: int
    """Unique for the job's life."""
    order: int = 0
    """The order that started this task; 0 for the tasks of the job's start."""
    credentials: Credentials | None = None
    """None in a rigid job."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Worker:
        """Read FLUX_TASK_RANK and the variables of the instance. Raises CredentialsError."""
        environment = os.environ if environment is None else environment
        credentials = files.from_environment(environment)
        rank = _whole(environment, "FLUX_TASK_RANK")
        if credentials is None:
            return cls(rank)
        return cls(credentials.offset + rank, _whole(environment, ORDER_VARIABLE), credentials)

    @property
    def joining(self) -> bool:
        """Whether an order to grow has started this task, and its program waits for it."""
        return self.order > 0

    def join(self, address: str, timeout: float = _TIMEOUT) -> None:
        """Send the instance, which passes it on to the program, the address at which this worker takes data.

        Raises OSError where the instance cannot be reached, Rejected where the order is over meanwhile.
        """
        if self.credentials is None or not self.joining:
            raise Rejected("only a worker that an order has started can join")
        link = Link(self.credentials, timeout)
        try:
            link.join(self.number, self.order, address)
            answer = link.receive(timeout)
        finally:
            link.close()
        if isinstance(answer, (messages.Expired, messages.Error)):
            raise Rejected(answer.reason)
        if not isinstance(answer, messages.Joined):
            raise Rejected(
                f"the instance answered a join with {'nothing' if answer is None else answer.type}"
            )


def _whole(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "0")
    if not text.isdecimal():
        raise CredentialsError(f"{name}: expected a number, found {text[:40]!r}")
    return int(text)
