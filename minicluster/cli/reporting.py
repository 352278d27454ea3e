"""How a run tells a person how it goes: on standard error, so that standard output is the command's own."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from rich.status import Status

    from minicluster.local.records import Times


class PlainReporter:
    """Lines, each beginning with `minicluster:`; for logs and pipes."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.started()

    def notice(self, text: str) -> None:
        """Something that a person should know."""
        if not self._quiet:
            print(f"minicluster: {text}", file=sys.stderr, flush=True)

    def bring_up(self, joined: int, size: int) -> None:
        """So many brokers have joined."""
        if joined in {0, size}:
            self.notice(f"{joined} of {size} brokers have joined" if joined else f"starting {size} brokers")

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
        brokers = "1 broker" if size == 1 else f"{size} brokers"
        self.notice(
            f"{brokers} up in {times.bring_up:.2f} s, ran {times.run:.2f} s,"
            f" torn down in {times.tear_down:.2f} s"
        )


class TerminalReporter(PlainReporter):
    """The same on a terminal, where the bring-up is one line that changes."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._status: Status | None = None

    def bring_up(self, joined: int, size: int) -> None:
        """So many brokers have joined."""
        if self._quiet:
            return
        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._status = Status("", console=Console(stderr=True))
            self._status.start()
        bar = "━" * round(20 * joined / max(size, 1))
        self._status.update(f"brokers [green]{bar:<20}[/] {joined} of {size}")

    def started(self) -> None:
        """The bring-up is over: the line goes."""
        if self._status is not None:
            self._status.stop()
            self._status = None


def reporter(*, quiet: bool = False) -> PlainReporter:
    """Return the reporter for where standard error goes."""
    return TerminalReporter(quiet=quiet) if sys.stderr.isatty() else PlainReporter(quiet=quiet)
