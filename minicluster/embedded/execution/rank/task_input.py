"""Standard input of a job's tasks on this rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.execution.messages import InputTaken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.execution.messages import SendToLead, WriteInput
    from minicluster.embedded.execution.rank.task import Task


class TaskInput:
    """Writes pieces of input to tasks, and reports each piece to the lead once all tasks took it."""

    def __init__(self, job: int, tasks: Mapping[int, Task], send: SendToLead) -> None:
        self._job = job
        self._tasks = tasks
        self._send = send

    def write(self, message: WriteInput, data: bytes) -> None:
        """Write a piece to one task, or to all of them."""
        task = message["task"]
        taken = InputTaken(type="exec-stdin-done", job=self._job, seq=message["seq"])
        chosen = [each for each in self._tasks.values() if task in (None, each.rank)]
        feeds = [each.feed for each in chosen if each.feed is not None]
        left = len(feeds)

        def written() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self._send(taken)

        if not feeds:
            self._send(taken)
        for feed in feeds:
            feed.write(data, written, eof=message["eof"])
