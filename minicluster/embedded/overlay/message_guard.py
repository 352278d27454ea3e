"""What keeps peers from harm: their messages end no callback, and fill neither the log nor memory."""

from __future__ import annotations

import traceback
from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from broker_config.formats.printable import printable
from minicluster.embedded.log import ERR

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.log import Log
    from minicluster.embedded.overlay.wire import Frames

MAX_PEERS = 256
"""The most peers that are counted each."""
OTHERS = "others"
"""All the rest of them."""
MAX_QUOTED = 255
"""Characters of what a peer sent, in logs and messages: as many as a host's name may have."""


class PeerCounts(Counter[str]):
    """How often peers did something that is logged."""

    def note(self, peer: str) -> int:
        """Count once more; return the count where it is to be logged, 0 elsewhere.

        The 1st, 2nd, 4th, 8th, … time is logged.
        """
        counted = peer if peer in self or len(self) < MAX_PEERS else OTHERS
        self[counted] += 1
        count = self[counted]
        return 0 if count & (count - 1) else count


class MessageGuard:
    """Hands messages on, and drops those that cannot be handled; `sender` returns whose a message is."""

    def __init__(self, log: Log, handle: Callable[[Frames], None], sender: Callable[[Frames], str]) -> None:
        self._log = log
        self._handle = handle
        self._sender = sender
        self._dropped = PeerCounts()

    def __call__(self, frames: Frames) -> None:
        """Handle a message."""
        try:
            self._handle(frames)
        except Exception as error:  # noqa: BLE001 - whatever a peer sends, it must not hold up the others
            sender = self._sender(frames)
            if count := self._dropped.note(sender):
                reason = f"{quoted(f'{type(error).__name__}: {error}')} ({_raised_at(error)})"
                self._log(ERR, f"dropped a message of {sender} ({count}x): {reason}", "overlay")


def quoted(value: object) -> str:
    """Return what a peer sent as text for the log: on one line, and not long."""
    return printable(str(value)[:MAX_QUOTED])


def _raised_at(error: Exception) -> str:
    """Return the line that raised the error, for who looks for a defect."""
    [*_, (frame, line)] = traceback.walk_tb(error.__traceback__)
    return f"{PurePath(frame.f_code.co_filename).name}:{line}"
