"""`minicluster`: the command line as a process, with its exit codes and its errors in plain words."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

OURS = ("minicluster.", "broker_config.", "queue_policies.")
"""Errors of these packages are written for people: they are shown without a traceback."""


def run() -> None:
    """Run the command line, and end with its exit code."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules load has nothing to clean up
    from minicluster.cli.commands import app

    signal.signal(signal.SIGINT, before)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the interpreter flushes at its end has no reader
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        if not type(error).__module__.startswith(OURS):
            raise
        sys.exit(_told(error))


def _told(error: Exception) -> int:
    """Print an error of ours, and return the exit code for it."""
    with contextlib.suppress(OSError):  # a terminal that was closed
        for line in str(error).splitlines():
            print(f"minicluster: {line}" if not line.startswith(" ") else line, file=sys.stderr, flush=True)
    return int(getattr(error, "exit_code", 1))
