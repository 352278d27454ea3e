"""PMI of jobs over all of their ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.execution.lead import shell_messages
from minicluster.embedded.execution.messages import BarrierLeft

if TYPE_CHECKING:
    from minicluster.embedded.execution.lead.run import Run
    from minicluster.embedded.execution.lead.runs import Runs
    from minicluster.embedded.execution.messages import BarrierEntered, PmiAborted


class PmiBarriers:
    """Gathers the puts of all ranks of a job, and sends all of them to each rank."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def entered(self, run: Run, rank: int, message: BarrierEntered, _body: bytes) -> None:
        """All tasks of a rank are in the barrier."""
        run.barrier.add(rank)
        run.puts.update(message["puts"])
        if run.at_barrier:
            puts, run.puts = run.puts, {}
            run.barrier.clear()
            self._runs.send_to_ranks(run, BarrierLeft(type="pmi-release", job=run.id, puts=puts))

    def aborted(self, run: Run, rank: int, message: PmiAborted, _body: bytes) -> None:
        """A task called PMI_Abort."""
        text = message["text"]
        shell_messages.fail(run, rank, f"PMI_Abort: {text}" if text else "PMI_Abort")
