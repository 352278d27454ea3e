"""The output of a job's tasks on this rank: to the lead, or into the job's files.

The job's first rank writes the files for all ranks. The others send their output there through the lead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.execution.messages import (
    FileWritten,
    JobFailed,
    OutputEnded,
    OutputRedirected,
    TaskOutput,
)
from minicluster.embedded.execution.rank.output_files import OutputFiles
from minicluster.embedded.execution.rank.output_window import OutputWindow
from minicluster.embedded.execution.rank.streams import OutputPump

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from minicluster.embedded.execution.messages import SendToLead, WriteFile
    from minicluster.embedded.execution.rank_launch import RankLaunch


class OutputStreams:
    """Reads the pipes of the tasks."""

    def __init__(self, rank_launch: RankLaunch, tmpdir: Path, send: SendToLead) -> None:
        self._rank_launch = rank_launch
        self._send = send
        self._files = OutputFiles(rank_launch, tmpdir)
        self.window = OutputWindow()

    @property
    def writes_for_others(self) -> bool:
        """Whether other ranks may send output for this rank's files."""
        rank_launch = self._rank_launch
        many = rank_launch.nodes > 1 or rank_launch.credentials is not None
        return rank_launch.node == 0 and many and bool(self._files.target("stdout"))

    def open(self, cwd: str) -> None:
        """Create or empty the output files, and report which streams go there. Raises OSError."""
        if self._rank_launch.node == 0:
            for stream, path in self._files.shown():
                job, size = self._rank_launch.id, self._rank_launch.size
                message = OutputRedirected(
                    type="exec-redirect", job=job, tasks=size, stream=stream, path=path
                )
                self._send(message)
            self._files.truncate(cwd)

    def follow(self, task: int, stream: str, descriptor: int, ended: Callable[[], None]) -> None:
        """Read a task's pipe, and call `ended` at its end."""

        def at_end() -> None:
            if self._files.target(stream) is None:
                self._send(OutputEnded(type="exec-eof", job=self._rank_launch.id, task=task, stream=stream))
            ended()

        self.window.add(OutputPump(descriptor, lambda data: self._emit(task, stream, data), at_end))

    def _emit(self, task: int, stream: str, data: bytes) -> None:
        to_file = self._files.target(stream) is not None
        if to_file and self._rank_launch.node == 0:
            self._write(task, stream, data)
            return
        message = TaskOutput(
            type="exec-output", job=self._rank_launch.id, task=task, stream=stream, file=to_file
        )
        self._send(message, data)
        self.window.sent(len(data))

    def take(self, message: WriteFile, body: bytes) -> None:
        """Write another rank's output to this job's files."""
        self._write(message["task"], message["stream"], body)
        written = FileWritten(
            type="exec-file-done", job=self._rank_launch.id, source=message["source"], bytes=len(body)
        )
        self._send(written)

    def _write(self, task: int, stream: str, data: bytes) -> None:
        """Append to the stream's file; a full disk fails the job."""
        wrong = self._files.write(task, stream, data)
        if wrong is not None:
            self._send(JobFailed(type="exec-exception", job=self._rank_launch.id, text=wrong))

    def close(self) -> None:
        """Close the files."""
        self._files.close()
