"""A helper process of this machine as a channel: its standard input and output."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from typing import IO, TYPE_CHECKING, cast

from minicluster.broker_link.errors import InstanceGone
from minicluster.instance.links.lines import STOP_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence


class ProcessChannel:
    """A process started from `words`; `called` names it in messages. Raises InstanceGone."""

    def __init__(self, words: Sequence[str], called: str) -> None:
        self._called = called
        self._lock = threading.Lock()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = self._start(words)
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)

    def _start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, "PYTHONSAFEPATH": "1"},
                start_new_session=True,  # Ctrl-C is for us to handle
            )
        except OSError as error:
            self._errors.close()
            raise InstanceGone(f"cannot start {' '.join(words[:2])}: {error.strerror}") from error

    def write(self, data: bytes) -> None:
        """Send."""
        self._requests.write(data)
        self._requests.flush()

    def lines(self) -> Generator[bytes]:
        """Yield each line that the process writes."""
        with self._answers:
            yield from self._answers

    def how_ended(self) -> str:
        """Return how the process ended, with the end of what it wrote to standard error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_TIMEOUT)
        with self._lock:
            if self._errors.closed:
                return "this connection was closed"
            self._errors.seek(0)
            words = self._errors.read()[-2000:].decode(errors="replace").strip()
        return f"{self._called} ended with {self._process.returncode}" + (f": {words}" if words else "")

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._lock:
            self._errors.close()
