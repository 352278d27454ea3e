"""The door beside the embedded instance's lead: a process that the lead starts. Not part of the zip."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

from minicluster.flux_modules.door.door import WITHOUT, Door, say, say_broken
from minicluster.flux_modules.door.embedded_link import EmbeddedLink
from minicluster.flux_modules.door.errors import BrokerGone, FilesUnusable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def main(uri: str, settings: Mapping[str, Any]) -> int:
    """Serve until the broker is gone or SIGTERM comes; 0 is for good, also where there can be no door."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the broker decides

    def broke(error: Exception) -> None:
        if isinstance(error, BrokerGone):
            ended.set()
        else:
            say_broken(error)

    try:
        door = Door(settings, lambda: EmbeddedLink(uri), say, broke)
    except FilesUnusable as error:
        say(f"{WITHOUT}: {error}")
        return 0
    door.open()
    ended.wait()
    door.close()
    return 0
