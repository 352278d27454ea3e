"""Ends a broker's tasks when the broker itself was killed: a small shell that waits on a pipe.

Tasks lead their own sessions, so nothing else ties them to their broker. Where the pipe ends without a line,
the broker died. Then the shell kills every process with the broker's MARKER in its environment, and
removes the broker's control groups.
"""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING

from minicluster.embedded.execution.processes import MARKER

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCRIPT = """\
read word
[ "$word" = done ] && exit
for round in 1 2 3; do
    for file in $(grep -ls "$1" /proc/[0-9]*/environ 2>/dev/null); do
        pid=${file#/proc/}
        kill -KILL "${pid%/environ}" 2>/dev/null
    done
done
shift
for round in 1 2 3 4 5 6 7 8 9 10; do
    left=
    for group in "$@"; do
        rmdir "$group"/*/ "$group" 2>/dev/null
        [ -d "$group" ] && left=1
    done
    [ -z "$left" ] && exit
    sleep 0.2
done
"""


class Guard:
    """The guard of one broker, started with the first task; `marker` is the broker's part of MARKER."""

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, groups: Sequence[str] = ()) -> None:
        """Begin to watch over this process, which made these directories of control groups."""
        if self._process is None:
            self._process = subprocess.Popen(
                [
                    "/bin/sh",
                    "-c",
                    _SCRIPT,
                    "flux-guard",
                    f"{MARKER}={self._marker.replace('.', '[.]')}[.]",
                    *groups,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                start_new_session=True,
                bufsize=0,
            )

    def close(self) -> None:
        """End the guard, where the broker ends in order."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(b"done\n")
                self._process.stdin.close()
            self._process.wait()
