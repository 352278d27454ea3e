"""What can go wrong between us and an instance, as one tree: that of every way to call a broker.

InstanceError
├── InstanceGone         nobody answers at the address (any more): socket absent, broker ended, helper died
├── Refused              something was refused: Flux's error number, and words
│   ├── RequestRefused   the broker refused a request, which it names
│   └── WaitTimeout      what was waited for did not come in time
├── NoEngine             │
├── SubmitRefused        │ in `minicluster.instance.errors`: of the port alone
├── JobNotFound          │
├── JobInactive          │
└── DoorError            in `minicluster.lead_server.errors`: of the lead's API
"""

from __future__ import annotations

import errno
import os


class InstanceError(Exception):
    """Root of the tree."""


class InstanceGone(InstanceError):  # noqa: N818 - named for what happened
    """Nobody answers at the address (any more)."""


class Refused(InstanceError):  # noqa: N818 - named for what happened
    """Something was refused: `errnum` as in errno.h, `text` in the words of who refused it."""

    def __init__(self, errnum: int, text: str = "") -> None:
        self.errnum = errnum
        self.text = text or os.strerror(errnum)
        super().__init__(self.text)


class RequestRefused(Refused):
    """The broker refused a request: `errnum` as in errno.h, `text` in its own words."""

    def __init__(self, topic: str, errnum: int, text: str = "") -> None:
        super().__init__(errnum, text)
        self.topic = topic
        self.args = (f"{topic}: {self.text}",)


class WaitTimeout(Refused, TimeoutError):  # noqa: N818 - named for what happened
    """What was waited for did not come in time; `words` say what."""

    def __init__(self, words: str = "") -> None:
        super().__init__(errno.ETIMEDOUT)
        self.args = (words or self.text,)


def reason(error: Exception) -> str:
    """Return an error's words, without the request that was refused: who reads them did not make it."""
    return error.text if isinstance(error, Refused) else str(error)
