"""One task of a job on this rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.embedded.execution.pmi import PmiClient
    from minicluster.embedded.execution.rank.streams import InputFeed


@dataclass(slots=True)
class Task:
    """A task. It is complete once its process ended and no process has its output pipes open any more."""

    rank: int
    """The task's number in the job."""
    pid: int
    status: int | None = None
    """Its wait status; None while its process runs."""
    channels: int = 0
    """Output pipes that are open."""
    reported: bool = False
    """Whether the lead knows of its end."""
    feed: InputFeed | None = None
    """Its standard input; None where it reads a file."""
    pmi: PmiClient | None = None
    """None: it has no PMI."""

    def exited(self, status: int) -> None:
        """Note that its process ended with this wait status."""
        self.status = status
        if self.feed is not None:
            self.feed.close()
        if self.pmi is not None:
            self.pmi.close()
