"""The owner's side of the guardian: start it, and have it start, stop and list the cluster's processes."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from typing import Any, Protocol

from tests.devcluster.errors import ComponentError, GuardianError
from tests.devcluster.state import MARK, State

PROGRAM = Path(__file__).with_name("guardian.py")
SOCKET = "guardian"
LOG_LINES = 15  # of a failed program's log, quoted in the error
TIMEOUT = 10.0  # seconds for a program to end by itself
SECONDS = 120.0  # for an answer: the guardian may wait TIMEOUT for a program before it


class OpenFile(Protocol):
    """Something open, that the guardian is to keep open."""

    def fileno(self) -> int:
        """Return the descriptor."""

    def close(self) -> None:
        """Close it here."""


@dataclass(frozen=True, slots=True)
class Guardian:
    """A handle on the guardian of the cluster in a directory; also for a process that did not start it."""

    directory: Path
    process: subprocess.Popen[bytes] | None = field(default=None, compare=False)

    @property
    def logs(self) -> Path:
        """The folder of the programs' outputs, `<name>.log` each."""
        return self.directory / "logs"

    def start(
        self, name: str, argv: Sequence[str | Path], environment: Mapping[str, str] | None = None
    ) -> int:
        """Start a program by absolute path, in the cluster's directory, and return its pid."""
        request = {
            "do": "start",
            "name": name,
            "argv": [str(word) for word in argv],
            "log": str(self.logs / f"{name}.log"),
            "environment": {**(environment or {}), MARK: str(self.directory)},
        }
        return int(self.ask(request)["pid"])

    def stop(self, name: str, signal: Signals = Signals.SIGTERM, seconds: float = TIMEOUT) -> None:
        """End a program; returns when it is gone: killed, if it has not ended by then."""
        self.ask({"do": "stop", "name": name, "signal": int(signal), "seconds": seconds})

    def pids(self) -> dict[str, int]:
        """List the programs that run."""
        return {
            name: child["pid"] for name, child in self.ask({"do": "list"}).items() if child["ended"] is None
        }

    def check(self) -> None:
        """Raise ComponentError if a program ended that was not stopped."""
        for name, child in self.ask({"do": "list"}).items():
            if child["ended"] is not None:
                raise ComponentError(
                    f"{name} {ending(child['ended'])}; the end of its log:\n{self.tail(name)}"
                )

    def tail(self, name: str) -> str:
        """Quote the end of a program's log."""
        with contextlib.suppress(OSError):
            return "\n".join(
                (self.logs / f"{name}.log").read_text(errors="replace").splitlines()[-LOG_LINES:]
            )
        return "(no log)"

    def end(self) -> None:
        """End every process and remove the directory; a second call does nothing."""
        with contextlib.suppress(GuardianError):
            self.ask({"do": "end"})
        if self.process is not None:
            self.process.wait(SECONDS)

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request and return the answer."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(SECONDS)
                connection.connect(str(self.directory / SOCKET))
                with connection.makefile("rwb") as stream:
                    stream.write(json.dumps(request).encode() + b"\n")
                    stream.flush()
                    answer: dict[str, Any] = json.loads(stream.readline() or b"{}")
        except OSError as error:
            raise GuardianError(f"the guardian of {self.directory} does not answer: {error}") from error
        if "error" in answer:
            raise GuardianError(
                f"the guardian of {self.directory} refused {request['do']}: {answer['error']}"
            )
        return answer


def ending(status: int) -> str:
    """Return how a process ended, from its wait status."""
    if os.WIFSIGNALED(status):
        return f"was killed by {Signals(os.WTERMSIG(status)).name}"
    return f"exited with {os.waitstatus_to_exitcode(status)}"


def launch(state: State, kept_open: Sequence[OpenFile], *, detached: bool = False) -> Guardian:
    """Start the guardian of a new cluster; it takes over the lock and what else is to stay open.

    It ends the cluster with this process, unless detached.
    """
    (state.directory / "logs").mkdir(mode=0o700)
    with (
        socket.socket(socket.AF_UNIX) as listener,
        (state.directory / "logs" / "guardian.log").open("wb") as log,
    ):
        listener.bind(str(state.directory / SOCKET))
        listener.listen(128)  # here, so that it answers from the first moment
        kept = [state.lock, *(one.fileno() for one in kept_open)]
        argv = [sys.executable, "-I", "-S", str(PROGRAM), "--directory", str(state.directory)]
        argv += ["--owner", "0" if detached else str(os.getpid()), "--listener", str(listener.fileno())]
        process = subprocess.Popen(
            [*argv, "--held", *map(str, kept)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[listener.fileno(), *kept],
            start_new_session=True,
        )
    os.close(state.lock)
    for one in kept_open:
        one.close()
    if detached:
        process.returncode = 0  # this process will not wait for it
        return Guardian(state.directory)
    return Guardian(state.directory, process)
