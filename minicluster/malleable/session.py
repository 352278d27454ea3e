"""One job's program as its instance sees it: orders go out, answers come in. A state machine without I/O.

The instance keeps the resources. The session keeps what the program was asked and what it answered. Each
order ends with exactly one event, also where the program fails. The event names the tasks that were started.

    grow    ASKED ──accept──► STARTING ──all joined──► TAKING_ON ──done──► JobResized
    shrink  ASKED ──accept──► MOVING ──release──► LEAVING ──all ended──► JobResized
                 (a release may come without accept)
    any stage before LEAVING: refuse → ResizeRefused (ResizeExpired, once workers were started); limit over,
    or connection lost → ResizeExpired. LEAVING does not depend on the program any more.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.malleable import events, messages
from minicluster.malleable.credentials import proves
from minicluster.malleable.errors import NotAccepting, ProtocolError
from minicluster.malleable.events import NOTHING, Step
from minicluster.malleable.speaker import Speaker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minicluster.malleable.events import ConnectionId, SessionEvent

FIRST = 0
"""The number of the task that speaks for the program, and never leaves."""


@dataclass(frozen=True)
class Limits:
    """Time limits of an order, in seconds."""

    answer: float = 60.0
    """From an order to its answer."""
    join: float = 60.0
    """From an accepted order to grow until all workers started for it have joined."""
    work: float = 600.0
    """From the join (to shrink, from the accept) until the program has moved its data."""


class Stage(enum.Enum):
    """How far an order is."""

    ASKED = "asked"
    STARTING = "starting"
    TAKING_ON = "taking on"
    MOVING = "moving"
    LEAVING = "leaving"


@dataclass
class ResizeRequest:
    """The order under way."""

    id: int
    hosts: tuple[str, ...]
    """Of the new workers; empty for an order to shrink."""
    count: int
    """How many workers are to join or to leave."""
    stage: Stage = Stage.ASKED
    deadline: float | None = None
    workers: dict[int, str] = field(default_factory=dict)
    joined: dict[int, messages.Member] = field(default_factory=dict)
    leaving: set[int] = field(default_factory=set)
    lost: tuple[int, ...] = ()

    @property
    def grows(self) -> bool:
        """Whether it is an order to grow."""
        return bool(self.hosts)

    def target(self, size: int) -> int:
        """Return the size that the order leads to from this one."""
        return size + self.count if self.grows else size - self.count


class Ordering:
    """The orders to one job's program, one at a time, and the workers that they change."""

    def __init__(self, speaker: Speaker, workers: Mapping[int, str], limits: Limits, firm: int) -> None:
        self.workers = dict(workers)
        self.under_way: ResizeRequest | None = None
        self.given = 0
        self._speaker = speaker
        self._limits = limits
        self._firm = firm
        self._next = max(workers, default=FIRST) + 1
        self._ended: set[int] = set()

    @property
    def may_begin(self) -> bool:
        """Whether the program takes an order now."""
        return self._speaker.accepts_resize and self.under_way is None

    def begin(self, hosts: tuple[str, ...], count: int, now: float) -> ResizeRequest:
        """Return a new order. Raises NotAccepting."""
        if not self.may_begin:
            raise NotAccepting(f"the program of {self._speaker.job} takes no order now")
        self.given += 1
        self.under_way = ResizeRequest(self.given, hosts, count, deadline=now + self._limits.answer)
        return self.under_way

    def ended(self, task: int) -> Step:
        """Note that a task has ended."""
        self._ended.add(task)
        order = self.under_way
        if order is None:
            return NOTHING
        if task in order.workers:
            return self.expire(f"worker {task} ended before it was taken on")
        if task in order.leaving:
            order.leaving.discard(task)
            return self._check_left(order)
        return NOTHING

    def joined(self, order: ResizeRequest, member: messages.Member, now: float) -> Step:
        """Take a worker that was started for the order under way."""
        order.joined[member.task] = member
        if len(order.joined) < len(order.workers):
            return NOTHING
        order.stage, order.deadline = Stage.TAKING_ON, now + self._limits.work
        workers = tuple(order.joined[task] for task in sorted(order.joined))
        step = self._speaker.send(messages.Joined(order.id, workers))
        return step + _learned(events.WorkersJoined(self._speaker.job, order.id))

    def tick(self, now: float) -> Step:
        """End the order under way if its time is over."""
        order, limits = self.under_way, self._limits
        if order is None or order.deadline is None or now < order.deadline:
            return NOTHING
        if order.stage is Stage.STARTING:
            late = sorted(set(order.workers) - set(order.joined))
            return self.expire(f"workers {', '.join(map(str, late))} did not join in {limits.join:g} s")
        seconds = limits.answer if order.stage is Stage.ASKED else limits.work
        return self.expire(f"no answer in {seconds:g} s")

    def answer(
        self,
        order: ResizeRequest,
        message: messages.Accept | messages.Refuse | messages.Done | messages.Release,
        now: float,
    ) -> Step:
        """Process the program's answer to the order under way. Raises ProtocolError."""
        if isinstance(message, messages.Accept):
            return self._accepted(order, now)
        if isinstance(message, messages.Refuse):
            return self._refused(order, message.reason)
        if isinstance(message, messages.Done):
            return self._done(order)
        return self._released(order, message.workers)

    def _accepted(self, order: ResizeRequest, now: float) -> Step:
        if order.stage is Stage.ASKED and order.grows:
            order.workers = {self._next + index: host for index, host in enumerate(order.hosts)}
            self._next += order.count
            order.stage, order.deadline = Stage.STARTING, now + self._limits.join
            return _learned(events.GrowAccepted(self._speaker.job, order.id, dict(order.workers)))
        if order.stage is Stage.ASKED:
            order.stage = Stage.MOVING
        if order.stage in (Stage.MOVING, Stage.TAKING_ON):
            order.deadline = now + self._limits.work
        return NOTHING

    def _refused(self, order: ResizeRequest, reason: str) -> Step:
        if order.stage is Stage.LEAVING:
            raise ProtocolError(f"refuse: order {order.id} is carried out")
        if order.workers:
            return self.expire(f"refused: {reason}")
        self.under_way = None
        return _learned(events.ResizeRefused(self._speaker.job, order.id, reason))

    def _done(self, order: ResizeRequest) -> Step:
        if order.stage is not Stage.TAKING_ON:
            raise ProtocolError(f"done: order {order.id} is not that far")
        self.workers.update(order.workers)
        self.under_way = None
        return _learned(
            events.JobResized(self._speaker.job, order.id, len(self.workers), dict(order.workers), ())
        )

    def _released(self, order: ResizeRequest, workers: tuple[int, ...]) -> Step:
        if order.grows or order.stage is Stage.LEAVING:
            raise ProtocolError(f"release: order {order.id} does not wait for it")
        if FIRST in workers:
            raise ProtocolError(f"release: task {FIRST} is the first place, which never leaves")
        staying = [task for task in workers if task < self._firm]
        if staying:
            raise ProtocolError(f"release: task {staying[0]} holds its place as long as the job runs")
        strange = [task for task in workers if task not in self.workers]
        if strange:
            raise ProtocolError(f"release: task {strange[0]} is no worker of this job")
        if len(set(workers)) != len(workers) or len(workers) != order.count:
            raise ProtocolError(f"release: order {order.id} is for {order.count} different workers")
        order.stage, order.deadline = Stage.LEAVING, None
        order.lost, order.leaving = workers, set(workers) - self._ended
        return _learned(events.WorkersReleased(self._speaker.job, order.id, workers)) + self._check_left(
            order
        )

    def _check_left(self, order: ResizeRequest) -> Step:
        if order.leaving:
            return NOTHING
        for task in order.lost:
            del self.workers[task]
        self.under_way = None
        step = self._speaker.send(messages.Released(order.id))
        return step + _learned(
            events.JobResized(self._speaker.job, order.id, len(self.workers), {}, order.lost)
        )

    def abandon(self, reason: str) -> Step:
        """End the order under way, unless it does not depend on the program any more."""
        is_leaving = self.under_way is not None and self.under_way.stage is Stage.LEAVING
        return NOTHING if is_leaving else self.expire(reason)

    def expire(self, reason: str) -> Step:
        """End the order under way, if there is one."""
        order, self.under_way = self.under_way, None
        if order is None:
            return NOTHING
        step = self._speaker.send(messages.Expired(order.id, reason))
        return step + _learned(
            events.ResizeExpired(self._speaker.job, order.id, reason, tuple(order.workers))
        )


class Session:
    """The instance's side for one job. Sizes are numbers of workers; times are of the caller's clock.

    The first worker never leaves, nor do others with a number below `firm`.
    """

    def __init__(
        self,
        job: str,
        token: str,
        least: int,
        most: int,
        workers: Mapping[int, str],
        limits: Limits | None = None,
        firm: int = 1,
    ) -> None:
        self.job = job
        self.token = token
        self.least = least
        self.most = most
        self.speaker = Speaker(job, token)
        self._orders = Ordering(self.speaker, workers, limits or Limits(), firm)
        self.workers = self._orders.workers

    def __repr__(self) -> str:
        return f"Session(job={self.job!r}, size={self.size})"  # the token stays out of tracebacks

    @property
    def order(self) -> ResizeRequest | None:
        """The order under way."""
        return self._orders.under_way

    @property
    def size(self) -> int:
        """How many workers the job has."""
        return len(self.workers)

    @property
    def accepts_resize(self) -> bool:
        """Whether the program takes an order now."""
        return self._orders.may_begin

    @property
    def deadline(self) -> float | None:
        """When `tick` is due next; None without an order that has a time limit."""
        return None if self.order is None else self.order.deadline

    # What the instance does.

    def grow(self, hosts: Sequence[str], now: float) -> Step:
        """Offer one worker on each of these hosts. Raises NotAccepting, ValueError."""
        if not 0 < len(hosts) <= self.most - self.size:
            raise ValueError(
                f"{self.job} has {self.size} of at most {self.most} workers: not {len(hosts)} more"
            )
        order = self._orders.begin(tuple(hosts), len(hosts), now)
        return self.speaker.send(messages.Grow(order.id, order.hosts, self.size + order.count))

    def shrink(self, count: int, now: float, prefer: Sequence[int] = ()) -> Step:
        """Order the program to give up so many workers, by preference these first.

        Raises NotAccepting, ValueError.
        """
        if not 0 < count <= self.size - self.least:
            raise ValueError(
                f"{self.job} has {self.size} of at least {self.least} workers: not {count} fewer"
            )
        order = self._orders.begin((), count, now)
        return self.speaker.send(messages.Shrink(order.id, count, self.size - count, tuple(prefer)))

    def ended(self, task: int, now: float) -> Step:
        """Note that a task of the job has ended, for any reason."""
        del now  # every event has this parameter
        return self._orders.ended(task)

    def failed(self, reason: str, now: float) -> Step:
        """Note that the workers of the order under way cannot be started."""
        del now
        order = self.order
        if order is None or order.stage is not Stage.STARTING:
            return NOTHING
        return self._orders.expire(reason)

    def tick(self, now: float) -> Step:
        """End the order under way if its time is over."""
        return self._orders.tick(now)

    # What comes in, by way of the exchange.

    def register(self, connection: ConnectionId, nonce: str, message: messages.Register) -> Step:
        """Register a program. Raises ProtocolError."""
        self.speaker.check(nonce, message)
        step, half_open = NOTHING, self.speaker.connection
        if half_open is not None:  # the new connection proves to work, the old one may be dead
            step = Step(closes=(half_open,)) + self.closed(half_open)
        self.speaker.begin(connection)
        members = tuple(messages.Member(task, host) for task, host in self.workers.items())
        answer = self.speaker.send(messages.Registered(self.size, self.least, self.most, members))
        return step + answer + _learned(events.ProgramRegistered(self.job))

    def join(self, connection: ConnectionId, nonce: str, message: messages.Join, now: float) -> Step:
        """Take a worker that was started for the order under way. Raises ProtocolError."""
        claims = ("join", self.job, message.task, message.order, message.address)
        if not proves(message.mac, self.token, nonce, *claims):
            raise ProtocolError("join: the proof is not one of this job")
        order = self.order
        if order is None or order.id != message.order or order.stage is not Stage.STARTING:
            late = messages.Expired(message.order, "this order is over")
            return Step(sends=((connection, messages.encode(late)),), closes=(connection,))
        if message.task not in order.workers or message.task in order.joined:
            raise ProtocolError(f"join: task {message.task} is none that order {order.id} waits for")
        member = messages.Member(message.task, order.workers[message.task], message.address)
        step = Step(sends=((connection, messages.encode(messages.Joined())),), closes=(connection,))
        return step + self._orders.joined(order, member, now)

    def receive(self, message: messages.ToInstance, now: float) -> Step:
        """Process a message of the registered program. Raises ProtocolError."""
        if isinstance(message, messages.Progress):
            return _learned(events.ProgressReported(self.job, message.share))
        if isinstance(message, messages.Deregister):
            why = "the program deregistered"
            return self._orders.abandon(why) + self.speaker.leave(why, for_good=True)
        if isinstance(message, (messages.Register, messages.Join)):
            raise ProtocolError(f"{message.type}: this connection has registered")
        if not 0 < message.order <= self._orders.given:
            raise ProtocolError(f"{message.type}: there was no order {message.order}")
        order = self.order
        if order is None or order.id != message.order:
            return self.speaker.send(messages.Expired(message.order, "this order is over"))
        return self._orders.answer(order, message, now)

    def closed(self, connection: ConnectionId) -> Step:
        """Note that a connection is gone."""
        if connection != self.speaker.connection:
            return NOTHING
        self.speaker.connection = None
        why = "its connection was lost"
        return self._orders.abandon(why) + self.speaker.leave(why)


def count_out(session: Session, tasks: Sequence[int]) -> Step:
    """Remove workers that have ended while no order was under way, and send the program who they are."""
    for task in tasks:
        del session.workers[task]
    return session.speaker.send(messages.Released(0, tuple(tasks)))


def _learned(*learned: SessionEvent) -> Step:
    return Step(events=learned)
