"""The malleable jobs that run, and the connections of their programs.

`minicluster.malleable` has the protocol between an instance and a program. What the instance does about the
program's answers is in `malleable_program`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from broker_config.formats.jobid import f58
from minicluster.embedded.configuration import order_timeout
from minicluster.embedded.jobs.malleable_program import MalleableContext, MalleableProgram
from minicluster.embedded.log import ERR
from minicluster.embedded.settings import configured
from minicluster.malleable.credentials import Credentials, fresh_token
from minicluster.malleable.exchange import Exchange
from minicluster.malleable.session import Limits, Session
from minicluster.malleable.speaker import NOT_YET
from queue_policies.nodes.slots import slots_of
from queue_policies.orders.program import LEAVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_config.formats.jobspec import RequestedResources
    from broker_config.formats.resource_set import Allocation
    from minicluster.embedded.jobs.allocations import Allocations
    from minicluster.embedded.jobs.commit_loop import CommitLoop
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.lifecycle import JobLifecycle
    from minicluster.embedded.jobs.parts import Parts
    from minicluster.embedded.ports import Listener
    from minicluster.malleable.events import Step
    from queue_policies.orders.records import GrowOrder, ShrinkOrder


class MalleableJobs:
    """Implements `callers.Callers` for the connections of all programs."""

    def __init__(
        self,
        parts: Parts,
        log: JobLog,
        commits: CommitLoop,
        lifecycle: JobLifecycle,
        allocations: Allocations,
    ) -> None:
        self._parts = parts
        self._commits = commits
        self._allocations = allocations
        self._exchange = Exchange()
        self._programs: dict[int, MalleableProgram] = {}
        self._by_name: dict[str, MalleableProgram] = {}
        seconds = order_timeout(parts.config)
        self._limits = Limits(answer=seconds, join=seconds, work=10 * seconds)
        leave = configured(parts.config.get("exec", {}).get("kill-timeout", LEAVE), "[exec] kill-timeout")
        self._around = MalleableContext(parts, log, commits, allocations, leave, self._take)
        lifecycle.on_failed.append(self._leaving)
        lifecycle.on_inactive.append(self._ended)

    def begin(self, job: ActiveJob, request: RequestedResources, allocation: Allocation) -> None:
        """Add a job that starts with these resources."""
        slots = slots_of(allocation, request)
        record = self._parts.scheduler.running[job.id].elastic
        most = record.max // (request.size // request.workers) if record is not None else len(slots)
        least = job.elastic.least if job.elastic is not None else len(slots)
        workers = {task: self._allocations.host(slot) for task, slot in enumerate(slots)}
        session = Session(f58(job.id), fresh_token(), least, most, workers, self._limits)
        program = MalleableProgram(job, session, slots, self._around)
        self._programs[job.id] = self._by_name[session.job] = program
        self._exchange.add(session)

    def credentials(self, job: ActiveJob) -> str | None:
        """Return the content of the program's credentials file; None where the lead cannot listen."""
        listener = self._parts.listener
        if listener is None:
            return None
        session = self._programs[job.id].session
        try:
            address = listener.open(self)
        except OSError as error:
            text = f"job {session.job} is not malleable: nothing listens for its program: {error.strerror}"
            self._parts.log(ERR, text)
            return None
        return Credentials(address, session.job, session.token).text()

    def order(self, order: GrowOrder | ShrinkOrder, on_end: Callable[[str], None] | None = None) -> None:
        """Pass on an order to grow into resources that are reserved for the job, or to shrink.

        `on_end` is called with why the order failed; with an empty text when it is done.
        """
        self._programs[order.job].order(order, on_end)

    def obstacle(self, job: int) -> str:
        """Return why the job's program takes no orders; empty where it does."""
        return self._programs[job].session.speaker.obstacle if job in self._programs else NOT_YET

    def task_ended(self, job: int, task: int) -> None:
        """Note that a task ended, for any reason."""
        if job in self._programs:
            self._programs[job].task_ended(task)

    def _leaving(self, job: ActiveJob) -> None:
        """Give a job that ends no more orders."""
        if job.id in self._programs:
            self._parts.scheduler.resizing.set_accepting(job.id, False)

    def _ended(self, job: ActiveJob) -> None:
        program = self._programs.pop(job.id, None)
        if program is not None:
            program.close()
            self._take(self._exchange.remove(program.session.job))
            del self._by_name[program.session.job]

    def opened(self, connection: int) -> None:
        """A program or worker connected."""
        self._take(self._exchange.opened(connection))

    def received(self, connection: int, data: bytes) -> None:
        """A program or worker sent data."""
        self._take(self._exchange.received(connection, data, self._parts.clock()))

    def closed(self, connection: int) -> None:
        """A program's or worker's connection was closed, or lost."""
        self._take(self._exchange.closed(connection, self._parts.clock()))

    def _take(self, step: Step) -> None:
        """Send a step's data, close its connections, and process its events."""
        listener = cast("Listener", self._parts.listener)
        for connection, data in step.sends:
            listener.send(cast("int", connection), data)
        for connection in step.closes:
            listener.hang_up(cast("int", connection))
        for event in step.events:
            program = self._by_name.get(event.job)
            if program is not None:
                program.happened(event)
                self._commits.schedule()
