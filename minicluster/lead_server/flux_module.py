"""The server of real Flux's lead: a child of the module `minicluster-door`, which starts it again.

That module is in flux_zips/side_files/lead_server.py.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from minicluster.broker_link.flux_link import FluxLink
from minicluster.lead_server.errors import FilesUnusable
from minicluster.lead_server.lead_server import WITHOUT, Door, say, say_broken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def main(uri: str, settings: Mapping[str, Any]) -> int:
    """Serve until stdin, a pipe, ends with the module; 0 is for good, also where there can be no door."""
    try:
        door = Door(settings, lambda: FluxLink(uri), say, say_broken)
    except FilesUnusable as error:
        say(f"{WITHOUT}: {error}")
        return 0
    door.open()
    sys.stdin.buffer.read()
    door.close()
    return 0
