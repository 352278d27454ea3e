"""The end of jobs: ranks that are done with a job, or lost, until none is left."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from minicluster.embedded.execution.lead.exits import shell_status
from minicluster.embedded.execution.messages import FilesComplete

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.execution.lead.run import Run
    from minicluster.embedded.execution.lead.runs import Runs
    from minicluster.embedded.execution.messages import RankDone, RankWaiting


class RankEnds:
    """Removes ranks from jobs, and calls `left(run, rank)` for each."""

    def __init__(self, runs: Runs, left: Callable[[Run, int], None]) -> None:
        self._runs = runs
        self._left = left
        self._loop = asyncio.get_running_loop()

    def done(self, run: Run, rank: int, message: RankDone, _body: bytes) -> None:
        """A rank has no processes of the job any more."""
        if run.is_stale(rank, message["part"]):
            return
        run.leave(rank)
        self._left(run, rank)
        self._check_end(run)

    def waiting(self, run: Run, rank: int, _message: RankWaiting, _body: bytes) -> None:
        """The rank that writes the job's output files has no processes of the job any more."""
        run.waiting = rank
        self._check_end(run)

    def _check_end(self, run: Run) -> None:
        if run.running == {run.waiting}:
            self._runs.send_to_ranks(run, FilesComplete(type="exec-release", job=run.id))
        if run.running or self._runs.by_id.pop(run.id, None) is None:
            return
        if run.exit_timer is not None:
            run.exit_timer.cancel()
        run.events.exec_event(run.id, "complete", {"status": run.status})
        run.events.exec_event(run.id, "done")
        run.events.finished(run.id, run.status)
        run.events.released(run.id)

    def rank_gone(self, rank: int) -> None:
        """Fail every job that has tasks there: the tasks of a lost node cannot be reached any more."""
        for run in tuple(self._runs.by_id.values()):
            self.lose(run, rank)

    def lose(self, run: Run, rank: int) -> None:
        """Remove a lost rank from a job. The job fails where the rank had tasks whose end counts."""
        if rank not in run.running:
            return
        node = run.nodes[rank]
        left = [task for task in node.tasks if not self._lose_task(run, rank, task)]
        run.leave(rank)
        if left or run.elastic is None:
            if not run.status:
                run.status = shell_status(signal.SIGKILL)
            run.failed = True
            run.events.exception(run.id, "exec", 0, f"node failure on {node.host} (rank {rank})")
        self._left(run, rank)
        self._check_end(run)

    def _lose_task(self, run: Run, rank: int, task: int) -> bool:
        """Report a task that is gone; return whether its end does not count."""
        if run.elastic is not None:
            self._loop.call_soon(run.events.task_ended, run.id, task)
        return run.drop(rank, task)
