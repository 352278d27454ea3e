"""The tasks of jobs on one rank: it passes the lead's messages to the jobs, and ends all of them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

from minicluster.embedded.execution import messages
from minicluster.embedded.execution.messages import InputTaken, M
from minicluster.embedded.execution.rank.guard import Guard
from minicluster.embedded.execution.rank.rank_job import RankJob, RankSettings
from minicluster.embedded.execution.rank_launch import RankLaunch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.embedded.execution.messages import MessageType, StartTasks, ToLead, WriteInput
    from minicluster.embedded.overlay.overlay import Overlay

KILLED_SECONDS = 2.0
"""After SIGKILL what ends has ended after so long."""


class Tasks:
    """All jobs on this rank."""

    def __init__(self, overlay: Overlay, settings: RankSettings) -> None:
        self._overlay = overlay
        self._settings = settings
        self._jobs: dict[int, RankJob] = {}
        self._idle: asyncio.Event = asyncio.Event()
        self._guard = Guard(settings.broker.marker)
        settings.reaper.orphan_ended = self._orphan_ended
        self._on(messages.START, self._start)
        self._on(messages.STDIN, self._write_input)
        self._on_job(messages.SIGNAL, lambda job, message, _: job.processes.signal(message["signum"]))
        self._on_job(messages.KILL, lambda job, message, _: job.processes.kill(message["signum"]))
        self._on_job(messages.END, lambda job, message, _: job.processes.end(message["tasks"]))
        self._on_job(messages.ACK, lambda job, message, _: job.output.window.taken(message["bytes"]))
        self._on_job(messages.FILE, lambda job, message, body: job.output.take(message, body))
        self._on_job(messages.RELEASE, lambda job, _message, _body: job.release())
        self._on_job(messages.LIMIT, lambda job, message, _: job.limits.change(message))
        self._on_job(messages.PMI_RELEASE, lambda job, message, _: job.pmi.release(message["puts"]))

    def _on(self, kind: MessageType[M], handler: Callable[[int, M, bytes], None]) -> None:
        """Register `handler` for messages of this type."""
        self._overlay.on(kind.name, handler)

    def _on_job(self, kind: MessageType[M], act: Callable[[RankJob, M, bytes], None]) -> None:
        """Register `act` for messages of this type about jobs on this rank."""

        def handle(_rank: int, message: M, body: bytes) -> None:
            job = self._jobs.get(message["job"])
            if job is not None:
                act(job, message, body)

        self._on(kind, handle)

    def _send(self, message: ToLead, body: bytes | None = None) -> None:
        self._overlay.send(0, message, body)

    def _start(self, _rank: int, message: StartTasks, _body: bytes) -> None:
        rank_launch = RankLaunch.of_fields(message["share"])
        if rank_launch.id in self._jobs:
            self._jobs[rank_launch.id].extend(rank_launch)
            return
        self._guard.start(self._groups(rank_launch))
        job = self._jobs[rank_launch.id] = RankJob(
            rank_launch, self._settings, self._send, lambda: self._ended(rank_launch.id)
        )
        job.start()

    def _groups(self, rank_launch: RankLaunch) -> Sequence[str]:
        """Return the directories of the broker's control groups, where a job has a CPU limit."""
        enforcer = self._settings.enforcer
        return () if rank_launch.limit is None or enforcer is None else enforcer().directories

    def _ended(self, job: int) -> None:
        del self._jobs[job]
        if not self._jobs:
            self._idle.set()

    def _write_input(self, _rank: int, message: WriteInput, body: bytes) -> None:
        """Write input to a job's tasks. For a job that is gone it is acknowledged at once."""
        job = self._jobs.get(message["job"])
        if job is not None:
            job.input.write(message, body)
        else:
            self._send(InputTaken(type="exec-stdin-done", job=message["job"], seq=message["seq"]))

    def _orphan_ended(self) -> None:
        for job in tuple(self._jobs.values()):
            job.check_end()  # it may have been its last process

    async def end_all(self) -> None:
        """End every job here, as the broker ends: SIGTERM, then SIGKILL after the grace period.

        A process that has left its session and environment is known by nothing, and may have a task's output
        open for ever: it is not waited for, as the broker kills all that is below it at its end.
        """
        for job in tuple(self._jobs.values()):
            job.processes.kill(signal.SIGTERM)
        self._idle.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.grace + KILLED_SECONDS):
                while self._jobs:
                    await self._idle.wait()
        self._guard.close()
