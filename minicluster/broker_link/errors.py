"""The errors of an instance, as one tree for every way to call a broker.

InstanceError
├── InstanceGone         no broker answers at the address (any more): no socket, broker ended, helper died
├── Refused              something was refused: Flux's error number, and a text
│   ├── RequestRefused   the broker refused a request; it has the topic
│   │   └── NotAllowed   who asks may not ask this (EPERM)
│   └── WaitTimeout      an answer did not come in time
├── NoEngine             │
├── SubmitRefused        │ in `minicluster.instance.errors`: of the port alone
├── JobNotFound          │
├── JobInactive          │
└── LeadServerError      in `minicluster.lead_server.errors`: of the lead's API
"""

from __future__ import annotations

import errno
import os


class InstanceError(Exception):
    """Root of the tree."""


class InstanceGone(InstanceError):  # noqa: N818 - named for what happened
    """No broker answers at the address (any more)."""


class Refused(InstanceError):  # noqa: N818 - named for what happened
    """Something was refused: `errnum` as in errno.h, and the reason as a text."""

    def __init__(self, errnum: int, text: str = "") -> None:
        self.errnum = errnum
        self.text = text or os.strerror(errnum)
        super().__init__(self.text)


class RequestRefused(Refused):
    """The broker refused a request: `errnum` as in errno.h, and the broker's own text."""

    def __init__(self, topic: str, errnum: int, text: str = "") -> None:
        super().__init__(errnum, text)
        self.topic = topic
        self.args = (f"{topic}: {self.text}",)


class NotAllowed(RequestRefused):
    """The broker refused a request that is not for who asks: EPERM, in the broker's words."""


class WaitTimeout(Refused, TimeoutError):  # noqa: N818 - named for what happened
    """An answer did not come in time; `words` has which one."""

    def __init__(self, words: str = "") -> None:
        super().__init__(errno.ETIMEDOUT)
        self.args = (words or self.text,)


def refusal_of(topic: str, errnum: int, text: str = "") -> RequestRefused:
    """Return the error for a request that the broker refused."""
    return (NotAllowed if errnum == errno.EPERM else RequestRefused)(topic, errnum, text)


def reason(error: Exception) -> str:
    """Return an error's text without the topic of the refused request, which its readers did not send."""
    return error.text if isinstance(error, Refused) else str(error)
