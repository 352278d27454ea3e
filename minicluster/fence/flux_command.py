"""`fence` beside a broker of real Flux, under Flux's own Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.broker_link.flux_link import FluxLink
from minicluster.fence import fence

if TYPE_CHECKING:
    from collections.abc import Sequence


class FluxRequester:
    """Asks by a ping of rank 0's broker, which other modules cannot keep waiting."""

    def __init__(self, uri: str) -> None:
        self._link = FluxLink(uri)

    def ask(self, timeout: float) -> None:
        """Have rank 0 answer."""
        self._link.rpc("broker.ping", {"seq": 0}, timeout, rank=0)

    def close(self) -> None:
        """Hang up."""
        self._link.close()


def main(arguments: Sequence[str]) -> int:
    """Watch over a broker; return the exit code."""
    return fence.main(arguments, FluxRequester)
