"""The output files of a job, which the job's first rank writes for all ranks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.embedded.execution.rank_launch import RankLaunch

_OPEN_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
STREAMS = ("stdout", "stderr")


class OutputFiles:
    """The output files of one job, named by the templates of its shell options."""

    def __init__(self, rank_launch: RankLaunch, tmpdir: Path) -> None:
        self._rank_launch = rank_launch
        self._tmpdir = str(tmpdir)
        self._cwd = ""
        self._open: dict[str, int] = {}

    def target(self, stream: str) -> str | None:
        """Return the file template of `stream`; stderr follows stdout where it has none of its own."""
        output = self._rank_launch.options.get("output", {})
        options = output.get(stream) or (output.get("stdout", {}) if stream == "stderr" else {})
        return options.get("path") if options.get("type") == "file" else None

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield the streams that go to files, each with the name that the job's output shows."""
        for stream in STREAMS:
            target = self.target(stream)
            if target is not None:
                yield stream, self._rank_launch.expand(target, None, self._tmpdir)

    def truncate(self, cwd: str) -> None:
        """Create or empty the files of the job's first tasks. Raises OSError."""
        self._cwd = cwd
        for task in range(self._rank_launch.size):
            for stream in STREAMS:
                self._descriptor(task, stream)

    def write(self, task: int, stream: str, data: bytes) -> str | None:
        """Append to the stream's file. Return the error, if any, after which the file gets no more output."""
        descriptor = -1
        try:
            descriptor = self._descriptor(task, stream)
            if descriptor < 0:
                return None
            if self._rank_launch.options["output"].get(stream, {}).get("label"):
                data = b"".join(b"%d: %s" % (task, line) for line in data.splitlines(keepends=True))
            while data:
                data = data[os.write(descriptor, data) :]
        except OSError as error:
            path = self._path(task, stream)
            self._open[path or ""] = -1
            if descriptor >= 0:
                os.close(descriptor)
            return f"output file {path}: {error.strerror}"
        return None

    def close(self) -> None:
        """Close all files."""
        for descriptor in self._open.values():
            if descriptor >= 0:
                os.close(descriptor)

    def _descriptor(self, task: int, stream: str) -> int:
        """Return the descriptor, -1 without a file; the file of a further task is opened here."""
        path = self._path(task, stream)
        if path is None:
            return -1
        if path not in self._open:
            self._open[path] = os.open(path, _OPEN_FLAGS, 0o666)
        return self._open[path]

    def _path(self, task: int, stream: str) -> str | None:
        target = self.target(stream)
        if target is None:
            return None
        return str(Path(self._cwd, self._rank_launch.expand(target, task, self._tmpdir)))
