"""The lead server of the embedded instance: a process that the lead starts. Not part of the zip."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

from minicluster.broker_link.errors import InstanceGone
from minicluster.instance.links.embedded import EmbeddedLink
from minicluster.lead_server.errors import FilesUnusable
from minicluster.lead_server.lead_server import WITHOUT, LeadServer, log_broken_link, log_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def main(uri: str, settings: Mapping[str, Any]) -> int:
    """Serve the lead API until the broker is gone or SIGTERM comes, and return 0.

    With 0 the broker does not start it again. That holds too where its files are unusable.
    """
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the broker decides

    def broke(error: Exception) -> None:
        if isinstance(error, InstanceGone):
            ended.set()
        else:
            log_broken_link(error)

    try:
        server = LeadServer(settings, lambda: EmbeddedLink(uri), log_line, broke)
    except FilesUnusable as error:
        log_line(f"{WITHOUT}: {error}")
        return 0
    server.open()
    ended.wait()
    server.close()
    return 0
