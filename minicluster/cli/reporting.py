"""How a run tells a person how it goes: on standard error, so that standard output is the command's own."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.backends.records import Times


class PlainReporter:
    """Lines, each beginning with `minicluster:`; on a terminal too, to which the command writes as well."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def notice(self, text: str) -> None:
        """Something that a person should know."""
        if not self._quiet:
            _write(f"minicluster: {text}\n")

    def bring_up(self, joined: int, size: int) -> None:
        """So many brokers have joined."""
        if joined in {0, size}:
            joining = f"{joined} of {_brokers(size)} {'has' if size == 1 else 'have'} joined"
            self.notice(joining if joined else f"starting {_brokers(size)}")

    def started(self) -> None:
        """The bring-up is over."""

    def errors(self, data: bytes) -> None:
        """What the command wrote to its standard error, unchanged and without a buffer between."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(2, view) :]
            except OSError:
                return

    def ended(self, times: Times, size: int) -> None:
        """It is over, and all is cleaned up."""
        self.notice(
            f"{_brokers(size)} up in {times.bring_up:.2f} s, ran {times.run:.2f} s,"
            f" torn down in {times.tear_down:.2f} s"
        )


def print_warning(text: str) -> None:
    """Print a warning to standard error."""
    _write(f"minicluster: warning: {text}\n")


def write_line(line: bytes) -> None:
    """Write a line of a log as it is."""
    sys.stdout.buffer.write(line)
    sys.stdout.flush()


def _brokers(number: int) -> str:
    return "1 broker" if number == 1 else f"{number} brokers"


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # a terminal that was closed must not stop the clean-up
        sys.stderr.write(text)
        sys.stderr.flush()
