"""The operator's side of the worker process for heavy documents: starts it when one comes, ends it when idle.

There is one worker, and it plans one document at a time, so that operator and worker together stay within the
operator's memory limit.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster import document
from minicluster import plan as planning
from minicluster.operator.errors import PlanningLimitError, WorkerLostError
from minicluster.operator.plan_messages import HEAD, READY, PlanAnswer, PlanRequest

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from minicluster.operator.planned import PlanInputs, Planned, Subject
    from minicluster.plan.objects.fields import Object

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """What planning one document may take, and how long a worker waits for the next one."""

    cpu_seconds: float = 1.0
    """The heaviest documents that are admitted take 0.7 s (decision 0038)."""
    megabytes: float = 64.0
    """Above what the worker takes when idle."""
    seconds: float = 15.0
    """By the clock: a machine so busy that a second of CPU takes longer cannot plan it now."""
    start_seconds: float = 60.0
    """By the clock, until a new worker is ready."""
    idle_seconds: float = 30.0
    """After the last document, until the worker ends."""


class PlanWorker:
    """A worker process with limits; another one is started after one that had to be ended."""

    def __init__(self, limits: WorkerLimits = WorkerLimits()) -> None:
        self._limits = limits
        self._turn = asyncio.Lock()
        self._process: Process | None = None
        self._idle: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The worker's process; None: there is none now."""
        return None if self._process is None else self._process.pid

    async def read(self, item: Object) -> Subject:
        """Return what must be known of a document. Raises as `Planner.read`."""
        answer = await self._answer(PlanRequest(item))
        if answer.subject is None:
            raise document.DocumentError([document.Problem("", answer.problem)])
        return answer.subject

    async def plan(self, item: Object, inputs: PlanInputs) -> Planned:
        """Return the plan of a valid document.

        Raises PlanningLimitError, UnplannableError, WorkerLostError.
        """
        answer = await self._answer(PlanRequest(item, inputs))
        if answer.unplannable:
            raise planning.UnplannableError(answer.unplannable)
        if answer.planned is None:
            raise document.DocumentError([document.Problem("", answer.problem)])
        return answer.planned

    async def close(self) -> None:
        """End the worker."""
        if self._idle is not None:
            self._idle.cancel()
        await self._end()

    async def _answer(self, request: PlanRequest) -> PlanAnswer:
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            try:
                return await self._asked(request)
            except BaseException:
                await self._end()  # also where the wait was cancelled: its answer would be the next one's
                raise
            finally:
                self._idle = asyncio.get_running_loop().call_later(self._limits.idle_seconds, self._retire)

    async def _asked(self, request: PlanRequest) -> PlanAnswer:
        """Have the worker answer. Any exception leaves it in a state in which it must be ended."""
        if self._process is not None and self._process.returncode is not None:
            self._process = None  # it ended by itself, for no document's sake
        is_used = self._process is not None
        answer = await self._exchanged(request)
        if answer.out_of_memory and is_used:
            await self._end()  # the memory that former documents have left in pieces counts for no other one
            answer = await self._exchanged(request)
        if answer.out_of_memory:
            raise PlanningLimitError(f"planning took more than {self._limits.megabytes:g} MB")
        if answer.defect:
            raise RuntimeError(f"in the worker: {answer.defect}")
        return answer

    async def _exchanged(self, request: PlanRequest) -> PlanAnswer:
        process = self._process or await self._begin()
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await _exchange(process, pickle.dumps(request))
        except TimeoutError:
            limit = f"{self._limits.seconds:g} s"
            raise PlanningLimitError(f"planning did not end within {limit} on this machine") from None
        except (OSError, asyncio.IncompleteReadError):
            raise await self._ended(process) from None

    async def _ended(self, process: Process) -> PlanningLimitError:
        """Return why a worker has ended that was to plan a document."""
        code = await process.wait()
        if code == -signal.SIGPROF:
            return PlanningLimitError(f"planning took more than {self._limits.cpu_seconds:g} s of CPU time")
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return PlanningLimitError(f"the process that planned it was ended {how}")

    async def _begin(self) -> Process:
        """Start a worker. Raises WorkerLostError."""
        arguments = (str(self._limits.cpu_seconds), str(self._limits.megabytes))
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "minicluster.operator.plan_process",
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            async with asyncio.timeout(self._limits.start_seconds):
                greeting = await self._process.stdout.readexactly(len(READY))  # type: ignore[union-attr]  # a pipe
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise WorkerLostError(f"no process for heavy documents could be started: {error!r}") from error
        if greeting != READY:
            raise WorkerLostError(f"the process for heavy documents began with {greeting!r}")
        log.debug("began process %d for heavy documents", self._process.pid)
        return self._process

    def _retire(self) -> None:
        """Let an idle worker end: its input ends."""
        if not self._turn.locked() and self._process is not None:
            process, self._process = self._process, None
            process.stdin.close()  # type: ignore[union-attr]  # a pipe

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            with suppress(OSError):  # asked for, or asyncio would log that nobody did
                await process.stdin.wait_closed()  # type: ignore[union-attr]  # a pipe


async def _exchange(process: Process, request: bytes) -> PlanAnswer:
    requests, answers = process.stdin, process.stdout
    if requests is None or answers is None:
        raise WorkerLostError("the process for heavy documents has no pipes")
    requests.write(HEAD.pack(len(request)) + request)
    await requests.drain()
    (length,) = HEAD.unpack(await answers.readexactly(HEAD.size))
    answer: PlanAnswer = pickle.loads(await answers.readexactly(length))  # noqa: S301  # our own process
    return answer
