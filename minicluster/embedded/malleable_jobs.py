"""Malleable jobs while they run: who speaks for each, which worker holds what, and orders on their way.

What is said between an instance and a program is `minicluster.malleable`'s business; here is what follows
from it: tasks start and end, resources move, the scheduler and the job's eventlog are told. The events are
`resize-order {order, size}`, then `resource-update {order, size, R_lite, nodelist, nslots}`, or
`resize-refused` or `resize-expired {order, reason}` at the old size. How far an order is, guest.exec.eventlog
tells: `resize-accept {order}` (workers are started) and `resize-join` (all of them have called), or
`resize-release` (those that leave hold no data any more). Resources held for a growth that came to nothing
are free once every process that was started on them has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from minicluster.embedded import elastic
from minicluster.embedded.configuration import order_timeout
from minicluster.embedded.durations import configured
from minicluster.embedded.job import State
from minicluster.embedded.jobid import f58
from minicluster.embedded.log import ERR
from minicluster.malleable import events
from minicluster.malleable.credentials import Credentials, fresh_token
from minicluster.malleable.errors import NotHeeding
from minicluster.malleable.exchange import Exchange
from minicluster.malleable.session import Limits, Session

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from minicluster.embedded.allocations import Allocations
    from minicluster.embedded.elastic import Place
    from minicluster.embedded.job import Job
    from minicluster.embedded.job_manager import JobManager
    from minicluster.embedded.jobspec import Resources
    from minicluster.embedded.ports import Listener
    from minicluster.embedded.resource_set import Holding
    from minicluster.malleable.events import Event, Step

PAUSE = 10.0
"""Seconds for which a program that refused an order, or did not do it, is given no other."""
LEAVE = 5.0
"""Seconds that released workers have to end by themselves before they are ended; `[exec] kill-timeout`."""


@dataclass(slots=True)
class Program:
    """A malleable job that runs."""

    job: Job
    session: Session
    places: dict[int, Place]  # of workers by task: members, and those started for an order
    alive: set[int]
    order: int = 0
    reserved: list[Place] = field(default_factory=list)  # for the workers of an order to grow
    rests: bool = False  # after an order that came to nothing
    expired: str = ""  # why an order came to nothing whose workers still end
    timer: asyncio.TimerHandle | None = None
    due: float | None = None

    @property
    def heeds(self) -> bool:
        """Whether it takes an order now."""
        free = not self.reserved and not self.rests and not self.expired
        return self.session.heeds and free and self.job.state == State.RUN


class MalleableJobs:
    """All of them. It is `ports.Callers` for their programs' connections."""

    def __init__(self, manager: JobManager, allocations: Allocations) -> None:
        self._manager = manager
        self._parts = manager.parts
        self._scheduler = manager.parts.scheduler
        self._allocations = allocations
        self._exchange = Exchange()
        self._programs: dict[int, Program] = {}
        self._by_name: dict[str, Program] = {}
        config = self._parts.config
        seconds = order_timeout(config)
        self._limits = Limits(answer=seconds, join=seconds, work=10 * seconds)
        self._leave = configured(config.get("exec", {}).get("kill-timeout", LEAVE), "[exec] kill-timeout")
        self._happens: dict[type[Event], Callable[[Program, object], None]] = {
            events.Accepted: lambda program, event: self._accepted(program, cast("events.Accepted", event)),
            events.Joined: lambda program, event: self._joined(program, cast("events.Joined", event)),
            events.Released: lambda program, event: self._released(program, cast("events.Released", event)),
            events.Resized: lambda program, event: self._resized(program, cast("events.Resized", event)),
            events.Refused: lambda program, event: self._refused(program, cast("events.Refused", event)),
            events.Expired: lambda program, event: self._expired(program, cast("events.Expired", event)),
            events.Progress: lambda program, event: self._progress(program, cast("events.Progress", event)),
        }

    # -- a job's life ----------------------------------------------------------------------------------

    def begin(self, job: Job, request: Resources, holding: Holding) -> None:
        """The job starts with these resources."""
        places = elastic.places(holding, request)
        hosts = self._allocations.hosts(places)
        record = self._scheduler.running[job.id].elastic
        most = record.max // (request.size // request.workers) if record is not None else len(places)
        least = job.elastic.least if job.elastic is not None else len(places)
        workers = dict(enumerate(hosts))
        session = Session(f58(job.id), fresh_token(), least, most, workers, self._limits)
        program = Program(job, session, dict(enumerate(places)), set(workers))
        self._programs[job.id] = self._by_name[session.job] = program
        self._exchange.add(session)

    def credentials(self, job: Job) -> str | None:
        """Return the file by which the job's program reaches the instance; None where nobody listens."""
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

    def leaving(self, job: Job) -> None:
        """The job ends: it is given no more orders."""
        if job.id in self._programs:
            self._scheduler.resizing.heeds(job.id, False)

    def ended(self, job: Job) -> None:
        """The job is over."""
        program = self._programs.pop(job.id, None)
        if program is not None:
            if program.timer is not None:
                program.timer.cancel()
            self._take(self._exchange.remove(program.session.job))
            del self._by_name[program.session.job]

    def task_ended(self, job: int, task: int) -> None:
        """A task ended, whatever the reason."""
        program = self._programs.get(job)
        if program is None:
            return
        program.alive.discard(task)
        self._take(program.session.ended(task, self._parts.clock()))
        self._check_expired(program)

    # -- orders ----------------------------------------------------------------------------------------

    def grow(self, job: int, more: Holding) -> None:
        """Order a job to grow into these resources, which are held for it."""
        program = self._programs[job]
        program.reserved = elastic.places(more, self._request(program))
        hosts = self._allocations.hosts(program.reserved)
        self._order(program, len(hosts), lambda now: program.session.grow(hosts, now))

    def shrink(self, job: int, workers: int) -> None:
        """Order a job to give up so many workers."""
        program = self._programs[job]
        self._order(program, -workers, lambda now: program.session.shrink(workers, now))

    def _order(self, program: Program, change: int, send: Callable[[float], Step]) -> None:
        size = program.session.size + change
        try:
            step = send(self._parts.clock())
        except (NotHeeding, ValueError) as error:
            self._parts.loop.call_soon(self._over, program, "resize-refused", str(error))
            return
        program.order = program.session.order.id if program.session.order is not None else 0
        self._manager.append(program.job, "resize-order", {"order": program.order, "size": size})
        self._take(step)
        self._arm(program)

    def _request(self, program: Program) -> Resources:
        return cast("Resources", self._scheduler.running[program.job.id].request)

    # -- what the programs' connections bring ----------------------------------------------------------

    def opened(self, connection: int) -> None:
        """Somebody connected."""
        self._take(self._exchange.opened(connection))

    def received(self, connection: int, data: bytes) -> None:
        """Somebody said something."""
        self._take(self._exchange.received(connection, data, self._parts.clock()))

    def closed(self, connection: int) -> None:
        """Somebody hung up, or is gone."""
        self._take(self._exchange.closed(connection, self._parts.clock()))

    def _take(self, step: Step) -> None:
        """Send what is to be sent, and let happen what happened."""
        listener = cast("Listener", self._parts.listener)
        for connection, data in step.sends:
            listener.send(cast("int", connection), data)
        for connection in step.closes:
            listener.hang_up(cast("int", connection))
        for event in step.events:
            program = self._by_name.get(event.job)
            if program is not None:
                self._happened(program, event)

    def _happened(self, program: Program, event: Event) -> None:
        happens = self._happens.get(type(event))
        if happens is not None:
            happens(program, event)
        elif program.session.order is None and not program.reserved:  # Registered, Deregistered
            self._tell_heeds(program)
        self._arm(program)
        self._manager.turns.soon()

    def _tell_heeds(self, program: Program) -> None:
        self._scheduler.resizing.heeds(program.job.id, program.heeds)

    def _arm(self, program: Program) -> None:
        """Look at the order under way when its time is over."""
        due = program.session.deadline
        if program.timer is not None and due != program.due:
            program.timer.cancel()
            program.timer = None
        if due is not None and program.timer is None:
            program.due = due
            program.timer = self._manager.call_at(due, lambda: self._tick(program))

    def _tick(self, program: Program) -> None:
        program.timer = None
        self._take(program.session.tick(self._parts.clock()))
        self._arm(program)

    # -- what became of an order -----------------------------------------------------------------------

    def _accepted(self, program: Program, event: events.Accepted) -> None:
        """Start the workers of a growth, each in a place on its host."""
        if program.job.state != State.RUN:
            self._take(program.session.failed("the job is ending", self._parts.clock()))
            return
        self._stage(program, "resize-accept", event.order)
        left = dict(enumerate(zip(self._allocations.hosts(program.reserved), program.reserved, strict=True)))
        places = {}
        for task, host in event.workers.items():
            number = next(each for each, (name, _) in left.items() if name == host)
            places[task] = left.pop(number)[1]
        program.places |= places
        program.alive |= set(places)
        hosts = {place.rank: event.workers[task] for task, place in places.items()}
        self._parts.executor.extend(program.job.id, event.order, places, hosts)

    def _stage(self, program: Program, name: str, order: int) -> None:
        self._manager.exec_event(program.job.id, name, {"order": order})

    def _joined(self, program: Program, event: events.Joined) -> None:
        self._stage(program, "resize-join", event.order)

    def _released(self, program: Program, event: events.Released) -> None:
        """Let workers of a shrink end; who stays too long is ended."""
        self._stage(program, "resize-release", event.order)
        self._parts.executor.dismiss(program.job.id, self._places(program, event.workers))
        self._parts.loop.call_later(self._leave, lambda: self._end(program, event.workers))

    def _places(self, program: Program, tasks: Sequence[int]) -> Mapping[int, Place]:
        return {task: program.places[task] for task in tasks}

    def _end(self, program: Program, tasks: Sequence[int]) -> None:
        left = program.alive.intersection(tasks)
        if left and program.job.id in self._programs:
            self._parts.executor.end_tasks(program.job.id, left)

    def _resized(self, program: Program, event: events.Resized) -> None:
        lost = [program.places.pop(task) for task in event.lost]
        program.reserved = []
        if event.gained:
            self._parts.executor.admit(program.job.id, event.gained)
        job, now = program.job, self._parts.clock()
        request = self._request(program).with_workers(event.size)
        self._scheduler.resized(job.id, event.size, lost, now, heeds=program.heeds)
        self._allocations.resized(job, event.order, request)

    def _refused(self, program: Program, event: events.Refused) -> None:
        self._over(program, "resize-refused", event.reason)

    def _expired(self, program: Program, event: events.Expired) -> None:
        program.expired = event.reason
        self._end(program, event.workers)
        self._check_expired(program)

    def _check_expired(self, program: Program) -> None:
        """Return what was held for a growth once nothing that was started for it lives."""
        reason = program.expired
        if reason and not any(program.places.get(task) in program.reserved for task in program.alive):
            program.expired = ""
            self._over(program, "resize-expired", reason)

    def _over(self, program: Program, name: str, reason: str) -> None:
        """An order came to nothing."""
        unused, program.reserved = program.reserved, []
        program.places = {task: place for task, place in program.places.items() if place not in unused}
        job = program.job
        program.rests = True
        self._manager.call_at(self._parts.clock() + PAUSE, lambda: self._rested(program))
        if job.id in self._programs:
            now, size = self._parts.clock(), program.session.size
            self._scheduler.resizing.refused(job.id, size, elastic.holding(unused), now)
            self._manager.append(job, name, {"order": program.order, "reason": reason})

    def _rested(self, program: Program) -> None:
        program.rests = False
        if program.session.order is None:
            self._tell_heeds(program)
            self._manager.turns.soon()

    def _progress(self, program: Program, event: events.Progress) -> None:
        self._scheduler.progressed(program.job.id, event.share, self._parts.clock())
