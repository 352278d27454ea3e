"""Shows the progress of a command on standard error, so that standard output is the program's own."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.backends.records import Times


class PlainReporter:
    """A `Reporter` that writes lines with `minicluster:` before them. Programs may share its terminal."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def notice(self, text: str) -> None:
        """Write a message that the user should read."""
        if not self._quiet:
            print_notice(text)

    def bring_up(self, joined: int, size: int) -> None:
        """Write how many brokers start, and that all have joined."""
        if joined in {0, size}:
            joining = f"{joined} of {_brokers(size)} {'has' if size == 1 else 'have'} joined"
            self.notice(joining if joined else f"starting {_brokers(size)}")

    def started(self) -> None:
        """Write nothing: `bring_up` has written that all have joined."""

    def errors(self, data: bytes) -> None:
        """Copy what the command wrote to its standard error, unchanged and without a buffer."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(2, view) :]
            except OSError:
                return

    def ended(self, times: Times, size: int) -> None:
        """Write how long the parts of the run took."""
        self.notice(
            f"{_brokers(size)} up in {times.bring_up:.2f} s, ran {times.run:.2f} s,"
            f" torn down in {times.tear_down:.2f} s"
        )


def print_notice(text: str) -> None:
    """Print a line about the command's progress to standard error."""
    _write(f"minicluster: {text}\n")


def print_warning(text: str) -> None:
    """Print a warning to standard error."""
    print_notice(f"warning: {text}")


def write_line(line: bytes) -> None:
    """Write a line of a log as it is."""
    sys.stdout.buffer.write(line)
    sys.stdout.flush()


def _brokers(number: int) -> str:
    return "1 broker" if number == 1 else f"{number} brokers"


def _write(text: str) -> None:
    from broker_config.formats.printable import printable_lines

    with contextlib.suppress(OSError, ValueError):  # a terminal that was closed must not stop the clean-up
        sys.stderr.write(printable_lines(text))
        sys.stderr.flush()
