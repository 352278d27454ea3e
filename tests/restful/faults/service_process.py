"""The program of `forking_service`, as a test has it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class MortalService:
    """Its folder and port, and a user's token."""

    folder: Path
    port: int
    token: str

    def die_at(self, step: str) -> None:
        """Have the service die at the next step of this name."""
        (self.folder / "die-at.new").write_text(step)
        (self.folder / "die-at.new").rename(self.folder / "die-at")

    @property
    def died(self) -> bool:
        """Whether it has, since it was asked to."""
        return not (self.folder / "die-at").exists()

    def kill(self) -> None:
        """Kill it now."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)


@contextlib.contextmanager
def running(folder: Path, uri: str) -> Iterator[MortalService]:
    """Give a service over the embedded instance at an address."""
    command = [sys.executable, "-m", "tests.restful.faults.forking_service", str(folder), uri]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            port, token = process.stdout.readline().split()
            yield MortalService(folder, int(port), token)
        finally:
            process.stdin.close()
