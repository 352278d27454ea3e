"""Real Flux, through a helper process: Flux's Python bindings live in Flux's own Python."""

from __future__ import annotations

from pathlib import Path

from minicluster.instance.lines import LinesTransport
from minicluster.instance.process_channel import ProcessChannel

HELPER = Path(__file__).with_name("flux_helper.py")


class FluxTransport(LinesTransport):
    """One helper process; `flux` is the real flux-core's command."""

    def __init__(self, uri: str, flux: str = "flux") -> None:
        words = [flux, "python", str(HELPER), uri]
        super().__init__(uri, ProcessChannel(words, "the helper under `flux python`"))
