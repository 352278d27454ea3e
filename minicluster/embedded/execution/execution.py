"""The lead's side of running jobs: lays tasks out, sends each rank its share, gathers what comes back."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobid
from broker_config.formats.jobspec import shell_options
from minicluster.embedded.errors import ConfigurationError, LayoutError, RpcError
from minicluster.embedded.execution.run import Run, crew_of
from minicluster.embedded.jobs import taskmap
from minicluster.embedded.settings import configured

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from minicluster.embedded.overlay.overlay import LeadOverlay
    from minicluster.embedded.ports import JSON, Launch
    from minicluster.embedded.services import Registry, Request
    from queue_policies.nodes.records import Slot

_SHELL_LEVELS = {"FATAL": 0, "ERROR": 3}  # as syslog(3)
_EXIT_TIMEOUT = 30.0  # as Flux: the others may run on so long after the first task ended


@dataclass(slots=True)
class Input:
    """A piece of standard input on its way to the ranks that have not taken it yet."""

    job: int
    ranks: set[int]
    taken: asyncio.Future[None]

    def take(self, ranks: Iterable[int]) -> None:
        """These ranks took it, or never will."""
        self.ranks.difference_update(ranks)
        if not self.ranks and not self.taken.done():
            self.taken.set_result(None)


class Execution:
    """Implements `ports.Executor`."""

    def __init__(self, overlay: LeadOverlay) -> None:
        self._overlay = overlay
        self._runs: dict[int, Run] = {}
        self._loop = asyncio.get_running_loop()
        self._stdin: dict[int, Input] = {}
        self._sequence = 0
        for kind, handler in {
            "exec-started": self._started,
            "exec-output": self._output,
            "exec-eof": self._eof,
            "exec-exit": self._exit,
            "exec-log": self._shell_log,
            "exec-redirect": self._redirected,
            "exec-exception": self._exception,
            "exec-done": self._done,
            "exec-waiting": self._waiting,
            "exec-stdin-done": self._stdin_done,
            "exec-file-done": self._file_done,
            "pmi-barrier": self._pmi_barrier,
            "pmi-abort": self._pmi_abort,
        }.items():
            overlay.on(kind, self._for_run(handler))

    def _for_run(
        self, handler: Callable[[Run, int, JSON, bytes], None]
    ) -> Callable[[int, JSON, bytes], None]:
        def handle(rank: int, message: JSON, body: bytes) -> None:
            run = self._runs.get(message["job"])
            if run is not None:
                handler(run, rank, message, body)

        return handle

    # Executor

    def start(self, launch: Launch) -> None:
        """Begin to start the job's tasks on the ranks of its R."""
        try:
            nodes = taskmap.layout(launch.jobspec, launch.R)
            run = self._run(launch, nodes)
        except (LayoutError, ConfigurationError, LookupError, TypeError, ValueError) as error:
            self._loop.call_soon(self._stillborn, launch, f"cannot lay out the tasks: {error}")
            return
        self._runs[launch.id] = run
        launch.events.exec_event(launch.id, "init")
        launch.events.exec_event(launch.id, "starting")
        self._start(run, run.shares(launch))

    def _start(self, run: Run, shares: Mapping[int, JSON]) -> None:
        for rank, share in shares.items():
            if not self._overlay.send(rank, {"type": "exec-start", "job": run.id, "share": share}):
                self._loop.call_soon(self._lose, run, rank)

    def _run(self, launch: Launch, nodes: list[taskmap.Node]) -> Run:
        options = shell_options(launch.jobspec)
        ranks = {node.rank for node in nodes if node.tasks}
        timeout = options.get("exit-timeout")
        return Run(
            launch.id,
            launch.events,
            {node.rank: node for node in nodes},
            os.path.basename(launch.jobspec["tasks"][0]["command"][0]),  # noqa: PTH119 - a name, not a file
            _EXIT_TIMEOUT if timeout is None else configured(timeout, "exit-timeout"),
            set(ranks),
            set(ranks),
            crew=crew_of(launch, nodes),
        )

    def _stillborn(self, launch: Launch, reason: str) -> None:
        launch.events.exception(launch.id, "exec", 0, reason)
        launch.events.finished(launch.id, 1 << 8)
        launch.events.released(launch.id)

    def signal(self, jobid: int, signum: int) -> None:
        """Deliver a signal to every task."""
        self._tell(jobid, {"type": "exec-signal", "job": jobid, "signum": signum})

    def kill(self, jobid: int, signum: int) -> None:
        """End the job: `signum` now, SIGKILL after the grace period."""
        self._tell(jobid, {"type": "exec-kill", "job": jobid, "signum": signum})

    def extend(self, jobid: int, order: int, places: Mapping[int, Slot], hosts: Mapping[int, str]) -> bool:
        """Start further tasks of a malleable job, each in its place; return False where the job is gone.

        `hosts` names the ranks' hosts.
        """
        run = self._runs.get(jobid)
        if run is not None:
            self._start(run, run.add(order, places, hosts))
        return run is not None

    def admit(self, jobid: int, tasks: Iterable[int]) -> None:
        """Further tasks are the job's own from now on: how they end counts."""
        if jobid in self._runs:
            self._runs[jobid].admit(tasks)

    def dismiss(self, jobid: int, places: Mapping[int, Slot]) -> None:
        """Tasks leave the job: how they end does not count any more."""
        if jobid in self._runs:
            self._runs[jobid].dismiss(places)

    def end_tasks(self, jobid: int, tasks: Collection[int]) -> None:
        """End some tasks: SIGTERM now, SIGKILL after the kill timeout."""
        self._tell(jobid, {"type": "exec-end", "job": jobid, "tasks": list(tasks)})

    def _tell(self, jobid: int, message: JSON) -> None:
        run = self._runs.get(jobid)
        for rank in tuple(run.running) if run is not None else ():
            self._overlay.send(rank, message)

    # What ranks report

    def _started(self, run: Run, rank: int, _message: JSON, _body: bytes) -> None:
        run.starting.discard(rank)
        if not run.starting and not run.started:
            run.started = True
            ranks = sorted(run.nodes)
            run.events.exec_event(
                run.id,
                "shell.init",
                {
                    "service": f"{ranks[0]}-shell-{jobid.f58plain(run.id)}",
                    "leader-rank": ranks[0],
                    "size": len(ranks),
                },
            )
            run.events.started(run.id)
            run.events.exec_event(run.id, "shell.start", {"taskmap": self._task_map(run)})

    def _task_map(self, run: Run) -> JSON:
        counts = [len(node.tasks) for node in run.nodes.values()]
        blocks = [[index, 1, count, 1] for index, count in enumerate(counts)]
        if len(set(counts)) == 1:
            blocks = [[0, len(counts), counts[0], 1]]
        return {"version": 1, "map": blocks}

    def _output(self, run: Run, rank: int, message: JSON, body: bytes) -> None:
        if message["file"]:
            first = next(iter(run.nodes))
            kept = {key: message[key] for key in ("job", "task", "stream")}
            if first in run.running and self._overlay.send(
                first, {"type": "exec-file", "source": rank, **kept}, body
            ):
                return
        elif not run.failed:
            run.events.output(run.id, message["task"], message["stream"], body)
        self._ack(run, rank, len(body))

    def _file_done(self, run: Run, _rank: int, message: JSON, _body: bytes) -> None:
        self._ack(run, message["source"], message["bytes"])

    def _ack(self, run: Run, rank: int, count: int) -> None:
        self._overlay.send(rank, {"type": "exec-ack", "job": run.id, "bytes": count})

    def _eof(self, run: Run, _rank: int, message: JSON, _body: bytes) -> None:
        run.events.eof(run.id, message["task"], message["stream"])

    def _redirected(self, run: Run, _rank: int, message: JSON, _body: bytes) -> None:
        run.events.redirected(run.id, message["tasks"], message["stream"], message["path"])

    def _shell_log(self, run: Run, rank: int, message: JSON, _body: bytes) -> None:
        self._shell_line(run, rank, "ERROR", message["text"])

    def _shell_line(self, run: Run, rank: int, level: str, text: str) -> None:
        node = list(run.nodes).index(rank)
        run.events.shell_log(run.id, node, _SHELL_LEVELS[level], text)

    def _exception(self, run: Run, rank: int, message: JSON, _body: bytes) -> None:
        self._fail(run, rank, message["text"])

    def _fail(self, run: Run, rank: int, text: str, component: str = "") -> None:
        if not run.failed:
            self._shell_line(run, rank, "FATAL", f"{component}{text}")
            run.failed = True
            run.events.exception(run.id, "exec", 0, text)

    def _exit(self, run: Run, rank: int, message: JSON, _body: bytes) -> None:
        if run.crew is not None:
            self._loop.call_soon(run.events.task_ended, run.id, message["task"])
            if run.drop(rank, message["task"]):
                return
            run.crew.ended[message["task"]] = _shell_status(message["status"])
        if not run.status_known:
            run.status = max(run.status, _shell_status(message["status"]))
        run.ended_tasks += 1
        said = f"{run.command}: task rank {message['task']} on host {run.nodes[rank].host}"
        if run.doom is None and run.exit_timeout and run.ended_tasks < run.size:
            how = _told(message["status"])
            text = f"{said} exited ({how}) and exit-timeout={run.exit_timeout:g}s has expired"
            run.doom = self._loop.call_later(run.exit_timeout, self._doom, run, rank, text)

    def _doom(self, run: Run, rank: int, text: str) -> None:
        run.status_known = True
        self._fail(run, rank, text, "task-exit: ")

    def _done(self, run: Run, rank: int, message: JSON, _body: bytes) -> None:
        if run.is_stale(rank, message["part"]):
            return
        run.leave(rank)
        self._rank_takes_no_input(run, rank)
        self._check_end(run)

    def _waiting(self, run: Run, rank: int, _message: JSON, _body: bytes) -> None:
        run.waiting = rank
        self._check_end(run)

    def _check_end(self, run: Run) -> None:
        if run.running == {run.waiting}:
            self._tell(run.id, {"type": "exec-release", "job": run.id})
        if run.running or self._runs.pop(run.id, None) is None:
            return
        if run.doom is not None:
            run.doom.cancel()
        run.events.exec_event(run.id, "complete", {"status": run.status})
        run.events.exec_event(run.id, "done")
        run.events.finished(run.id, run.status)
        run.events.released(run.id)

    # Ranks that go

    def rank_gone(self, rank: int) -> None:
        """Fail every job that has tasks there: a lost node's tasks cannot be asked any more."""
        for run in tuple(self._runs.values()):
            if rank in run.running:
                self._lose(run, rank)

    def _lose(self, run: Run, rank: int) -> None:
        if rank not in run.running:
            return
        node = run.nodes[rank]
        left = [task for task in node.tasks if not self._lose_task(run, rank, task)]
        run.leave(rank)
        if left or run.crew is None:
            if not run.status:
                run.status = _shell_status(signal.SIGKILL)
            run.failed = True
            run.events.exception(run.id, "exec", 0, f"node failure on {node.host} (rank {rank})")
        self._rank_takes_no_input(run, rank)
        self._check_end(run)

    def _lose_task(self, run: Run, rank: int, task: int) -> bool:
        """Tell of a task that is gone; whether that is no failure."""
        if run.crew is not None:
            self._loop.call_soon(run.events.task_ended, run.id, task)
        return run.drop(rank, task)

    def _rank_takes_no_input(self, run: Run, rank: int) -> None:
        for piece in tuple(self._stdin.values()):
            if piece.job == run.id:
                piece.take([rank])

    # PMI

    def _pmi_barrier(self, run: Run, rank: int, message: JSON, _body: bytes) -> None:
        run.barrier.add(rank)
        run.puts.update(message["puts"])
        if run.at_barrier:
            puts, run.puts = run.puts, {}
            run.barrier.clear()
            self._tell(run.id, {"type": "pmi-release", "job": run.id, "puts": puts})

    def _pmi_abort(self, run: Run, rank: int, message: JSON, _body: bytes) -> None:
        text = message["text"]
        self._fail(run, rank, f"PMI_Abort: {text}" if text else "PMI_Abort")

    # Requests of clients

    def register(self, registry: Registry) -> None:
        """Serve job-exec.stdin."""
        registry.register("job-exec.stdin", self._take_stdin)

    async def _take_stdin(self, request: Request) -> JSON:
        """{id, task: int | "all", data, eof} → {} once the tasks took the data."""
        run = self._runs.get(request.need("id", int))
        if run is None:
            raise RpcError(errno.ENOENT, "job is not running")
        task: Any = request.payload.get("task", "all")
        data = str(request.payload.get("data", "")).encode("utf-8", "surrogateescape")
        ranks = {rank for rank in run.running if task == "all" or task in run.nodes[rank].tasks}
        self._sequence += 1
        sequence = self._sequence
        piece = self._stdin[sequence] = Input(run.id, set(ranks), self._loop.create_future())
        message = {
            "type": "exec-stdin",
            "job": run.id,
            "task": None if task == "all" else task,
            "eof": bool(request.payload.get("eof")),
            "seq": sequence,
        }
        try:
            for rank in ranks:
                self._overlay.send(rank, message, data)
            if ranks:
                await piece.taken
        finally:
            del self._stdin[sequence]
        return {}

    def _stdin_done(self, _run: Run, rank: int, message: JSON, _body: bytes) -> None:
        piece = self._stdin.get(message["seq"])
        if piece is not None:
            piece.take([rank])


def _shell_status(status: int) -> int:
    """Return the wait status of Flux's shell for a task's: a signal becomes the exit code 128 + signal."""
    return (128 + os.WTERMSIG(status)) << 8 if os.WIFSIGNALED(status) else status


def _told(status: int) -> str:
    """Return a wait status as Flux's shell words it."""
    if os.WIFSIGNALED(status):
        return signal.strsignal(os.WTERMSIG(status)) or f"Signal {os.WTERMSIG(status)}"
    return f"Exit {os.WEXITSTATUS(status)}"
