"""The embedded broker in lines of JSON on standard input and output, for clients on other machines.

`broker_link.lines_server` describes the lines. The relay ends with its standard input. It does what
`broker_link.flux_helper` does for real Flux.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from minicluster.broker_link import standard_lines
from minicluster.instance.links.embedded import EmbeddedLink

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main(arguments: Sequence[str]) -> NoReturn:
    """Relay to the broker of the URI in `arguments`, else of FLUX_URI."""
    uri = arguments[0] if arguments else os.environ.get("FLUX_URI", "")
    standard_lines.serve(lambda: EmbeddedLink(uri, is_named=False))
