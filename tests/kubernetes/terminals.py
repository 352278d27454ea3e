"""A terminal of the test's own, with a program on it."""

import fcntl
import os
import pty
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minicluster.embedded.client import readable


@dataclass
class Terminal:
    """What is shown since the last key was pressed is in `seen`."""

    pid: int
    descriptor: int
    own: int
    seen: bytes = b""

    @classmethod
    def start(
        cls, words: Sequence[str], environment: Mapping[str, str], *, columns: int, rows: int
    ) -> "Terminal":
        """Start a program on a new terminal."""
        descriptor, own = pty.openpty()
        fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        pid = os.fork()
        if pid == 0:
            os.close(descriptor)
            os.setsid()
            fcntl.ioctl(own, termios.TIOCSCTTY, 0)
            for stream in range(3):
                os.dup2(own, stream)
            os.execve(words[0], list(words), dict(environment))
        return cls(pid, descriptor, own)

    def until(self, *words: str, deadline: float = 30.0) -> None:
        """Read until one of these was shown."""
        end = time.monotonic() + deadline
        while not any(each.encode() in self.seen for each in words):
            assert time.monotonic() < end, f"waited for {words}, saw {self.seen!r}"
            self._read()

    def until_answered(self, keys: str, words: str, deadline: float = 30.0) -> None:
        """Press keys, again and again, until this is shown."""
        end = time.monotonic() + deadline
        self.type(keys)
        while words.encode() not in self.seen:
            assert time.monotonic() < end, f"waited for {words!r}, saw {self.seen!r}"
            if not self._read(0.5):
                os.write(self.descriptor, keys.encode())

    def type(self, text: str) -> None:
        """Press keys."""
        self.seen = b""
        os.write(self.descriptor, text.encode())

    def resize(self, *, columns: int, rows: int) -> None:
        """Make it larger or smaller."""
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def signal(self, signum: int) -> None:
        """Send the program a signal."""
        os.kill(self.pid, signum)

    def is_cooked(self) -> bool:
        """Whether it shows what is typed, and takes lines and Ctrl-C for itself, as a shell expects."""
        flags = termios.tcgetattr(self.own)[3]
        wanted = termios.ECHO | termios.ICANON | termios.ISIG
        return bool(flags & wanted == wanted)

    def end(self, *, keep: bool = False) -> int:
        """Wait for the program's end, and return its exit code."""
        end = time.monotonic() + 30
        while (found := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            self._read()
        if not keep:
            self.close()
        return os.waitstatus_to_exitcode(found[1])

    def close(self) -> None:
        """Take it away."""
        os.close(self.own)
        os.close(self.descriptor)

    def _read(self, seconds: float = 0.1) -> bool:
        if not readable([self.descriptor], seconds):
            return False
        self.seen += os.read(self.descriptor, 65536)
        return True
