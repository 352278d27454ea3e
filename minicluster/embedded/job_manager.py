"""The job manager: the states of RFC 21, driven by events, each of which is appended to the job's eventlog.

What happens is written by `turns`, one transaction a turn of the loop.
"""

from __future__ import annotations

import errno
import json
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.embedded import eventlog, jobspec, log
from minicluster.embedded.allocations import Allocations
from minicluster.embedded.dependencies import Dependencies, Target
from minicluster.embedded.errors import RpcError
from minicluster.embedded.job import FLAGS, Job, State, priority_of
from minicluster.embedded.job_list import attributes
from minicluster.embedded.job_stats import JobStats
from minicluster.embedded.jobid import f58
from minicluster.embedded.output_limit import OutputLimit
from minicluster.embedded.turns import Turns
from minicluster.embedded.watchers import Watchers

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

    from minicluster.embedded.jobid import IdMaker
    from minicluster.embedded.ports import JSON, Executor, Listener
    from minicluster.embedded.queues import Queues
    from minicluster.embedded.scheduler import Scheduler
    from minicluster.embedded.services import Encoded
    from minicluster.embedded.store import Store

MAIN = "eventlog"
EXEC = "guest.exec.eventlog"


@dataclass(frozen=True, slots=True)
class Parts:
    """What the job manager works with."""

    store: Store
    scheduler: Scheduler
    queues: Queues
    executor: Executor
    ids: IdMaker
    owner: int
    clock: Callable[[], float]
    loop: asyncio.AbstractEventLoop
    log: Callable[[int, str], None]
    config: JSON  # broker.toml, parsed
    listener: Listener | None  # for the programs of malleable jobs


class JobManager:
    """Active jobs, and every way in which they change. The executor reports to it."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.active: dict[int, Job] = {}
        self.stats = JobStats(parts.queues.names())
        self.watchers = Watchers()
        self.turns = Turns(parts.store, self.watchers, self)
        self.on_inactive: list[Callable[[Job], None]] = []
        self.ready = False  # scheduling begins when the broker says so
        self.allocations = parts.scheduler.orders = Allocations(self)
        parts.scheduler.resizing.orders = self.allocations
        self._wake: asyncio.TimerHandle | None = None
        self._limits: dict[int, OutputLimit] = {}
        self.dependencies = Dependencies(self._target, self._satisfied, self._impossible)

    # -- submission ------------------------------------------------------------------------------------

    def submit(self, spec: JSON, urgency: int, flags: int) -> int:
        """Check and store a job, and return its id. Raises RpcError."""
        parsed = self._admit(spec, urgency, flags)
        now, userid = self.parts.clock(), self.parts.owner
        job = Job.of(self.parts.ids.next(now), userid, urgency, flags, parsed)
        wanted = self.dependencies.describe(parsed.dependencies)
        self.parts.store.add_job(job.id, userid, json.dumps(spec, separators=(",", ":")))
        job.t_submit = now
        self.stats.enter(job, State.NEW)
        context = {"userid": userid, "urgency": urgency, "flags": flags, "version": 1}
        self.append(job, "submit", context, jobspec=jobspec.redacted(spec))
        for description, satisfied in wanted:
            self.append(job, "dependency-add", {"description": description})
            if satisfied:
                self.append(job, "dependency-remove", {"description": description})
        self.append(job, "validate")
        self._keep_submitted(job)
        job.dependencies = [description for description, satisfied in wanted if not satisfied] or None
        self._enter(job, State.DEPEND)
        job.t_depend = now
        for description in tuple(job.dependencies or ()):
            self.dependencies.wait(job.id, description)
        self._check_depend(job)
        return job.id

    def _admit(self, spec: JSON, urgency: int, flags: int) -> jobspec.Parsed:
        if not 0 <= urgency <= 31:
            raise RpcError(errno.EINVAL, "urgency range is [0:31]")
        if flags & ~FLAGS:
            raise RpcError(errno.EPROTO, "invalid job flags")
        if isinstance(spec, dict):
            self.parts.queues.complete(spec)
        parsed = jobspec.parse(spec)
        self.parts.queues[parsed.queue]  # refuses one that is unknown
        return parsed

    def _keep_submitted(self, job: Job) -> None:
        """A job exists once it is stored; where it cannot be, the submission is refused."""
        if not self.turns.write():
            self.turns.withdraw(job.id)
            self.stats.leave(job)
            raise RpcError(errno.ENOSPC, self.turns.trouble or "")
        self.active[job.id] = job

    # -- events and states -----------------------------------------------------------------------------

    def append(
        self, job: Job, name: str, context: JSON | None = None, path: str = MAIN, **data: JSON | Encoded
    ) -> None:
        """Append an event to one of the job's eventlogs; the journal tells `data` with it."""
        line = eventlog.encode(eventlog.event(self.parts.clock(), name, context))
        self.parts.store.add_event(job.id, path, line)
        if path == MAIN:
            self.turns.post(job.id, name, line, data)
        self.turns.soon()

    def _enter(self, job: Job, state: State) -> None:
        self.stats.move(job, state)
        job.state = state

    def _check_depend(self, job: Job) -> None:
        if job.state != State.DEPEND or job.dependencies:
            return
        self.append(job, "depend")
        self._enter(job, State.PRIORITY)
        job.t_priority = self.parts.clock()
        self._prioritize(job)

    def _prioritize(self, job: Job) -> None:
        """PRIORITY → SCHED, or again in SCHED after the urgency changed."""
        priority = priority_of(job.urgency)
        if priority != job.priority:
            job.priority = priority
            self.append(job, "priority", {"priority": priority})
        if job.state == State.PRIORITY:
            self._enter(job, State.SCHED)
            job.t_sched = self.parts.clock()
        self.enqueue(job)

    def resume(self, job: Job) -> None:
        """Go on with a waiting job that was taken up from the store."""
        self._check_depend(job)
        if job.state in (State.PRIORITY, State.SCHED):
            self._prioritize(job)

    def enqueue(self, job: Job) -> None:
        """Let the scheduler have a job, unless it is held or its queue is stopped."""
        self.parts.scheduler.dequeue(job.id)
        if job.state != State.SCHED or not job.priority or not self.parts.queues[job.queue].started:
            return
        reason = self.parts.scheduler.infeasible(job)
        if reason is not None and job.restored:
            self.parts.log(log.WARNING, f"job {f58(job.id)} is kept, it does not fit any more: {reason}")
            self.annotate(job, {"sched": {"reason_pending": reason}})
            return
        if reason is not None:
            self.raise_exception(job, "alloc", 0, reason)
            return
        self.parts.scheduler.enqueue(job)
        self.turns.soon()

    def _satisfied(self, jobid: int, description: str) -> None:
        job = self.active.get(jobid)
        if job is None or job.state != State.DEPEND or description not in (job.dependencies or ()):
            return
        job.dependencies = [each for each in job.dependencies or () if each != description] or None
        self.append(job, "dependency-remove", {"description": description})
        self._check_depend(job)

    def _impossible(self, jobid: int, note: str) -> None:
        job = self.active.get(jobid)
        if job is not None and job.state == State.DEPEND:
            self.raise_exception(job, "dependency", 0, note)

    def _target(self, jobid: int) -> Target | None:
        job = self.active.get(jobid)
        if job is not None:
            return Target.of(job)
        info = self.parts.store.info(jobid)
        return Target.ended_as(json.loads(info)) if info else None

    def raise_exception(self, job: Job, kind: str, severity: int, note: str) -> None:
        """Append an exception; severity 0 ends the job."""
        if job.exception is None or severity < job.exception[1]:
            job.exception = (kind, severity, note)
        self.append(
            job, "exception", {"type": kind, "severity": severity, "note": note, "userid": self.parts.owner}
        )
        if severity == 0:
            self._fail(job, signal.SIGALRM if kind == "timeout" else signal.SIGTERM)

    def _fail(self, job: Job, signum: int) -> None:
        if job.state == State.CLEANUP:
            return
        self.parts.scheduler.dequeue(job.id)
        self.enter_cleanup(job)
        if self.allocations.leaving(job):
            job.start_pending = False
        if job.start_pending:
            self.parts.executor.kill(job.id, signum)
        else:
            self._clean(job)

    def enter_run(self, job: Job) -> None:
        """The job has its resources; the executor will have to release them."""
        self._enter(job, State.RUN)
        job.start_pending = True
        self.turns.soon()

    def enter_cleanup(self, job: Job) -> None:
        """The job runs no more, or never will."""
        self._enter(job, State.CLEANUP)
        job.t_cleanup = self.parts.clock()

    def _clean(self, job: Job) -> None:
        """CLEANUP → INACTIVE: return the resources, write what listings will show, forget the job."""
        if job.R is not None:
            self.parts.scheduler.free(job.id, self.parts.clock())
            self.append(job, "free")
        self.append(job, "clean")
        job.t_inactive = self.parts.clock()
        if job.timer is not None:
            job.timer.cancel()
            job.timer = None
        self._enter(job, State.INACTIVE)
        self.stats.end(job)
        info = json.dumps(attributes(job), separators=(",", ":"))
        self.parts.store.set_inactive(job.id, job.t_inactive, int(job.result), job.queue, info)
        del self.active[job.id]
        self._limits.pop(job.id, None)
        self.dependencies.ended(job)
        for told in self.on_inactive:
            told(job)
        self.turns.soon()

    # -- changes by request ----------------------------------------------------------------------------

    def set_urgency(self, job: Job, urgency: int) -> None:
        """Change the urgency of a job that waits, and so its priority."""
        job.urgency = urgency
        self.append(job, "urgency", {"userid": self.parts.owner, "urgency": urgency})
        if job.state == State.SCHED:
            self._prioritize(job)

    def annotate(self, job: Job, annotations: JSON) -> None:
        """Show something with the job in listings, and tell the journal."""
        annotated = {**(job.annotations or {}), **annotations}
        if annotated != job.annotations:
            job.annotations = annotated
            entry = eventlog.event(self.parts.clock(), "annotations", {"annotations": annotations})
            self.turns.post(job.id, "annotations", eventlog.encode(entry), {})

    def call_at(self, when: float, function: Callable[[], None]) -> asyncio.TimerHandle:
        """Call a function at a time of the clock."""
        return self.parts.loop.call_later(max(0.0, when - self.parts.clock()), function)

    # -- what the executor reports ---------------------------------------------------------------------

    def started(self, jobid: int) -> None:
        """All shells were told to start."""
        job = self.active.get(jobid)
        if job is not None and not job.started:
            job.started = True
            self.append(job, "start")

    def exec_event(self, jobid: int, name: str, context: JSON | None = None) -> None:
        """Append to guest.exec.eventlog."""
        if (job := self.active.get(jobid)) is not None:
            self.append(job, name, context, EXEC)

    def finished(self, jobid: int, status: int) -> None:
        """Every task ended."""
        job = self.active.get(jobid)
        if job is None or job.status is not None:
            return
        job.status = status
        self.append(job, "finish", {"status": status})
        if job.state == State.RUN:
            self.enter_cleanup(job)

    def released(self, jobid: int) -> None:
        """No rank holds anything of the job any more."""
        job = self.active.get(jobid)
        if job is None or not job.start_pending:
            return
        self.append(job, "release", {"ranks": "all", "final": True})
        job.start_pending = False
        if job.state != State.CLEANUP:
            self.enter_cleanup(job)
        self._clean(job)

    def exception(self, jobid: int, kind: str, severity: int, note: str) -> None:
        """Something went wrong with the job's processes."""
        if (job := self.active.get(jobid)) is not None:
            self.raise_exception(job, kind, severity, note)

    def task_ended(self, jobid: int, task: int) -> None:
        """A task of a malleable job ended."""
        self.allocations.task_ended(jobid, task)

    def output(self, jobid: int, task: int, stream: str, data: bytes) -> None:
        """Keep task output, up to the job's limit."""
        job = self.active.get(jobid)
        if job is None:
            return
        limit = self._limits.setdefault(jobid, OutputLimit())
        kept, warning = limit.admit(stream, data)
        if warning:
            self.shell_log(jobid, 0, log.WARNING, warning)
        if kept:
            self._output(jobid, task, stream, kept)

    def redirected(self, jobid: int, tasks: int, stream: str, path: str) -> None:
        """A stream of all tasks goes to a file."""
        if jobid in self.active:
            self._output(jobid, tasks, f"redirect-{stream}", path.encode("utf-8", "surrogateescape"))

    def shell_log(self, jobid: int, node: int, level: int, message: str) -> None:
        """A message of the job's shell, kept among its output."""
        if jobid in self.active:
            self._output(jobid, node, f"log{level}", message.encode(errors="replace"))

    def eof(self, jobid: int, task: int, stream: str) -> None:
        """A task's stream ended."""
        if jobid in self.active:
            self._output(jobid, task, stream, None)

    def _output(self, jobid: int, task: int, stream: str, data: bytes | None) -> None:
        self.parts.store.add_output(jobid, task, stream, data, self.parts.clock())
        self.turns.soon()

    # -- the turn --------------------------------------------------------------------------------------

    def decide(self) -> None:
        """Have the scheduler start jobs."""
        if self.ready:
            scheduler = self.parts.scheduler
            scheduler.decide(self.parts.clock())
            if self._wake is not None:
                self._wake.cancel()
            self._wake = None if scheduler.wake is None else self.call_at(scheduler.wake, self._woken)

    def _woken(self) -> None:
        self.parts.scheduler.woken()
        self.turns.soon()

    def launch(self) -> None:
        """Have the executor start what got resources, which is stored by now."""
        self.allocations.launch()

    def output_lost(self, jobs: Iterable[int], reason: str) -> None:
        """Output of these jobs could not be stored."""
        for jobid in jobs:
            job = self.active.get(jobid)
            if job is not None and job.state == State.RUN:
                self.raise_exception(job, "exec", 0, reason)
