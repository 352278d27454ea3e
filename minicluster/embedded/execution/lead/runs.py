"""The jobs whose processes live."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.embedded.execution.lead.run import Run
    from minicluster.embedded.execution.messages import ToRank
    from minicluster.embedded.overlay.overlay import LeadOverlay


class Runs:
    """The jobs from their start until every rank has ended its part."""

    def __init__(self, overlay: LeadOverlay) -> None:
        self.by_id: dict[int, Run] = {}
        self._overlay = overlay

    def send_to_ranks(self, run: Run, message: ToRank) -> None:
        """Send to every rank where the job runs."""
        for rank in tuple(run.running):
            self._overlay.send(rank, message)
