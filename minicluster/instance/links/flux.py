"""Real Flux, through a helper process: Flux's Python bindings live in Flux's own Python."""

from __future__ import annotations

from pathlib import Path

import minicluster
from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.links.process_channel import ProcessChannel

_ROOT = Path(minicluster.__file__).parents[1]
# What is installed beside us comes last, and what lies in the working directory never.
_HELPER = """\
import sys
sys.path[:] = [*filter(None, sys.path), sys.argv.pop(1)]
from minicluster.broker_link.flux_helper import main
sys.exit(main())
"""


class FluxEndpoint(LinesEndpoint):
    """One helper process; `flux` is the real flux-core's command."""

    def __init__(self, uri: str, flux: str = "flux") -> None:
        words = [flux, "python", "-c", _HELPER, str(_ROOT), uri]
        super().__init__(uri, ProcessChannel(words, "the helper under `flux python`"))
