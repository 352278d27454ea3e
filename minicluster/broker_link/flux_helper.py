"""Real Flux's broker in lines of JSON: runs under `flux python`, from where this room is or from its zip.

`lines_server` describes the lines. The helper ends with its standard input. It runs on Pythons as old as
Flux's own.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from minicluster.broker_link import standard_lines
from minicluster.broker_link.flux_link import FluxLink

if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Serve until standard input or the broker ends. The broker's URI is the argument, else FLUX_URI."""
    uri = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FLUX_URI", "")
    standard_lines.serve(lambda: _connected(uri))


def _connected(uri: str) -> FluxLink:
    link = FluxLink(uri)
    # A broker that is about to end accepts the connection and never answers.
    link.rpc("attr.get", {"name": "version"})
    return link
