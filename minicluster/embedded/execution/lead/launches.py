"""The start of jobs: it lays the tasks out over ranks, and sends each rank its part."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from broker_config.formats import jobid
from broker_config.formats.jobspec import command_of, shell_options
from minicluster.embedded.errors import ConfigurationError, LayoutError
from minicluster.embedded.execution.lead.run import Run, elastic_workers
from minicluster.embedded.execution.messages import StartTasks
from minicluster.embedded.jobs import taskmap
from minicluster.embedded.log import INFO
from minicluster.embedded.settings import configured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from minicluster.embedded.execution.lead.cpu_table import CpuTable
    from minicluster.embedded.execution.lead.runs import Runs
    from minicluster.embedded.execution.messages import TasksStarted
    from minicluster.embedded.execution.rank_launch import RankLaunch
    from minicluster.embedded.overlay.overlay import LeadOverlay
    from minicluster.embedded.ports import JSON, Launch
    from queue_policies.nodes.records import Slot

_EXIT_TIMEOUT = 30.0  # as Flux: the others may run on so long after the first task ended


class Launches:
    """Starts tasks; `lost(run, rank)` is scheduled where a rank cannot be reached."""

    def __init__(
        self,
        runs: Runs,
        overlay: LeadOverlay,
        lost: Callable[[Run, int], None],
        cpus: CpuTable,
        log: Callable[[int, str], None],
    ) -> None:
        self._runs = runs
        self._overlay = overlay
        self._lost = lost
        self._cpus = cpus
        self._log = log
        self._unbound_logged = False
        self._loop = asyncio.get_running_loop()

    def start(self, launch: Launch) -> None:
        """Begin to start the job's tasks on the ranks of its R."""
        try:
            run = _run(launch, taskmap.layout(launch.jobspec, launch.R))
        except (LayoutError, ConfigurationError, LookupError, TypeError, ValueError) as error:
            self._loop.call_soon(_fail, launch, f"cannot lay out the tasks: {error}")
            return
        self._runs.by_id[launch.id] = run
        launch.events.exec_event(launch.id, "init")
        launch.events.exec_event(launch.id, "starting")
        rank_launches = run.rank_launches(launch, self._cpus)
        self._send(run, rank_launches)
        if not self._unbound_logged and not launch.floats:
            self._log_unbound(rank_launches)

    def extend(self, run: Run, order: int, slots: Mapping[int, Slot], hosts: Mapping[int, str]) -> None:
        """Start further tasks of a malleable job in `slots`. `hosts` are the hosts by rank."""
        self._send(run, run.add(order, slots, hosts, self._cpus))

    def _log_unbound(self, rank_launches: Iterable[int]) -> None:
        """Log, once, why tasks on one of these ranks are not bound to cores."""
        why = next((why for rank in rank_launches if (why := self._cpus.of(rank).why_not_own)), "")
        if why:
            self._unbound_logged = True
            self._log(INFO, f"tasks are not bound to cores, unless cpu-affinity asks for it: {why}")

    def _send(self, run: Run, rank_launches: Mapping[int, RankLaunch]) -> None:
        for rank, rank_launch in rank_launches.items():
            message = StartTasks(type="exec-start", job=run.id, share=rank_launch.fields())
            if not self._overlay.send(rank, message):
                self._loop.call_soon(self._lost, run, rank)

    def started(self, run: Run, rank: int, _message: TasksStarted, _body: bytes) -> None:
        """A rank started its tasks."""
        run.starting.discard(rank)
        if not run.starting and not run.started:
            run.started = True
            ranks = sorted(run.nodes)
            service = f"{ranks[0]}-shell-{jobid.f58plain(run.id)}"
            context = {"service": service, "leader-rank": ranks[0], "size": len(ranks)}
            run.events.exec_event(run.id, "shell.init", context)
            run.events.started(run.id)
            run.events.exec_event(run.id, "shell.start", {"taskmap": _task_map(run)})


def _run(launch: Launch, nodes: list[taskmap.NodeTasks]) -> Run:
    ranks = {node.rank for node in nodes if node.tasks}
    timeout = shell_options(launch.jobspec).get("exit-timeout")
    return Run(
        launch.id,
        launch.events,
        {node.rank: node for node in nodes},
        os.path.basename(command_of(launch.jobspec)[0]),  # noqa: PTH119 - a name, not a file
        _EXIT_TIMEOUT if timeout is None else configured(timeout, "exit-timeout"),
        set(ranks),
        set(ranks),
        elastic=elastic_workers(launch, nodes),
    )


def _fail(launch: Launch, reason: str) -> None:
    """End a job that cannot be started."""
    launch.events.exception(launch.id, "exec", 0, reason)
    launch.events.finished(launch.id, 1 << 8)
    launch.events.released(launch.id)


def _task_map(run: Run) -> JSON:
    """Return RFC 34's block map."""
    counts = [len(node.tasks) for node in run.nodes.values()]
    blocks = [[index, 1, count, 1] for index, count in enumerate(counts)]
    if len(set(counts)) == 1:
        blocks = [[0, len(counts), counts[0], 1]]
    return {"version": 1, "map": blocks}
