"""A shell on a terminal, into which keys are pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.embedded.client import readable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEADLINE = 240.0
"""Seconds, on a busy machine."""
_QUESTIONS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?6c", b"\x1b[0c": b"\x1b[?6c"}
"""What a shell asks a terminal, and the answers: fish waits for them."""
_MOVES = re.compile(rb"\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07|[()][0-9B]|[=>])")


@dataclass
class ShellTerminal:
    """A terminal with a shell on it."""

    pid: int
    descriptor: int
    seen: bytes = b""

    def press(self, keys: str) -> None:
        """Press keys; what was shown before counts no more."""
        self.seen = b""
        os.write(self.descriptor, keys.encode())

    def until(self, words: str) -> None:
        """Read until these words were shown."""
        end = time.monotonic() + DEADLINE
        while words.encode() not in _MOVES.sub(b"", self.seen):
            assert time.monotonic() < end, f"waited for {words!r}, saw {self.seen!r}"
            self._read()

    def close(self) -> None:
        """Close the terminal, which ends the shell."""
        os.close(self.descriptor)
        os.waitpid(self.pid, 0)

    def _read(self) -> None:
        if not readable([self.descriptor], 0.1):
            return
        data = os.read(self.descriptor, 65536)
        for question, answer in _QUESTIONS.items():
            if question in data:
                os.write(self.descriptor, answer)
        self.seen += data


def opened(program: Sequence[str], environment: Mapping[str, str]) -> ShellTerminal:
    """Start a shell on a terminal that is wide enough for every line."""
    pid, descriptor = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, 200, 0, 0))
        os.execvpe(program[0], program, environment)
    return ShellTerminal(pid, descriptor)
