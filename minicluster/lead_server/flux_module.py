"""The lead server's process with real Flux: a child of the module `minicluster-door`, which restarts it.

That module is in flux_zips/side_files/lead_server.py.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from minicluster.broker_link.flux_link import FluxLink
from minicluster.lead_server.errors import FilesUnusable
from minicluster.lead_server.lead_server import WITHOUT, LeadServer, log_broken_link, log_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def main(uri: str, settings: Mapping[str, Any]) -> int:
    """Serve until stdin, a pipe, ends with the module. Return 0, after which the module does not restart it.

    If the files cannot be used, nothing is served, and it returns 0 as well.
    """
    try:
        server = LeadServer(settings, lambda: FluxLink(uri), log_line, log_broken_link)
    except FilesUnusable as error:
        log_line(f"{WITHOUT}: {error}")
        return 0
    server.open()
    sys.stdin.buffer.read()
    server.close()
    return 0
