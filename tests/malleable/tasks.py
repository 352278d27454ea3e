"""The tasks of a played job that are real processes."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DEADLINE = 240.0
"""Seconds within which a played instance does what a test waits for."""


class Tasks:
    """Processes by their task's number."""

    def __init__(self) -> None:
        self.processes: dict[int, subprocess.Popen[str]] = {}
        self._threads: list[threading.Thread] = []

    def launch(
        self,
        task: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        ended: Callable[[], None] | None,
    ) -> None:
        """Run a task; `ended` is called from a thread at its end."""
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=None,
            text=True,
            pass_fds=[int(environment["PMI_FD"])] if "PMI_FD" in environment else (),
        )
        self.processes[task] = process
        if ended is not None:
            thread = threading.Thread(target=lambda: (process.communicate(), ended()), daemon=True)
            self._threads.append(thread)
            thread.start()

    def failed(self) -> dict[int, int]:
        """Return the exit codes of those that failed."""
        codes = {task: process.poll() for task, process in self.processes.items()}
        return {task: code for task, code in codes.items() if code}

    def kill(self, *tasks: int) -> None:
        """Kill some of them; those that are not there are left out."""
        for task in self.processes.keys() & set(tasks):
            self.processes[task].kill()

    def close(self) -> None:
        """End all of them."""
        self.kill(*self.processes)
        for thread in self._threads:
            thread.join(DEADLINE)
        for process in self.processes.values():
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
