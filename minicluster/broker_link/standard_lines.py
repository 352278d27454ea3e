"""A link in lines over standard input and output: what the programs beside a broker have in common.

They are `flux_helper` for real Flux, and the relay of the embedded instance.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from typing import TYPE_CHECKING

from minicluster.broker_link.lines_server import LineLimits, LinesBroken, LinesServer
from minicluster.broker_link.outgoing_lines import OutgoingLines

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from minicluster.broker_link.link import LeadLink

LIMITS = LineLimits(line_bytes=1 << 30, requests=1 << 20, own_threads=1000)
"""Such a program has one client, who started it: above this is only what is surely a mistake."""
_INPUT, _OUTPUT = 0, 1
_CHUNK = 1 << 16


def serve(connect: Callable[[], LeadLink]) -> NoReturn:
    """Serve the client at standard input until it hangs up, and exit with 0; with 1 where the broker ended.

    `connect` makes links, each in the thread that uses it. The process ends without the interpreter's
    clean-up, which takes as long as a sixth of a relay's start, and would free what a thread may still use.
    """
    output = os.dup(_OUTPUT)
    os.dup2(2, _OUTPUT)  # what libraries print must not get between the lines
    program = _Program(connect, output)
    try:
        program.run()
    except (LinesBroken, BrokenPipeError) as error:
        program.break_off(str(error))
    code = program.close()
    sys.stderr.flush()
    os._exit(code)


class _Program:
    """One client, in the main thread; others call the broker."""

    def __init__(self, connect: Callable[[], LeadLink], output: int) -> None:
        self._output = output
        self._awake, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self._outbox = OutgoingLines(self._wake)
        self._is_over = False
        self._lines = LinesServer(
            connect,
            self._outbox,
            lambda _topic, _payload: "",
            self._end,
            os.environ,
            os.getcwd(),  # noqa: PTH109 - pathlib costs start time
            LIMITS,
        )

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full: it is awake
            os.write(self._waker, b"x")

    def _end(self) -> None:
        self._is_over = True
        self._wake()

    def run(self) -> None:
        """Serve until either end hangs up. Raises LinesBroken, BrokenPipeError."""
        os.read(self._awake, 1)  # the greeting, or why there is none: also where the input ends at once
        self._send()
        poll = select.poll()
        poll.register(_INPUT, select.POLLIN)
        poll.register(self._awake, select.POLLIN)
        while not self._is_over:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._awake in ready:
                os.read(self._awake, 4096)
            self._send()
            if _INPUT in ready:
                data = os.read(_INPUT, _CHUNK)
                if not data:
                    return
                self._lines.take(data)

    def _send(self) -> None:
        """Write what there is. While its reader is slow nothing else is done here."""
        while self._outbox.size:
            data = self._outbox.take(_CHUNK)
            while data:
                data = data[os.write(self._output, data) :]
            if self._outbox.has_drained():
                self._lines.drained()

    def break_off(self, why: str) -> None:
        """Hang up for this reason."""
        self._outbox.put({"gone": why})
        self._is_over = True

    def close(self) -> int:
        """End the threads, send what is left, and return the exit code."""
        self._lines.close()
        try:
            self._send()
        except BrokenPipeError:
            return 1
        return 1 if self._is_over else 0
