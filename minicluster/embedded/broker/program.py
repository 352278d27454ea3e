"""The initial program (rc2), which the lead runs once its quorum joined."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from minicluster.embedded.execution.processes import MARKER, Reaper, signal_group
from minicluster.embedded.log import ERR, INFO, Log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NOT_INHERITED = {
    *("PMI_FD", "PMI_RANK", "PMI_SIZE", "FLUX_JOB_ID", "FLUX_JOB_SIZE", "FLUX_JOB_NNODES", "FLUX_JOB_TMPDIR"),
    *("FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_KVS_NAMESPACE", "FLUX_PROXY_REMOTE", MARKER),
}


def words(arguments: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the command to execute: one argument is a line for the shell, several are the command itself."""
    shell = environ.get("SHELL") or "/bin/sh"
    if not arguments:
        return [shell]
    return [shell, "-c", arguments[0]] if len(arguments) == 1 else list(arguments)


class InitialProgram:
    """Runs the initial program in a process group of its own; `ended` gives its exit code."""

    def __init__(self, arguments: Sequence[str], uri: str, log: Log, reaper: Reaper) -> None:
        self._arguments = arguments
        self._uri = uri
        self._log = log
        self._reaper = reaper
        self._pid = 0
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def start(self) -> None:
        """Start the program; where it cannot be executed, its exit code is 127 (not found) or 126."""
        self._began = time.monotonic()
        env = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
        argv = words(self._arguments, os.environ)
        try:
            process = subprocess.Popen(argv, env={**env, "FLUX_URI": self._uri}, process_group=0)
        except OSError as error:
            self._log(ERR, f"rc2.0: {argv[0]}: {error.strerror}")
            self.ended.set_result(127 if isinstance(error, FileNotFoundError) else 126)
            return
        process.returncode = 0  # the Reaper collects it; Popen must not
        self._pid = process.pid
        self._foreground(process.pid)
        self._reaper.watch(process.pid, self._exited)

    def _foreground(self, group: int) -> None:
        """Make process group `group` the terminal's foreground group, where this broker has a terminal."""
        with contextlib.suppress(OSError):
            if sys.stdin is not None and os.isatty(0) and os.tcgetpgrp(0) in {os.getpgrp(), self._pid}:
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                os.tcsetpgrp(0, group)

    def _exited(self, status: int) -> None:
        self._foreground(os.getpgrp())
        code = os.waitstatus_to_exitcode(status)
        code = code if code >= 0 else 128 - code
        command = " ".join(self._arguments) or words((), os.environ)[0]
        took = time.monotonic() - self._began
        self._log(ERR if code else INFO, f"rc2.0: {command} Exited (rc={code}) {took:.1f}s")
        self.ended.set_result(code)

    async def stop(self, grace: float) -> None:
        """End the program: SIGTERM to its group, SIGKILL after `grace` seconds."""
        for signum, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
            if not self._pid or self.ended.done():
                return
            signal_group(self._pid, signum)
            if signum == signal.SIGTERM:
                signal_group(self._pid, signal.SIGCONT)
            await asyncio.wait([self.ended], timeout=seconds)
