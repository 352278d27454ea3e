"""Passes tasks' output on to the job's record, or to the rank that writes the job's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.execution.messages import OutputTaken, WriteFile

if TYPE_CHECKING:
    from minicluster.embedded.execution.lead.run import Run
    from minicluster.embedded.execution.messages import (
        FileWritten,
        OutputEnded,
        OutputRedirected,
        TaskOutput,
    )
    from minicluster.embedded.overlay.overlay import LeadOverlay


class OutputRouter:
    """Receives output from ranks, and acknowledges each message once its output is stored or written."""

    def __init__(self, overlay: LeadOverlay) -> None:
        self._overlay = overlay

    def wrote(self, run: Run, rank: int, message: TaskOutput, body: bytes) -> None:
        """A task wrote output."""
        if message["file"]:
            if self._to_file(run, rank, message, body):
                return
        elif not run.failed:
            run.events.output(run.id, message["task"], message["stream"], body)
        self._acknowledge(run, rank, len(body))

    def _to_file(self, run: Run, rank: int, message: TaskOutput, body: bytes) -> bool:
        """Send output to the job's first rank; return False where that is gone."""
        first = next(iter(run.nodes))
        task, stream = message["task"], message["stream"]
        forwarded = WriteFile(type="exec-file", source=rank, job=run.id, task=task, stream=stream)
        return first in run.running and self._overlay.send(first, forwarded, body)

    def written(self, run: Run, _rank: int, message: FileWritten, _body: bytes) -> None:
        """The job's first rank wrote output of another rank."""
        self._acknowledge(run, message["source"], message["bytes"])

    def _acknowledge(self, run: Run, rank: int, count: int) -> None:
        self._overlay.send(rank, OutputTaken(type="exec-ack", job=run.id, bytes=count))

    def ended(self, run: Run, _rank: int, message: OutputEnded, _body: bytes) -> None:
        """A task's stream ended."""
        run.events.eof(run.id, message["task"], message["stream"])

    def redirected(self, run: Run, _rank: int, message: OutputRedirected, _body: bytes) -> None:
        """A stream of all tasks goes to a file."""
        run.events.redirected(run.id, message["tasks"], message["stream"], message["path"])
