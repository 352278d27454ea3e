"""The tasks of jobs on one rank: started, fed, listened to, signalled, and ended down to the last grandchild.

Messages from the lead: exec-start {job, share}, exec-signal {job, signum}, exec-kill {job, signum},
exec-stdin {job, task|null, eof, seq} + bytes, exec-ack {job, bytes},
exec-file {job, task, stream, source} + bytes, exec-release {job},
exec-end {job, tasks}, pmi-release {job, puts}.
An exec-start of a job that runs here has further tasks of it.
To the lead: exec-started, exec-output {job, task, stream, file} + bytes, exec-eof {job, task, stream},
exec-exit {job, task, status}, exec-log, exec-redirect {job, tasks, stream, path}, exec-exception,
exec-stdin-done {job, seq}, exec-file-done,
exec-waiting {job}, exec-done {job, part}, pmi-barrier {job, puts}, pmi-abort {job, text}.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicluster.embedded.execution import pmi, spawn
from minicluster.embedded.execution.guard import Guard
from minicluster.embedded.execution.output_files import OutputFiles
from minicluster.embedded.execution.processes import Reaper, belongs, in_session, signal_family, signal_group
from minicluster.embedded.execution.streams import InputFeed, OutputPump

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.overlay.overlay import Overlay
    from minicluster.embedded.ports import JSON

WINDOW = 1 << 20
"""Bytes of output per job and rank that the lead may not have taken yet; then the tasks wait."""


@dataclass(slots=True)
class Task:
    """One task: complete once its process ended and nobody holds its output any more."""

    rank: int
    pid: int = 0
    status: int | None = None
    channels: int = 0
    reported: bool = False
    pumps: list[OutputPump] = field(default_factory=list)
    feed: InputFeed | None = None
    pmi: pmi.PmiClient | None = None


class RankJob:
    """A job's tasks on this rank."""

    def __init__(self, share: spawn.Share, tasks: Tasks, around: spawn.Surroundings) -> None:
        self.share = share
        self._around = around
        self._all = tasks
        self._marker = spawn.marker(around, share)
        self._tasks: dict[int, Task] = {}
        self._unacked = 0
        self._paused = False
        self._ending: asyncio.TimerHandle | None = None
        self._files = OutputFiles(share, spawn.jobtmp(around, share))
        many = share.nodes > 1 or share.credentials is not None
        self._writes_for_others = share.node == 0 and many and bool(self._files.target("stdout"))
        self._loop = asyncio.get_running_loop()
        self.pmi = pmi.PmiJob(
            share.f58,
            share.size,
            len(share.tasks),
            share.mapping,
            enter=lambda puts: self._send("pmi-barrier", puts=puts),
            abort=lambda code, text: self._send("pmi-abort", code=code, text=text),
        )

    def _send(self, kind: str, body: bytes | None = None, **fields: object) -> None:
        self._all.send({"type": kind, "job": self.share.id, **fields}, body)

    def start(self) -> None:
        """Start every task; the first that cannot be started ends the job."""
        share = self.share
        cwd = self._directory()
        try:
            spawn.write_files(spawn.jobtmp(self._around, share), share.files)
            self._truncate(cwd)
        except OSError as error:
            self._refuse(1, f"{error.filename}: {error.strerror}")
            return
        self._start_tasks()

    def extend(self, share: spawn.Share) -> None:
        """Start the fresh ones of these tasks."""
        self.share = share
        self._start_tasks()

    def _start_tasks(self) -> None:
        share = self.share
        for rank in share.tasks if share.fresh is None else share.fresh:
            try:
                self._adopt(rank, spawn.start(share, rank, self._around, self._cwd))
            except OSError as error:
                code = {FileNotFoundError: 127, PermissionError: 126}.get(type(error), 1)
                missing = error.filename if error.filename is not None else share.argv[0]
                why = f"task {rank} (host {self._all.host}): start failed: {missing}: {error.strerror}"
                self._refuse(code, why)
                return
        self._send("exec-started")

    def _refuse(self, code: int, text: str) -> None:
        if self.share.order:  # the job goes on without them
            self._send("exec-log", level=3, text=text)
            for rank in self.share.fresh or ():
                if rank not in self._tasks:
                    self._send("exec-exit", task=rank, status=code << 8)
            self.check_end()
            return
        self._send("exec-started")
        self._send("exec-exit", task=self.share.tasks[0], status=code << 8)
        self._send("exec-exception", text=text)
        self.signal(signal.SIGTERM)
        self.check_end()

    def _directory(self) -> str:
        cwd = self.share.expand(self.share.cwd, None, "")
        if os.access(cwd, os.X_OK) and Path(cwd).is_dir():
            return cwd
        why = os.strerror(20 if Path(cwd).exists() else 2)
        text = f"host {self._all.host}: Could not change dir to {cwd}: {why}. Going to /tmp instead"
        self._send("exec-log", level=3, text=text)
        return "/tmp"  # noqa: S108 - what Flux does

    def _adopt(self, rank: int, started: spawn.Started) -> None:
        task = self._tasks[rank] = Task(rank, started.pid)
        self._all.reaper.watch(started.pid, lambda status: self._exited(task, status))
        for stream, descriptor in (("stdout", started.stdout), ("stderr", started.stderr)):
            task.pumps.append(self._pump(task, stream, descriptor))
        if started.stdin is not None:
            task.feed = InputFeed(started.stdin)
        if started.pmi is not None:
            task.pmi = pmi.PmiClient(self.pmi, started.pmi)

    def _pump(self, task: Task, stream: str, descriptor: int) -> OutputPump:
        task.channels += 1
        target = self._files.target(stream)

        def ended() -> None:
            if target is None:
                self._send("exec-eof", task=task.rank, stream=stream)
            self._channel_closed(task)

        return OutputPump(descriptor, lambda data: self._output(task.rank, stream, data), ended)

    # Output

    def _output(self, task: int, stream: str, data: bytes) -> None:
        target = self._files.target(stream)
        if target is not None and self.share.node == 0:
            self._write_file(task, stream, data)
            return
        self._unacked += len(data)
        self._send("exec-output", data, task=task, stream=stream, file=target is not None)
        if self._unacked > WINDOW and not self._paused:
            self._paused = True
            for pump in self._pumps():
                pump.pause()

    def ack(self, count: int) -> None:
        """The lead took `count` bytes."""
        self._unacked -= count
        if self._paused and self._unacked <= WINDOW // 2:
            self._paused = False
            for pump in self._pumps():
                pump.resume()

    def _pumps(self) -> list[OutputPump]:
        return [pump for task in self._tasks.values() for pump in task.pumps]

    def _truncate(self, cwd: str) -> None:
        """Make the output files empty: the job's first rank writes them, for all ranks."""
        self._cwd = cwd
        if self.share.node == 0:
            for stream, path in self._files.shown():
                self._send("exec-redirect", tasks=self.share.size, stream=stream, path=path)
            self._files.truncate(cwd)

    def take_file(self, message: JSON, body: bytes) -> None:
        """Write what another rank sent for this job's files."""
        self._write_file(message["task"], message["stream"], body)
        self._send("exec-file-done", source=message["source"], bytes=len(body))

    def _write_file(self, task: int, stream: str, data: bytes) -> None:
        """Append to the stream's file; a full disk fails the job."""
        wrong = self._files.write(task, stream, data)
        if wrong is not None:
            self._send("exec-exception", text=wrong)

    # Input

    def stdin(self, message: JSON, data: bytes) -> None:
        """Feed one task, or all of them."""
        task, seq = message["task"], message["seq"]
        chosen = [each for each in self._tasks.values() if task in (None, each.rank)]
        feeds = [each.feed for each in chosen if each.feed is not None]
        left = len(feeds)

        def written() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self._send("exec-stdin-done", seq=seq)

        if not feeds:
            self._send("exec-stdin-done", seq=seq)
        for feed in feeds:
            feed.write(data, written, eof=bool(message["eof"]))

    # The end

    def signal(self, signum: int) -> None:
        """Signal the process group of every task that runs."""
        for task in self._tasks.values():
            if task.status is None:
                signal_group(task.pid, signum)

    def kill(self, signum: int) -> None:
        """End the job: `signum` now, SIGKILL to all that is left of it after the grace period."""
        self.signal(signum)
        if signum == signal.SIGKILL:
            self._kill_all()
        elif self._ending is None:
            self._ending = self._loop.call_later(self._all.grace, self._kill_all)

    def end(self, ranks: list[int]) -> None:
        """End some tasks, and after the grace period all that is left of them."""
        tasks = [self._tasks[rank] for rank in ranks if rank in self._tasks]
        for task in tasks:
            if task.status is None:
                signal_group(task.pid, signal.SIGTERM)
        self._loop.call_later(self._all.grace, self._kill_tasks, tasks)

    def _kill_tasks(self, tasks: list[Task]) -> None:
        left = {task.pid for task in tasks if not task.reported}
        signal_family([task.pid for task in tasks if task.status is None], signal.SIGKILL)
        signal_family([pid for pid in self._all.reaper.orphans() if in_session(pid, left)], signal.SIGKILL)

    def _kill_all(self) -> None:
        self._ending = self._loop.call_later(1.0, self._kill_all)
        signal_family([task.pid for task in self._tasks.values() if task.status is None], signal.SIGKILL)
        signal_family(self._leftovers(), signal.SIGKILL)

    def _leftovers(self) -> list[int]:
        sessions = {task.pid for task in self._tasks.values()}
        return [pid for pid in self._all.reaper.orphans() if belongs(pid, self._marker, sessions)]

    def _exited(self, task: Task, status: int) -> None:
        task.status = status
        if task.feed is not None:
            task.feed.close()
        if task.pmi is not None:
            task.pmi.close()
        self._check_task(task)

    def _channel_closed(self, task: Task) -> None:
        task.channels -= 1
        self._check_task(task)

    def _check_task(self, task: Task) -> None:
        if task.status is not None and task.channels == 0 and not task.reported:
            task.reported = True
            self._send("exec-exit", task=task.rank, status=task.status)
            self.check_end()

    def check_end(self) -> None:
        """Report the end once every task is complete and no descendant is left."""
        running = any(not task.reported for task in self._tasks.values())
        if running or self._all.jobs.get(self.share.id) is not self:
            return
        leftovers = self._leftovers()
        if leftovers:
            if self._ending is None:
                signal_family(leftovers, signal.SIGTERM)
                self._ending = self._loop.call_later(self._all.grace, self._kill_all)
            return
        if self._writes_for_others:
            self._send("exec-waiting")
        else:
            self._finish()

    def release(self) -> None:
        """The other ranks have nothing more for this job's files."""
        self._writes_for_others = False
        self.check_end()

    def _finish(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
        self._files.close()
        directory = spawn.jobtmp(self._around, self.share)
        shutil.rmtree(directory, ignore_errors=True)
        del self._all.jobs[self.share.id]
        self._send("exec-done", part=self.share.part)
        self._all.check_idle()


class Tasks:
    """All jobs on this rank."""

    def __init__(
        self, overlay: Overlay, reaper: Reaper, around: spawn.Surroundings, host: str, grace: float
    ) -> None:
        self.jobs: dict[int, RankJob] = {}
        self.host = host
        self.grace = grace
        self.reaper = reaper
        self._overlay = overlay
        self._around = around
        self._idle: asyncio.Event = asyncio.Event()
        self._guard = Guard(around.marker)
        reaper.orphan_ended = self._orphan_ended
        overlay.on("exec-start", self._start)
        for kind, act in _ACTIONS.items():
            overlay.on(kind, self._for_job(act))

    def send(self, message: JSON, body: bytes | None) -> None:
        """Send to the lead."""
        self._overlay.send(0, message, body)

    def _start(self, _rank: int, message: JSON, _body: bytes) -> None:
        share = spawn.Share.from_message(message)
        if share.id in self.jobs:
            self.jobs[share.id].extend(share)
            return
        self._guard.start()
        job = self.jobs[share.id] = RankJob(share, self, self._around)
        job.start()

    def _for_job(self, act: Callable[[RankJob, JSON, bytes], Any]) -> Callable[[int, JSON, bytes], None]:
        def handle(_rank: int, message: JSON, body: bytes) -> None:
            job = self.jobs.get(message["job"])
            if job is not None:
                act(job, message, body)
            elif message["type"] == "exec-stdin":
                self.send({"type": "exec-stdin-done", "job": message["job"], "seq": message["seq"]}, None)

        return handle

    def _orphan_ended(self) -> None:
        for job in tuple(self.jobs.values()):
            job.check_end()  # it may have been its last process

    def check_idle(self) -> None:
        """Wake who waits for the end of all jobs."""
        if not self.jobs:
            self._idle.set()

    async def end_all(self) -> None:
        """Kill every job here (the broker is ending): SIGTERM, then SIGKILL after the grace period."""
        for job in tuple(self.jobs.values()):
            job.kill(signal.SIGTERM)
        self._idle.clear()
        while self.jobs:
            await self._idle.wait()
        self._guard.close()


_ACTIONS: dict[str, Callable[[RankJob, JSON, bytes], Any]] = {
    "exec-signal": lambda job, message, _body: job.signal(message["signum"]),
    "exec-kill": lambda job, message, _body: job.kill(message["signum"]),
    "exec-stdin": lambda job, message, body: job.stdin(message, body),
    "exec-ack": lambda job, message, _body: job.ack(message["bytes"]),
    "exec-release": lambda job, _message, _body: job.release(),
    "exec-end": lambda job, message, _body: job.end(message["tasks"]),
    "exec-file": lambda job, message, body: job.take_file(message, body),
    "pmi-release": lambda job, message, _body: job.pmi.release(message["puts"]),
}
