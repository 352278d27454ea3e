"""Malleable jobs of real Flux while they run: a base job, and a companion job for each worker besides.

Flux cannot resize a job that runs. So a malleable job starts at its least size, and an order to grow that its
program has accepted submits a job a worker: the same command, placed by the scheduler where it holds
resources for exactly this one. What is said to programs and by them is `minicluster.malleable`'s business.
Released companions end by themselves, or are ended; so are all when their base job ends. Nothing here waits:
`Flux` is asked, and tells later.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from minicluster.embedded import elastic
from minicluster.embedded.jobid import f58
from minicluster.flux_modules.scheduler.companion_jobspec import Companion, companion
from minicluster.malleable import events
from minicluster.malleable.credentials import Credentials, fresh_token
from minicluster.malleable.errors import NotHeeding
from minicluster.malleable.exchange import Exchange
from minicluster.malleable.session import Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from minicluster.embedded.elastic import Place
    from minicluster.embedded.jobspec import Resources
    from minicluster.embedded.resource_set import Holding
    from minicluster.flux_modules.scheduler.scheduling import Scheduling
    from minicluster.malleable.events import Connection, Event, Step

PAUSE = 10.0
"""Seconds for which a program that refused an order, or did not do it, is given no other."""
LEAVE = 5.0
"""Seconds that released workers have to end by themselves before they are cancelled."""
FAREWELL = 0.5
"""Seconds that workers have to end by themselves once their base job has ended."""


class Flux(Protocol):
    """What the controller needs of the instance. Answers come later, never from within these calls."""

    def clock(self) -> float:
        """The time."""

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back."""

    def look_up(self, job: int, then: Callable[[dict[str, Any] | None], None]) -> None:
        """Ask for a job's whole jobspec; None where there is none."""

    def submit(self, jobspec: dict[str, Any], then: Callable[[int | str], None]) -> None:
        """Submit a job, ahead of others; its id, or why that failed."""

    def cancel(self, job: int, reason: str) -> None:
        """End a job, if it has not ended."""

    def tell(self, job: int, note: dict[str, Any]) -> None:
        """Write it to a job's annotations and eventlog."""

    def send(self, connection: Connection, data: bytes) -> None:
        """Send to a program."""

    def hang_up(self, connection: Connection) -> None:
        """Close a connection once all is sent."""

    def address(self) -> str:
        """Where programs reach the controller, host:port. Raises OSError."""

    def decide_soon(self) -> None:
        """Something changed that the policy should see."""


@dataclass(slots=True)
class Worker:
    """One that an order has added, or is to add."""

    task: int
    place: Place
    job: int | None = None  # the companion, as soon as it is known
    alive: bool = False  # it was given its place, and has not ended


@dataclass(slots=True)
class Base:
    """A malleable job that runs."""

    job: int
    credentials: Credentials
    session: Session
    workers: dict[int, Worker] = field(default_factory=dict)  # by task
    order: int = 0
    reserved: list[Place] = field(default_factory=list)
    starting: set[int] = field(default_factory=set)  # tasks of the order under way
    rests: bool = False
    expired: str = ""  # why an order came to nothing whose workers still end
    due: float | None = None

    @property
    def heeds(self) -> bool:
        """Whether it takes an order now."""
        return self.session.heeds and not (self.reserved or self.rests or self.expired)


class Companions:
    """All of them. `hosts` names those of ranks."""

    def __init__(self, flux: Flux, scheduling: Scheduling, hosts: Callable[[int], str], limit: float) -> None:
        self._flux = flux
        self._scheduling = scheduling
        self._resizing = scheduling.resizing
        self._resizing.orders = self
        self._hosts = hosts
        self._limits = Limits(answer=limit, join=limit, work=10 * limit)
        self._exchange = Exchange()
        self._bases: dict[int, Base] = {}
        self._names: dict[str, Base] = {}
        self._of: dict[int, tuple[int, int]] = {}  # companions: base and task
        self._strays: dict[int, int] = {}  # from before this controller: companions, and their bases

    # -- the jobs' lives -------------------------------------------------------------------------------

    def begin(self, job: int, holding: Holding, more: Sequence[Place]) -> Credentials:
        """A malleable job starts with these resources, and what its tasks are given is returned.

        When its program registers, it is ordered to grow into the places held besides. Raises OSError.
        """
        record = self._scheduling.running[job]
        request = cast("Resources", record.request)
        places = elastic.places(holding, request)
        workers = {task: self._hosts(place.rank) for task, place in enumerate(places)}
        size = len(workers)
        most = record.elastic.max // (request.size // request.workers) if record.elastic else size
        credentials = Credentials(self._flux.address(), f58(job), fresh_token())
        session = Session(credentials.job, credentials.token, size, most, workers, self._limits, firm=size)
        base = Base(job, credentials, session, reserved=list(more))
        self._bases[job] = self._names[session.job] = base
        self._exchange.add(session)
        if more:
            self._flux.call_later(self._limits.join, lambda: self._unheard(base))
        return credentials

    def _unheard(self, base: Base) -> None:
        """Nothing is held any longer for a program that does not register."""
        if not base.order and base.session.order is None:
            self._over(base, f"expired: the program did not register in {self._limits.join:g} s")

    def claim(self, job: int, whose: Companion) -> tuple[Holding, Credentials] | str:
        """A job asks to be placed as a companion: its place and what its task gets, or why it has none."""
        base = next((each for each in self._bases.values() if f58(each.job) == whose.of), None)
        worker = None if base is None else base.workers.get(whose.task)
        if base is None or worker is None or worker.alive:
            return f"{whose.of} waits for no such companion"
        if worker.job not in (None, job) or whose.task not in base.starting or base.expired:
            return f"{whose.of} waits for no such companion any more"
        worker.job, worker.alive = job, True
        self._of[job] = (base.job, worker.task)
        return elastic.holding([worker.place]), replace(base.credentials, offset=worker.task)

    def ended(self, job: int) -> bool:
        """A job has ended; whether it was a companion, whose place is its base job's."""
        if job in self._bases:
            self._end(self._bases.pop(job))
        self._strays.pop(job, None)
        for stray, of in tuple(self._strays.items()):
            if of == job:
                self._flux.cancel(stray, "its base job has ended")
        if job not in self._of:
            return False
        of, task = self._of.pop(job)
        base = self._bases.get(of)
        if base is None:  # it has a record of its own since its base ended
            return False
        base.workers[task].alive = False
        self._take(base.session.ended(task, self._flux.clock()))
        self._check_expired(base)
        return True

    def _end(self, base: Base) -> None:
        """The base job is over: its companions go, too."""
        del self._names[base.session.job]
        self._take(self._exchange.remove(base.session.job))
        for worker in base.workers.values():
            if worker.alive and worker.job is not None:
                self._scheduling.part(base.job, worker.job, elastic.holding([worker.place]))
        jobs = [worker.job for worker in base.workers.values() if worker.job is not None and worker.alive]
        if jobs:
            self._flux.call_later(FAREWELL, lambda: self._cancel(jobs, "its base job has ended"))

    def adopt(self, companions: dict[int, str], running: Collection[int]) -> None:
        """Companions that ran before this module was loaded, and the F58 ids of their base jobs.

        Their programs have lost their connection, and keep their size.
        """
        bases = {f58(job): job for job in running}
        for job, of in companions.items():
            if of in bases:
                self._strays[job] = bases[of]
            else:
                self._flux.cancel(job, "its base job has ended")

    def _cancel(self, jobs: Iterable[int], reason: str) -> None:
        for job in jobs:
            if job in self._of:
                self._flux.cancel(job, reason)

    # -- orders ----------------------------------------------------------------------------------------

    def grow(self, job: int, more: Holding) -> None:
        """Order a job to grow into these resources, which are held for it."""
        base = self._bases[job]
        base.reserved = elastic.places(more, self._request(base))
        self._grow(base)

    def shrink(self, job: int, workers: int) -> None:
        """Order a job to give up so many workers."""
        base = self._bases[job]
        self._order(base, lambda now: base.session.shrink(workers, now))

    def _grow(self, base: Base) -> None:
        hosts = [self._hosts(place.rank) for place in base.reserved]
        self._order(base, lambda now: base.session.grow(hosts, now))

    def _order(self, base: Base, send: Callable[[float], Step]) -> None:
        try:
            step = send(self._flux.clock())
        except (NotHeeding, ValueError) as error:
            reason = str(error)
            self._flux.call_later(0.0, lambda: self._over(base, f"refused: {reason}"))
            return
        base.order = base.session.order.id if base.session.order is not None else 0
        self._take(step)
        self._arm(base)

    def _request(self, base: Base) -> Resources:
        return cast("Resources", self._scheduling.running[base.job].request)

    # -- what the programs' connections bring ----------------------------------------------------------

    def opened(self, connection: Connection) -> None:
        """Somebody connected."""
        self._take(self._exchange.opened(connection))

    def received(self, connection: Connection, data: bytes) -> None:
        """Somebody said something."""
        self._take(self._exchange.received(connection, data, self._flux.clock()))

    def closed(self, connection: Connection) -> None:
        """Somebody hung up, or is gone."""
        self._take(self._exchange.closed(connection, self._flux.clock()))

    def _take(self, step: Step) -> None:
        for connection, data in step.sends:
            self._flux.send(connection, data)
        for connection in step.closes:
            self._flux.hang_up(connection)
        for event in step.events:
            base = self._names.get(event.job)
            if base is not None:
                self._happened(base, event)
                self._arm(base)
                self._flux.decide_soon()

    def _happened(self, base: Base, event: Event) -> None:
        if isinstance(event, events.Accepted):
            self._accepted(base, event)
        elif isinstance(event, events.Released):
            workers = [base.workers[task] for task in event.workers]
            jobs = [worker.job for worker in workers if worker.job is not None]
            self._flux.call_later(LEAVE, lambda: self._cancel(jobs, "its job has shrunk"))
        elif isinstance(event, events.Resized):
            self._resized(base, event)
        elif isinstance(event, events.Refused):
            self._over(base, f"refused: {event.reason}")
        elif isinstance(event, events.Expired):
            self._expired(base, event)
        elif isinstance(event, events.Progress):
            self._resizing.progressed(base.job, event.share, self._flux.clock())
        elif isinstance(event, events.Registered) and base.reserved and not base.order:
            self._grow(base)
        elif base.session.order is None and not base.reserved:  # Registered, Deregistered
            self._resizing.heeds(base.job, base.heeds)

    def _arm(self, base: Base) -> None:
        """Look at the order under way when its time is over."""
        due = base.session.deadline
        if due is not None and due != base.due:
            self._flux.call_later(max(0.0, due - self._flux.clock()), lambda: self._tick(base))
        base.due = due

    def _tick(self, base: Base) -> None:
        if base.job in self._bases:
            self._take(base.session.tick(self._flux.clock()))

    # -- what became of an order -----------------------------------------------------------------------

    def _accepted(self, base: Base, event: events.Accepted) -> None:
        """Submit the companions of a growth, each for a place on its host."""
        left = list(base.reserved)
        for task, host in event.workers.items():
            place = next(each for each in left if self._hosts(each.rank) == host)
            left.remove(place)
            base.workers[task] = Worker(task, place)
        base.starting = set(event.workers)
        self._flux.look_up(base.job, lambda spec: self._submit(base, event.order, spec))

    def _submit(self, base: Base, order: int, spec: dict[str, Any] | None) -> None:
        under_way = base.session.order
        if under_way is None or under_way.id != order or base.job not in self._bases:
            return
        if spec is None:
            self._take(base.session.failed("the job's own jobspec cannot be read", self._flux.clock()))
            return
        for task in sorted(base.starting):
            whose = Companion(f58(base.job), task)
            made = companion(spec, whose, order)
            self._flux.submit(made, lambda answer, task=task: self._submitted(base, task, answer))  # type: ignore[misc]

    def _submitted(self, base: Base, task: int, answer: int | str) -> None:
        """The companion has an id now; that it has a place may have come before."""
        worker = base.workers.get(task) if base.job in self._bases and not base.expired else None
        if isinstance(answer, int) and worker is None:
            self._flux.cancel(answer, "nobody waits for it any more")
        elif worker is not None and isinstance(answer, int):
            worker.job = answer
        elif worker is not None:
            self._take(base.session.failed(f"a companion cannot be submitted: {answer}", self._flux.clock()))

    def _resized(self, base: Base, event: events.Resized) -> None:
        lost = [base.workers.pop(task).place for task in event.lost]
        base.reserved, base.starting = [], set()
        now = self._flux.clock()
        self._resizing.resized(base.job, event.size, lost, now, heeds=base.heeds)
        self._tell(base, "done")

    def _expired(self, base: Base, event: events.Expired) -> None:
        base.expired = event.reason
        for task in event.workers:
            worker = base.workers[task]
            if worker.job is not None:
                self._flux.cancel(worker.job, f"order {event.order} is over: {event.reason}")
        self._check_expired(base)

    def _check_expired(self, base: Base) -> None:
        """Return what was held for a growth once nothing that was started for it lives."""
        if base.expired and not any(base.workers[task].alive for task in base.starting):
            reason, base.expired = base.expired, ""
            self._over(base, f"expired: {reason}")

    def _over(self, base: Base, what: str) -> None:
        """An order came to nothing."""
        if base.job not in self._bases:
            return
        unused, base.reserved = base.reserved, []
        for task in base.starting:
            del base.workers[task]
        base.starting = set()
        base.rests = True
        self._flux.call_later(PAUSE, lambda: self._rested(base))
        self._resizing.refused(base.job, base.session.size, elastic.holding(unused), self._flux.clock())
        self._tell(base, what)
        self._flux.decide_soon()

    def _rested(self, base: Base) -> None:
        base.rests = False
        if base.job in self._bases and base.session.order is None:
            self._resizing.heeds(base.job, base.heeds)
            self._flux.decide_soon()

    def _tell(self, base: Base, what: str) -> None:
        names = [f58(worker.job) for _, worker in sorted(base.workers.items()) if worker.job is not None]
        order = f"{base.order} {what}"
        note = {"workers": base.session.size, "companions": ",".join(names), "order": order}
        self._flux.tell(base.job, note)
