"""The executor of the job engine: it sends requests to the ranks, and dispatches their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.execution import messages
from minicluster.embedded.execution.lead import shell_messages
from minicluster.embedded.execution.lead.barriers import PmiBarriers
from minicluster.embedded.execution.lead.ends import RankEnds
from minicluster.embedded.execution.lead.exits import TaskExits
from minicluster.embedded.execution.lead.launches import Launches
from minicluster.embedded.execution.lead.limits import RankCpuLimits
from minicluster.embedded.execution.lead.output import OutputRouter
from minicluster.embedded.execution.lead.runs import Runs
from minicluster.embedded.execution.lead.standard_input import StandardInput
from minicluster.embedded.execution.messages import EndTasks, KillTasks, M, SignalTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from minicluster.embedded.execution.lead.cpu_table import CpuTable
    from minicluster.embedded.execution.lead.run import Run
    from minicluster.embedded.execution.messages import MessageType, RankLimit, ToRank
    from minicluster.embedded.overlay.overlay import LeadOverlay
    from minicluster.embedded.ports import Launch
    from minicluster.embedded.services import Registry
    from queue_policies.nodes.records import Slot


class Execution:
    """Implements `ports.Executor`."""

    def __init__(self, overlay: LeadOverlay, cpus: CpuTable, log: Callable[[int, str], None]) -> None:
        self._overlay = overlay
        self._runs = Runs(overlay)
        self._input = StandardInput(self._runs, overlay)
        self._ends = RankEnds(self._runs, self._input.rank_left)
        self._launches = Launches(self._runs, overlay, self._ends.lose, cpus, log)
        self._limits = RankCpuLimits(overlay)
        output, exits, barriers = OutputRouter(overlay), TaskExits(), PmiBarriers(self._runs)
        self._on(messages.STARTED, self._launches.started)
        self._on(messages.OUTPUT, output.wrote)
        self._on(messages.FILE_DONE, output.written)
        self._on(messages.EOF, output.ended)
        self._on(messages.REDIRECT, output.redirected)
        self._on(messages.STDIN_DONE, self._input.taken)
        self._on(messages.LOG, shell_messages.logged)
        self._on(messages.EXCEPTION, shell_messages.failed)
        self._on(messages.EXIT, exits.exited)
        self._on(messages.WAITING, self._ends.waiting)
        self._on(messages.DONE, self._ends.done)
        self._on(messages.PMI_BARRIER, barriers.entered)
        self._on(messages.PMI_ABORT, barriers.aborted)
        self._on(messages.LIMITED, self._limits.limited)
        self._on(messages.USAGE, self._limits.used)

    def _on(self, kind: MessageType[M], handler: Callable[[Run, int, M, bytes], None]) -> None:
        """Register `handler` for messages of this type about jobs whose processes live."""
        runs = self._runs.by_id

        def handle(rank: int, message: M, body: bytes) -> None:
            run = runs.get(message["job"])
            if run is not None:
                handler(run, rank, message, body)

        self._overlay.on(kind.name, handle)

    def register(self, registry: Registry) -> None:
        """Serve job-exec.stdin."""
        registry.register("job-exec.stdin", self._input.send)

    def start(self, launch: Launch) -> None:
        """Begin to start the job's tasks on the ranks of its R."""
        self._launches.start(launch)

    def signal(self, jobid: int, signum: int) -> None:
        """Deliver a signal to every task."""
        self._send_to_ranks(jobid, SignalTasks(type="exec-signal", job=jobid, signum=signum))

    def kill(self, jobid: int, signum: int) -> None:
        """End the job: `signum` now, SIGKILL after the grace period."""
        self._send_to_ranks(jobid, KillTasks(type="exec-kill", job=jobid, signum=signum))

    def end_tasks(self, jobid: int, tasks: Collection[int]) -> None:
        """End some tasks: SIGTERM now, SIGKILL after the kill timeout."""
        self._send_to_ranks(jobid, EndTasks(type="exec-end", job=jobid, tasks=list(tasks)))

    def limit(self, jobid: int, limits: Mapping[int, RankLimit]) -> None:
        """Let the job use so much CPU time on its ranks. A job that is gone is ignored."""
        run = self._runs.by_id.get(jobid)
        if run is not None:
            self._limits.send(run, limits)

    def _send_to_ranks(self, jobid: int, message: ToRank) -> None:
        run = self._runs.by_id.get(jobid)
        if run is not None:
            self._runs.send_to_ranks(run, message)

    def extend(self, jobid: int, order: int, slots: Mapping[int, Slot], hosts: Mapping[int, str]) -> bool:
        """Start further tasks of a malleable job in `slots`; return False where the job is gone.

        `hosts` are the hosts by rank.
        """
        run = self._runs.by_id.get(jobid)
        if run is not None:
            self._launches.extend(run, order, slots, hosts)
        return run is not None

    def admit(self, jobid: int, tasks: Iterable[int]) -> None:
        """Count the ends of these further tasks from now on."""
        if jobid in self._runs.by_id:
            self._runs.by_id[jobid].admit(tasks)

    def dismiss(self, jobid: int, slots: Mapping[int, Slot]) -> None:
        """Do not count the ends of these tasks any more: they leave the job."""
        if jobid in self._runs.by_id:
            self._runs.by_id[jobid].dismiss(slots)

    def rank_gone(self, rank: int) -> None:
        """Fail every job that has tasks there: the tasks of a lost node cannot be reached any more."""
        self._ends.rank_gone(rank)
