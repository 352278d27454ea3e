"""`minicluster` as processes that are forked from one with its modules loaded: imports cost half a second.

They are processes of their own in all but how they begin. Tests of pages, of terminals, and of what runs in
pods start it as users do.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.connection import Connection

_CONTEXT = multiprocessing.get_context("forkserver")
# Not the official client: it reads the environment as it loads.
_LOADED = (
    "minicluster.cli.commands",
    "minicluster.local.launch",
    "minicluster.local.run",
    "minicluster.operator.process",
    "minicluster.remote.session",
)
_CONTEXT.set_forkserver_preload(list(_LOADED))
_CHUNK = 1 << 16
_STANDARD_STREAMS = range(3)


class Forked:
    """A running `minicluster`, with the methods of subprocess.Popen that tests use; threads may share it."""

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], *streams: Connection | Path
    ) -> None:
        """Start it with standard input, output and error: ends of pipes, or files, which are appended to."""
        self.args = ["minicluster", *words]
        arguments = (self.args, dict(environment), Path.cwd(), streams)
        self._process = _CONTEXT.Process(target=_begin, args=arguments, daemon=True)
        self._turn = threading.Lock()  # its exit code can be read once
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return int(self._process.pid or 0)

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self.poll()

    def poll(self) -> int | None:
        """Return its exit code, None while it runs."""
        with self._turn:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        with self._turn:
            self._process.join(timeout)
            code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended: then its process id may be another's."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a word."""
        self.send_signal(signal.SIGKILL)


def completed(
    words: Sequence[str], environment: Mapping[str, str], given: str = "", timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run it to its end with this on its standard input. Raises subprocess.TimeoutExpired."""
    (stdin, to_stdin), *read_ends = [_CONTEXT.Pipe(duplex=False) for _ in _STANDARD_STREAMS]
    (from_stdout, stdout), (from_stderr, stderr) = read_ends
    process = Forked(words, environment, stdin, stdout, stderr)
    for theirs in (stdin, stdout, stderr):
        theirs.close()
    with ThreadPoolExecutor(3) as pool:
        pool.submit(_feed, to_stdin, given)
        texts = [pool.submit(_text, end) for end in (from_stdout, from_stderr)]
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(process.args, code, *(each.result() for each in texts))


def _feed(end: Connection, given: str) -> None:
    with end:
        try:
            os.write(end.fileno(), given.encode())
        except BrokenPipeError:
            return  # it does not read


def _text(end: Connection) -> str:
    with end:
        return b"".join(iter(lambda: os.read(end.fileno(), _CHUNK), b"")).decode(errors="surrogateescape")


def _begin(
    words: list[str], environment: dict[str, str], directory: Path, streams: tuple[Connection | Path, ...]
) -> None:
    """Become `minicluster`: what it finds is what a process of its own would find."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    for number, stream in zip(_STANDARD_STREAMS, streams, strict=True):
        os.dup2(_append(stream) if isinstance(stream, Path) else stream.fileno(), number)
    sys.stdin = open(0)  # noqa: SIM115 - multiprocessing has put /dev/null there
    sys.argv = words

    from minicluster.cli.main import run  # noqa: PLC0415 - only here it is loaded already

    run()


def _append(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
