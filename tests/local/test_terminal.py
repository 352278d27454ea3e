"""On a terminal: progress, Ctrl-C, a shell of one's own, and the terminal's end. Each on a real pty."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from local_machine import PROGRAM, Machine, document

from minicluster.embedded.client import readable

if TYPE_CHECKING:
    from pathlib import Path

INTERRUPT = "\x03"
# Ended by the signal itself: dash may lose one that comes while it forks, and Python's own handler only
# notes one that comes just before the sleep begins, which then lasts.
SLEEPER = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("start" "ed")
time.sleep(600)
""".strip().replace("\n", "; ")


@dataclass
class Terminal:
    """A terminal with `minicluster` on it."""

    pid: int
    descriptor: int
    seen: bytes = b""

    def until(self, words: str, deadline: float = 20.0) -> None:
        """Read until these words were shown."""
        end = time.monotonic() + deadline
        while words.encode() not in self.seen:
            assert time.monotonic() < end, f"waited for {words!r}, saw {self.seen!r}"
            self._read()

    def type(self, text: str) -> None:
        """Press keys; what was shown before counts no more."""
        self.seen = b""
        os.write(self.descriptor, text.encode())

    def hang_up(self) -> int:
        """Close the terminal, and return the exit code."""
        os.close(self.descriptor)
        return self._code()

    def end(self) -> int:
        """Read to the end, and return the exit code."""
        while self._read():
            pass
        os.close(self.descriptor)
        return self._code()

    def _read(self) -> bool:
        if not readable([self.descriptor], 0.1):
            return True
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:  # EIO: nobody has it open any more
            data = b""
        self.seen += data
        return bool(data)

    def _code(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _terminal(
    machine: Machine, *arguments: str | Path, columns: int = 80, ignores: int = signal.SIGUSR1
) -> Terminal:
    program = [*PROGRAM, *map(str, arguments)]
    environment = {**os.environ, "MINICLUSTER_RUNTIME_DIR": str(machine.root), "SHELL": "/bin/sh"}
    environment |= {"PS1": "ready$ ", "TERM": "xterm", "NO_COLOR": "", **machine.environment}
    pid, descriptor = pty.fork()
    if pid == 0:
        signal.signal(ignores, signal.SIG_IGN)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        os.execve(program[0], program, environment)
    return Terminal(pid, descriptor)


def test_notices_never_mix_with_what_the_command_writes(embedded: Machine, tmp_path: Path) -> None:
    """Whole lines, without a colour or a moving cursor, on a terminal as well."""
    path = document(tmp_path, command="echo out")
    terminal = _terminal(embedded, "run", path, "--engine", "embedded", columns=20)
    assert terminal.end() == 0
    assert b"out\r\n" in terminal.seen.splitlines(keepends=True)
    assert b"minicluster: starting 2 brokers\r\n" in terminal.seen
    assert b"\x1b" not in terminal.seen


def test_ctrl_c_twice_while_it_comes_up(embedded: Machine, tmp_path: Path) -> None:
    """The second does not disturb the clean-up that the first began."""
    path = document(tmp_path, commands={"pre": 'trap "" TERM INT; sleep 600'}, command="true")
    terminal = _terminal(embedded, "run", path, "--engine", "embedded")
    terminal.until("starting 2 brokers")
    terminal.type(INTERRUPT + INTERRUPT)
    assert terminal.end() in {130, -2}
    assert b"Traceback" not in terminal.seen
    assert embedded.left() == ([], [])


def test_ctrl_c_in_a_shell_ends_what_runs_there(embedded: Machine, tmp_path: Path) -> None:
    """The cluster goes on, and the shell's exit code is the run's."""
    path = document(tmp_path, spec={"interactive": True})
    terminal = _terminal(embedded, "run", path, "--engine", "embedded")
    terminal.until("ready$ ")
    terminal.type(f"'{sys.executable}' -c '{SLEEPER}'\n")
    terminal.until("started")
    terminal.type(INTERRUPT)
    terminal.until("ready$ ")
    terminal.type("flux run -n1 echo al''ive; exit 4\n")
    terminal.until("alive")
    assert terminal.end() == 4
    assert embedded.left() == ([], [])


@pytest.mark.parametrize("interactive", [False, True], ids=["command", "shell"])
def test_a_terminal_that_is_closed_ends_the_run(
    embedded: Machine, tmp_path: Path, *, interactive: bool
) -> None:
    command = "" if interactive else "sh -c 'echo on; sleep 600'"
    path = document(tmp_path, spec={"interactive": interactive}, command=command)
    terminal = _terminal(embedded, "run", path, "--engine", "embedded")
    terminal.until("ready$ " if interactive else "on\r\n")
    assert terminal.hang_up() == 129
    assert embedded.left() == ([], [])


def test_a_shell_that_notices_the_end_of_its_terminal_before_the_signal_comes(
    embedded: Machine, tmp_path: Path
) -> None:
    """Here none comes at all."""
    path = document(tmp_path, spec={"interactive": True})
    terminal = _terminal(embedded, "run", path, "--engine", "embedded", ignores=signal.SIGHUP)
    terminal.until("ready$ ")
    assert terminal.hang_up() == 129
    assert embedded.left() == ([], [])


def test_a_terminal_that_is_closed_while_it_is_prepared(embedded: Machine, tmp_path: Path) -> None:
    """Also where a module that is being imported turns the interruption into an ImportError."""
    terminal = _terminal(embedded, "run", document(tmp_path, command="sleep 600"), "--engine", "embedded")
    terminal.until("commands run on this machine")
    assert terminal.hang_up() == 129
    assert embedded.left() == ([], [])


def test_sigterm_ends_a_run_with_a_shell(embedded: Machine, tmp_path: Path) -> None:
    path = document(tmp_path, spec={"interactive": True})
    terminal = _terminal(embedded, "run", path, "--engine", "embedded")
    terminal.until("ready$ ")
    os.kill(terminal.pid, 15)
    assert terminal.end() == 143
    assert b"Traceback" not in terminal.seen
    assert embedded.left() == ([], [])
