"""Flux, played, and a scene with one malleable job of it; no Flux is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker_config.formats import idset
from broker_config.formats.jobid import f58
from broker_config.formats.jobspec import Companion
from minicluster.flux_scheduler.companions import Companions
from minicluster.flux_scheduler.ranks import Ranks
from minicluster.flux_scheduler.scheduling import Scheduling
from minicluster.malleable import messages
from minicluster.malleable.credentials import VERSION, Credentials, proof
from queue_policies.priority_elastic import PriorityElastic
from tests.lead.scheduled import jobspec, resources

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.malleable.messages import ToInstance, ToProgram

OWNER = 7
BASE = 1
LIMIT = 60.0


@dataclass
class PlayedFlux:
    """Flux, played: it answers at once or never, and its clock stands still until it is moved."""

    now: float = 100.0
    timers: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    submitted: list[tuple[dict[str, Any], Callable[[int | str], None]]] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    sent: dict[object, list[ToProgram]] = field(default_factory=dict)
    jobspec: dict[str, Any] | None = field(default_factory=jobspec)

    def clock(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.timers.append((self.now + seconds, call))

    def fetch_jobspec(self, job: int, then: Callable[[dict[str, Any] | None], None]) -> None:
        assert job == BASE
        then(self.jobspec)

    def submit(self, jobspec: dict[str, Any], then: Callable[[int | str], None]) -> None:
        self.submitted.append((jobspec, then))

    def cancel(self, job: int, reason: str) -> None:
        assert reason
        self.cancelled.append(job)

    def annotate(self, job: int, note: dict[str, Any], *, logged: bool = True) -> None:
        assert job == BASE
        (self.annotations if logged else self.marks).append(note)

    def send(self, connection: object, data: bytes) -> None:
        received = [messages.parse_to_program(line) for line in data.splitlines()]
        self.sent.setdefault(connection, []).extend(received)

    def hang_up(self, connection: object) -> None:
        pass

    def address(self) -> str:
        return "lead:1"

    def schedule_decision(self) -> None:
        pass

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _, call in due:
            call()


class Scene:
    """Four nodes of four cores with priority-elastic, and one malleable job of up to four slots."""

    def __init__(self, least: int = 1) -> None:
        ranks = Ranks(resources())
        self.scheduling = Scheduling(PriorityElastic(gap=0.0), ranks, OWNER)
        ranks.up |= ranks.named("all")
        self.scheduling.allocations.follow_ranks()
        self.flux = PlayedFlux()
        self.companions = Companions(self.flux, self.scheduling, lambda rank: f"n{rank}", LIMIT)
        self.credentials = Credentials("", "", "")
        self.arrive(BASE, 16, 1, elastic={"min": least, "max": 4, "malleable": True})
        self.decide()

    def arrive(self, job: int, priority: int, slots: int, **more: Any) -> None:
        queued = self.scheduling.queued(job, priority, OWNER, float(job), jobspec(slots=slots, **more))
        self.scheduling.arrive(queued)

    def decide(self) -> dict[int, str]:
        """What starts, and on which ranks."""
        decided = self.scheduling.decide(self.flux.now)
        for order in decided.orders:
            self.companions.order(order)
        for started in decided.starts:
            if started.job.id == BASE:
                self.credentials = self.companions.begin(BASE, started.allocation, started.more)
        return {each.job.id: idset.encode(each.allocation) for each in decided.starts}

    def send(self, *sent: ToInstance, connection: object = "program") -> list[ToProgram]:
        """Say it; what came since."""
        self.flux.sent[connection] = []
        self.companions.received(connection, b"".join(map(messages.encode, sent)))
        return self.flux.sent[connection]

    def nonce(self, connection: object) -> str:
        self.companions.opened(connection)
        hello = self.flux.sent[connection][-1]
        assert isinstance(hello, messages.Hello)
        return hello.nonce

    def register(self) -> list[ToProgram]:
        mac = proof(self.credentials.token, self.nonce("program"), "register", self.credentials.job)
        return self.send(messages.Register(VERSION, self.credentials.job, mac))

    def claim(self, job: int, task: int) -> Credentials:
        """The companion asks for its slot."""
        claimed = self.companions.claim(job, Companion(f58(BASE), task))
        assert not isinstance(claimed, str)
        return claimed[1]

    def join(self, task: int, order: int = 1) -> None:
        claims = ("join", self.credentials.job, task, order, "here")
        mac = proof(self.credentials.token, self.nonce(task), *claims)
        self.send(messages.Join(VERSION, self.credentials.job, mac, task, order, "here"), connection=task)

    def end(self, job: int) -> None:
        """A job ends."""
        if not self.companions.ended(job):
            self.scheduling.allocations.free(job)

    def grown(self) -> Scene:
        """With all of its companions: 101 to 103 with a least size of 1."""
        self.register()
        self.send(messages.Accept(1))
        for spec, then in self.flux.submitted:
            task = spec["attributes"]["user"]["task"]
            then(100 + task)
            self.claim(100 + task, task)
            self.join(task)
        self.send(messages.Done(1))
        return self

    @property
    def free(self) -> int:
        return self.scheduling.pool.free

    @property
    def size(self) -> int:
        return self.scheduling.running[BASE].size
