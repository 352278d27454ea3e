"""The door beside the embedded instance's lead: a process that the lead starts. Not part of the zip."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

from minicluster.broker_link.errors import InstanceGone
from minicluster.instance.links.embedded import EmbeddedLink
from minicluster.lead_server.errors import FilesUnusable
from minicluster.lead_server.lead_server import WITHOUT, Door, say, say_broken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def main(uri: str, settings: Mapping[str, Any]) -> int:
    """Serve until the broker is gone or SIGTERM comes; 0 is for good, also where there can be no door."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the broker decides

    def broke(error: Exception) -> None:
        if isinstance(error, InstanceGone):
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
