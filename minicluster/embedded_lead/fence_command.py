"""`fence` beside a broker of the embedded instance. Not part of the zip: it needs our own Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.fence import fence
from minicluster.instance.links.embedded import EmbeddedLink

if TYPE_CHECKING:
    from collections.abc import Sequence


class EmbeddedRequester:
    """Asks by a ping, which followers forward to the lead."""

    def __init__(self, uri: str) -> None:
        self._link = EmbeddedLink(uri)

    def ask(self, timeout: float) -> None:
        """Have the lead answer."""
        self._link.rpc("broker.ping", {"seq": 0}, timeout)

    def close(self) -> None:
        """Hang up."""
        self._link.close()


def main(arguments: Sequence[str]) -> int:
    """Watch over a broker; return the exit code."""
    return fence.main(arguments, EmbeddedRequester)
