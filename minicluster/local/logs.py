"""Reading the logs that the pods wrote."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from minicluster.local import state_file
from minicluster.local.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from minicluster.local.records import ClusterState
    from minicluster.local.state_directory import ClusterDirectory

POLL_INTERVAL = 0.1
"""Seconds."""


def lines(
    cluster: ClusterDirectory, state: ClusterState, rank: int | None, *, follow: bool
) -> Iterator[bytes]:
    """Yield the lines of one broker's log, or those of all logs, each behind its pod's name.

    With `follow` it goes on until the cluster ends. Raises UsageProblem where there is no such log.
    """
    with contextlib.ExitStack() as opened:
        readers = [
            opened.enter_context(contextlib.closing(_Reader(path, b"" if rank is not None else _label(path))))
            for path in _paths(cluster, state, rank)
        ]
        while True:
            for reader in readers:
                yield from reader.more()
            if not follow or not state_file.is_alive(state):
                return
            time.sleep(POLL_INTERVAL)


def _paths(cluster: ClusterDirectory, state: ClusterState, rank: int | None) -> list[Path]:
    if rank is None:
        return sorted(cluster.logs.glob("*.log"))
    path = cluster.log(f"{state.name}-{rank}")
    if not path.exists():
        raise UsageProblem(
            f"--rank {rank}: cluster {state.name} has no such broker; it has ranks 0-{state.size - 1}"
        )
    return [path]


def _label(path: Path) -> bytes:
    return path.stem.encode() + b": "


class _Reader:
    """Reads one log: what was added since the last reading, also when the log was rotated."""

    def __init__(self, path: Path, label: bytes) -> None:
        self._path = path
        self._label = label
        self._file = path.open("rb")

    def more(self) -> Iterator[bytes]:
        """Yield the lines that were added."""
        while True:
            for line in self._file:
                yield self._label + (line if line.endswith(b"\n") else line + b"\n")
            if not self._replaced():
                return
            self._file.close()
            self._file = self._path.open("rb")

    def close(self) -> None:
        """Read no more."""
        self._file.close()

    def _replaced(self) -> bool:
        try:
            return self._path.stat().st_ino != _inode(self._file.fileno())
        except OSError:
            return False


def _inode(descriptor: int) -> int:
    return os.fstat(descriptor).st_ino
