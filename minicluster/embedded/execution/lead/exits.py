"""Ended tasks: they give the job's status, and the first one begins the exit timeout of the others."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from minicluster.embedded.execution.lead import shell_messages

if TYPE_CHECKING:
    from minicluster.embedded.execution.lead.run import Run
    from minicluster.embedded.execution.messages import TaskExited


class TaskExits:
    """Collects tasks' statuses. Once a job's first task ended, the others may run for its exit timeout."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def exited(self, run: Run, rank: int, message: TaskExited, _body: bytes) -> None:
        """A task ended."""
        task, status = message["task"], message["status"]
        if run.elastic is not None:
            self._loop.call_soon(run.events.task_ended, run.id, task)
            if run.drop(rank, task):
                return
            run.elastic.ended[task] = shell_status(status)
        if not run.status_known:
            run.status = max(run.status, shell_status(status))
        run.ended_tasks += 1
        self._start_timer(run, rank, task, status)

    def _start_timer(self, run: Run, rank: int, task: int, status: int) -> None:
        if run.exit_timer is None and run.exit_timeout and run.ended_tasks < run.size:
            ended = (
                f"{run.command}: task rank {task} on host {run.nodes[rank].host} exited ({_worded(status)})"
            )
            text = f"{ended} and exit-timeout={run.exit_timeout:g}s has expired"
            run.exit_timer = self._loop.call_later(run.exit_timeout, self._expire, run, rank, text)

    def _expire(self, run: Run, rank: int, text: str) -> None:
        run.status_known = True
        shell_messages.fail(run, rank, text, "task-exit: ")


def shell_status(status: int) -> int:
    """Return the wait status of Flux's shell for a task's: a signal becomes the exit code 128 + signal."""
    return (128 + os.WTERMSIG(status)) << 8 if os.WIFSIGNALED(status) else status


def _worded(status: int) -> str:
    """Return Flux's words for a wait status."""
    if os.WIFSIGNALED(status):
        return signal.strsignal(os.WTERMSIG(status)) or f"Signal {os.WTERMSIG(status)}"
    return f"Exit {os.WEXITSTATUS(status)}"
