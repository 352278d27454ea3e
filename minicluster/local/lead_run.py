"""The lead broker's run. Its start script records the main command's beginning and end in files."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.local.records import EndedContainer
    from minicluster.local.state_directory import ClusterDirectory

MAIN_STARTED = "main-started"
"""Made by the start script in the lead's run directory when the main command begins."""
EXIT_CODE = "exit-code"
"""Written there when the main command ended."""
POLL_INTERVAL = 0.01


@dataclass(frozen=True, slots=True)
class LeadExit:
    """How the lead ended."""

    exit_code: int | None
    """Of the main command."""
    reason: str = ""
    """Why there is no exit code."""


class LeadRun:
    """The time from the lead's start to its end for good, which `end` reports."""

    def __init__(self, directory: ClusterDirectory) -> None:
        self._directory = directory.run(0)
        self._outcome: asyncio.Future[LeadExit] = asyncio.get_running_loop().create_future()

    @property
    def ended(self) -> bool:
        """Whether the lead has ended for good."""
        return self._outcome.done()

    @property
    def instance_ended(self) -> bool:
        """Whether the lead ended in order, so that it shut the followers down."""
        return self._outcome.done() and self._outcome.result().exit_code is not None

    async def main_started(self) -> None:
        """Wait until the main command begins, or the lead has ended."""
        started = self._directory / MAIN_STARTED
        while not (started.exists() or self._outcome.done()):
            await asyncio.sleep(POLL_INTERVAL)

    async def outcome(self) -> LeadExit:
        """Wait for the lead's end."""
        return await asyncio.shield(self._outcome)

    def since_command(self) -> float:
        """Return how many seconds ago the main command ended; 0 where it did not."""
        try:
            return max(0.0, time.time() - (self._directory / EXIT_CODE).stat().st_mtime)
        except OSError:
            return 0.0

    def end(self, ended: EndedContainer) -> None:
        """Note that a container ended for good; only the lead broker's counts."""
        if ended.pod.is_lead and ended.is_main and not self._outcome.done():
            self._outcome.set_result(self._result(ended))

    def _result(self, ended: EndedContainer) -> LeadExit:
        code = self._exit_code()
        if code is not None:
            return LeadExit(code)
        if ended.code == 0 and not ended.signal:
            return LeadExit(0)
        how = f"was killed by signal {ended.signal or ended.code - 128}" if ended.code > 128 else ""
        return LeadExit(None, f"the lead broker (rank 0) {how or f'ended with exit code {ended.code}'}")

    def _exit_code(self) -> int | None:
        """Return the main command's exit code, which the start script wrote; None where it did not end."""
        try:
            text = (self._directory / EXIT_CODE).read_text().strip()
        except OSError:
            return None
        return int(text) if text.isdecimal() else None
