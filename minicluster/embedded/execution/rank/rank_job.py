"""A job's tasks on this rank, from their start to the end of all their processes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.embedded.errors import LayoutError
from minicluster.embedded.execution.cpu_binding import OPTION, binding_of
from minicluster.embedded.execution.messages import (
    BarrierEntered,
    JobFailed,
    PmiAborted,
    RankDone,
    RankWaiting,
    ShellMessage,
    TaskExited,
    TasksStarted,
)
from minicluster.embedded.execution.pmi import PmiClient, PmiJob
from minicluster.embedded.execution.rank import spawn
from minicluster.embedded.execution.rank.cpus import TaskBinder, bound_to
from minicluster.embedded.execution.rank.output_streams import OutputStreams
from minicluster.embedded.execution.rank.streams import InputFeed
from minicluster.embedded.execution.rank.task import Task
from minicluster.embedded.execution.rank.task_input import TaskInput
from minicluster.embedded.execution.rank.task_limits import TaskLimits
from minicluster.embedded.execution.rank.task_processes import TaskProcesses
from minicluster.embedded.log import ERR

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.execution.messages import SendToLead
    from minicluster.embedded.execution.processes import Reaper
    from minicluster.embedded.execution.rank.cpus import BindThread
    from minicluster.embedded.execution.rank.enforcement.enforcer import Enforcer
    from minicluster.embedded.execution.rank.spawn import BrokerEnv, StartedTask
    from minicluster.embedded.execution.rank_launch import RankLaunch

_EXIT_CODES = {FileNotFoundError: 127, PermissionError: 126}
"""The exit code of a task that cannot be started, as of a shell; 1 for another error."""


@dataclass(frozen=True, slots=True)
class RankSettings:
    """The settings for every job on this rank."""

    host: str
    broker: BrokerEnv
    reaper: Reaper
    grace: float
    """Seconds from SIGTERM to SIGKILL."""
    bind: BindThread = bound_to
    """Gives the thread that starts a task the task's CPUs."""
    enforcer: Callable[[], Enforcer] | None = None
    """Returns what enforces CPU limits here; it is asked where a job has one. None: nothing does."""


class RankJob:
    """Starts tasks, and reports when each is complete; `ended` is called once no process is left."""

    def __init__(
        self, rank_launch: RankLaunch, settings: RankSettings, send: SendToLead, ended: Callable[[], None]
    ) -> None:
        self._rank_launch = rank_launch
        self._settings = settings
        self._send = send
        self._on_end = ended
        self._has_ended = False
        self._tasks: dict[int, Task] = {}
        self._directory = spawn.jobtmp(settings.broker, rank_launch)
        self._cwd = ""
        marker = spawn.marker(settings.broker, rank_launch)
        self.processes = TaskProcesses(self._tasks, settings.reaper, marker, settings.grace)
        self.limits = TaskLimits(rank_launch, self.processes, settings.enforcer, send)
        self.input = TaskInput(rank_launch.id, self._tasks, send)
        self.output = OutputStreams(rank_launch, self._directory, send)
        self._writes_for_others = self.output.writes_for_others
        self.pmi = PmiJob(
            rank_launch.f58,
            rank_launch.size,
            len(rank_launch.tasks),
            rank_launch.mapping,
            enter=lambda puts: send(BarrierEntered(type="pmi-barrier", job=rank_launch.id, puts=puts)),
            abort=lambda code, text: send(
                PmiAborted(type="pmi-abort", job=rank_launch.id, code=code, text=text)
            ),
        )

    def start(self) -> None:
        """Start every task; the first that cannot be started ends the job."""
        if refusal := self._rank_launch.refusal(os.getuid()):
            self._refuse(1, refusal)
            return
        self._cwd = self._working_directory()
        try:
            spawn.write_files(self._directory, self._rank_launch.files)
            self.output.open(self._cwd)
        except OSError as error:
            self._refuse(1, f"{error.filename}: {error.strerror}")
            return
        self.limits.begin()
        self._start_tasks()

    def extend(self, rank_launch: RankLaunch) -> None:
        """Start further tasks: the fresh ones of `rank_launch`."""
        self._rank_launch = rank_launch
        self._start_tasks()

    def _working_directory(self) -> str:
        cwd = self._rank_launch.expand(self._rank_launch.cwd, None, "")
        if os.access(cwd, os.X_OK) and Path(cwd).is_dir():
            return cwd
        why = os.strerror(20 if Path(cwd).exists() else 2)
        self._log(f"host {self._settings.host}: Could not change dir to {cwd}: {why}. Going to /tmp instead")
        return "/tmp"  # noqa: S108 - what Flux does

    def _log(self, text: str, level: int = ERR, component: str = "") -> None:
        message = ShellMessage(type="exec-log", job=self._rank_launch.id, level=level, text=text)
        if component:
            message["component"] = component
        self._send(message)

    def _start_tasks(self) -> None:
        rank_launch = self._rank_launch
        try:
            binder = TaskBinder(binding_of(rank_launch), self._settings.bind, self._log)
        except LayoutError as error:
            self._refuse(1, f"{OPTION}: {error}")
            return
        for rank in rank_launch.tasks if rank_launch.fresh is None else rank_launch.fresh:
            try:
                with binder.bound(rank):
                    started = spawn.start(
                        rank_launch, rank, self._settings.broker, self._cwd, self.limits.enter
                    )
                self._adopt(rank, started)
            except OSError as error:
                missing = error.filename if error.filename is not None else rank_launch.argv[0]
                where = f"task {rank} (host {self._settings.host})"
                reason = f"{where}: start failed: {missing}: {error.strerror}"
                self._refuse(_EXIT_CODES.get(type(error), 1), reason)
                return
        self._send(TasksStarted(type="exec-started", job=rank_launch.id))

    def _refuse(self, code: int, text: str) -> None:
        """Report that not all tasks can be started; the job fails, unless an order started them."""
        rank_launch = self._rank_launch
        if rank_launch.order:
            self._log(text)
            for rank in rank_launch.fresh or ():
                if rank not in self._tasks:
                    self._report_exit(rank, code << 8)
        else:
            self._send(TasksStarted(type="exec-started", job=rank_launch.id))
            self._report_exit(rank_launch.tasks[0], code << 8)
            self._send(JobFailed(type="exec-exception", job=rank_launch.id, text=text))
            self.processes.signal(signal.SIGTERM)
        self.check_end()

    def _adopt(self, rank: int, started: StartedTask) -> None:
        task = self._tasks[rank] = Task(rank, started.pid)
        self._settings.reaper.watch(started.pid, lambda status: self._exited(task, status))
        self.limits.adopt(started.pid)
        for stream, descriptor in (("stdout", started.stdout), ("stderr", started.stderr)):
            task.channels += 1
            self.output.follow(rank, stream, descriptor, lambda: self._channel_closed(task))
        if started.stdin is not None:
            task.feed = InputFeed(started.stdin)
        if started.pmi is not None:
            task.pmi = PmiClient(self.pmi, started.pmi)

    def _exited(self, task: Task, status: int) -> None:
        task.exited(status)
        self._check_task(task)

    def _channel_closed(self, task: Task) -> None:
        task.channels -= 1
        self._check_task(task)

    def _check_task(self, task: Task) -> None:
        if task.status is not None and task.channels == 0 and not task.reported:
            task.reported = True
            self._report_exit(task.rank, task.status)
            self.check_end()

    def _report_exit(self, rank: int, status: int) -> None:
        self._send(TaskExited(type="exec-exit", job=self._rank_launch.id, task=rank, status=status))

    def check_end(self) -> None:
        """Report the end once every task is complete and no descendant is left."""
        if self._has_ended or not all(task.reported for task in self._tasks.values()):
            return
        if self.processes.end_leftovers():
            return
        if self._writes_for_others:
            self._send(RankWaiting(type="exec-waiting", job=self._rank_launch.id))
        else:
            self._end()

    def release(self) -> None:
        """Note that the other ranks send no more output for this job's files."""
        self._writes_for_others = False
        self.check_end()

    def _end(self) -> None:
        import shutil  # noqa: PLC0415 - brokers start light

        self._has_ended = True
        self.processes.close()
        self.limits.close()
        self.output.close()
        shutil.rmtree(self._directory, ignore_errors=True)
        self._send(RankDone(type="exec-done", job=self._rank_launch.id, part=self._rank_launch.part))
        self._on_end()
