"""Real Flux, through a helper process: Flux's Python bindings live in Flux's own Python."""

from __future__ import annotations

from pathlib import Path

from minicluster import broker_link
from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.links.process_channel import ProcessChannel

HELPER = Path(broker_link.__file__).with_name("flux_helper.py")


class FluxEndpoint(LinesEndpoint):
    """One helper process; `flux` is the real flux-core's command."""

    def __init__(self, uri: str, flux: str = "flux") -> None:
        words = [flux, "python", str(HELPER), uri]
        super().__init__(uri, ProcessChannel(words, "the helper under `flux python`"))
