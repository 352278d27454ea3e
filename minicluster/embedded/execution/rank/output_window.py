"""Flow control of a job's output: tasks wait while the lead has too much of it to process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.embedded.execution.rank.streams import OutputPump

WINDOW = 1 << 20
"""The most bytes of output per job and rank without the lead's acknowledgement; with more the tasks wait."""


class OutputWindow:
    """Pauses and resumes the pumps of a job by how many bytes the lead has not acknowledged."""

    def __init__(self) -> None:
        self._pumps: list[OutputPump] = []
        self._unacknowledged = 0
        self._paused = False

    def add(self, pump: OutputPump) -> None:
        """Control one more pump."""
        self._pumps.append(pump)

    def sent(self, count: int) -> None:
        """Note that `count` bytes were sent to the lead."""
        self._unacknowledged += count
        if self._unacknowledged > WINDOW and not self._paused:
            self._paused = True
            for pump in self._pumps:
                pump.pause()

    def taken(self, count: int) -> None:
        """Note that the lead acknowledged `count` bytes."""
        self._unacknowledged -= count
        if self._paused and self._unacknowledged <= WINDOW // 2:
            self._paused = False
            for pump in self._pumps:
                pump.resume()
