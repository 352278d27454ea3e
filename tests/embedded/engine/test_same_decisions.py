"""The simulator and the embedded instance take the same decisions for the same arrivals.

The instance is the engine of a lead with simulated run times: programs that take paper A's time on what they
have, answer orders after a fixed time a unit, and end. The simulator knows the same jobs, times and costs.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.services import RpcRequest
from queue_policies import decision_log, plugins
from queue_policies.records import Grow, Reserve, Shrink, Start, WakeAt
from queue_policies.simulator.cost import PerUnit
from queue_policies.simulator.estimate import Estimates
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import SimulationOptions
from queue_policies.simulator.workloads import charm
from tests.embedded.engine.programs import Listener, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from minicluster.embedded.ports import Launch
    from queue_policies.decision_log import Decision
    from queue_policies.simulator.job import WorkloadJob
    from queue_policies.simulator.workload import Workload

GAP = 97.0  # between submissions; no multiple of it is one of the policies' gaps, so nothing happens at once
COST = PerUnit(grow=1.3, shrink=0.7, registration=6.0)
NODES, CORES = 15, 4
TOPIC = "job-ingest.submit"
POLICIES = {
    "fcfs": {},
    "backfill": {},
    "easy": {},
    "conservative": {},
    "rigid-min": {},
    "rigid-max": {},
    "moldable": {},
    "priority-elastic": {"gap": 180.0},
    "malleable": {"gap": 60.0},
    "min-agreement": {"gap": 30.0},
}


def _workload(number: int) -> Workload:
    drawn = next(itertools.islice(charm.draws(number + 1), number, None))
    made = charm.workload(drawn, GAP)
    jobs = tuple(job._replace(limit=2 * job.time.seconds(job.min)) for job in made.jobs)
    return replace(made, jobs=jobs, cost=COST)


RESIZING = {"priority-elastic", "malleable", "min-agreement"}
"""Those that order jobs to grow and to shrink. `water-filling` and `common-pool`, which do too, go by what an
instance learns from reports of progress, and so by more than arrivals."""


# The instance: its clock, and programs that only pass the time.


class Loop:
    """An event loop whose clock begins at 0; all that is due at one moment happens in one turn."""

    def __init__(self) -> None:
        self.now = 0.0
        self._ready: list[Callable[[], Any]] = []
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = itertools.count()

    def call_soon(self, function: Callable[..., Any], *args: Any) -> None:
        self._ready.append(lambda: function(*args))

    def call_later(self, delay: float, function: Callable[[], Any]) -> _Timer:
        return self.call_at(self.now + delay, function)

    def call_at(self, when: float, function: Callable[[], Any]) -> _Timer:
        timer = _Timer(function)
        heapq.heappush(self._timers, (when, next(self._order), timer))
        return timer

    def turn(self) -> None:
        while self._ready:
            self._ready.pop(0)()

    def run(self) -> None:
        """Until nothing is to come."""
        while self._timers:
            self.now = self._timers[0][0]
            while self._timers and self._timers[0][0] <= self.now:
                timer = heapq.heappop(self._timers)[2]
                if not timer.cancelled:
                    timer.function()
            self.turn()


@dataclass
class _Timer:
    function: Callable[[], Any]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class Played(Program):
    """Registers, and does at once what it is ordered; what is said leads to no turn of its own."""

    def send_message(self, kind: str, connection: int | None = None, **fields: Any) -> None:
        turn, self.bench.loop.turn = self.bench.loop.turn, lambda: None
        super().send_message(kind, connection, **fields)
        self.bench.loop.turn = turn

    def grow(self, order: int) -> None:
        """Have all new workers join, and take them on."""
        self.send_message("accept", order=order)
        _, _, tasks = self.bench.executor.tasks[-1]
        for task in tasks:
            self.join(task, order)
        self.send_message("done", order=order)

    def shrink(self, order: int, count: int) -> None:
        """Give up those with the highest numbers, which end."""
        leaving = sorted(self.session.workers)[-count:]
        self.send_message("release", order=order, workers=leaving)
        for task in leaving:
            self.bench.engine.events.task_ended(self.id, task)


@dataclass
class Run:
    """A job that runs: how much is left from when on, and what all of it takes at its size."""

    job: WorkloadJob
    size: int
    since: float
    left: float = 1.0
    end: _Timer | None = None
    program: Played | None = None

    @property
    def per(self) -> float:
        """Seconds of the whole job at its size."""
        return self.job.time.seconds(self.size)


@dataclass
class Instance:
    """A bench whose programs take simulated time."""

    bench: Any
    listener: Listener
    jobs: dict[int, WorkloadJob] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)

    def submit(self, spec: Any, job: WorkloadJob) -> None:
        spec["attributes"]["user"] = {"elastic": {"min": job.min, "max": job.max, "malleable": True}}
        payload = {"jobspec": spec, "urgency": job.priority, "flags": 0}
        answer = self.bench.registry._handlers[TOPIC](RpcRequest(TOPIC, payload))
        self.jobs[answer["id"]] = job

    def start(self, launch: Launch) -> None:
        """The executor is to start a job."""
        loop = self.bench.loop
        self.bench.engine.events.started(launch.id)
        run = Run(self.jobs[launch.id], launch.R["execution"]["nslots"], loop.now)
        self.runs[launch.id] = run
        loop.call_later(COST.registration, lambda: self._register(launch.id, run))
        self._until_end(launch.id, run)

    def _register(self, jobid: int, run: Run) -> None:
        if jobid in self.runs:
            run.program = Played(self.bench, jobid)

    def _until_end(self, jobid: int, run: Run) -> None:
        loop = self.bench.loop
        if run.end is not None:
            run.end.cancel()
        run.end = loop.call_at(run.since + run.left * run.per, lambda: self._end(jobid))

    def _end(self, jobid: int) -> None:
        del self.runs[jobid]
        self.bench.engine.events.finished(jobid, 0)
        self.bench.engine.events.released(jobid)

    def received(self, connection: int, message: dict[str, Any]) -> None:
        """A program is ordered something."""
        for jobid, run in self.runs.items():
            if run.program is not None and run.program.connection == connection:
                delay = COST.resize(run.job, run.size, message["size"]).delay
                self.bench.loop.call_later(delay, lambda: self._resize(jobid, run, message))  # noqa: B023
                return
        raise AssertionError(f"nobody is at connection {connection}")

    def _resize(self, jobid: int, run: Run, message: dict[str, Any]) -> None:
        if jobid not in self.runs or run.program is None:
            return  # it has ended meanwhile
        now = self.bench.loop.now
        if message["type"] == "grow":
            run.program.grow(message["order"])
        else:
            run.program.shrink(message["order"], message["count"])
        run.left = max(0.0, run.left - (now - run.since) / run.per)
        run.size, run.since = message["size"], now
        self._until_end(jobid, run)


class Orders(Listener):
    """Passes orders on."""

    instance: Instance

    def send(self, connection: int, data: bytes) -> None:
        super().send(connection, data)
        message = self.sent[connection][-1]
        if message["type"] in ("grow", "shrink"):
            self.instance.received(connection, message)


@pytest.fixture
def instance(kit: Any, tmp_path: Path) -> Iterator[Callable[..., Instance]]:
    made: list[Any] = []

    class Timed(kit.Bench):
        """A bench with the clock of this test."""

        def build(self) -> Any:
            self.loop = Loop()
            return super().build()

    def make(policy: str, settings: dict[str, Any]) -> Instance:
        table = {"queue-policy": policy, "scheduler-settings": settings, "decisions": str(tmp_path / "d")}
        listener = Orders()
        bench = Timed(tmp_path, nodes=NODES, cores=CORES, config={"minicluster": table}, listener=listener)
        made.append(bench)
        bench.listener, listener.instance = listener, Instance(bench, listener)
        bench.executor.start = lambda launch: (
            bench.executor.launches.append(launch),
            listener.instance.start(launch),
        )
        return listener.instance

    yield make
    for each in made:
        each.engine.close()


# What is compared.


def _acting(decisions: Sequence[Decision], names: dict[int, int]) -> list[tuple[Any, ...]]:
    """Of each decision that does something: time, queue, what runs at which size, what is free, the answer.

    Jobs by the workload's numbers. Those that wait for what others give up the instance counts as running,
    and the simulator does not: of these the sizes are left out.
    """
    late = {action.job for each in decisions for action in each.actions if getattr(action, "after", ())}
    return [
        (
            round(each.now, 3),
            [names[job.id] for job in each.state.queue],
            sorted((names[job.id], job.size) for job in each.state.running.by_order() if job.id not in late),
            each.state.cluster.free,
            [_action(action, names) for action in each.actions],
        )
        for each in decisions
        if each.actions
    ]


def _action(action: Any, names: dict[int, int]) -> Any:
    if isinstance(action, WakeAt):
        return WakeAt(round(action.time, 3))
    named = replace(action, job=names[action.job])
    if isinstance(named, Reserve):
        return replace(named, at=round(named.at, 3))
    return (
        replace(named, after=tuple(names[each] for each in named.after))
        if isinstance(named, Start)
        else named
    )


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("policy", POLICIES)
def test_the_simulator_and_the_instance_take_the_same_decisions(
    kit: Any, instance: Callable[..., Instance], tmp_path: Path, policy: str, number: int
) -> None:
    """Of a set of paper A: at the same times, in the same states, the same answers; and again in a replay."""
    settings, workload = POLICIES[policy], _workload(number)
    simulated: list[str] = []
    simulate(
        workload,
        plugins.load(policy, settings),
        SimulationOptions(Estimates(known=False)),
        lambda state, now, actions: simulated.append(decision_log.encode(policy, state, now, actions)),
    )
    actual = instance(policy, settings)
    for job in workload.jobs:
        spec = kit.jobspec("app", duration=job.limit)
        actual.bench.loop.call_at(job.submitted, lambda spec=spec, job=job: actual.submit(spec, job))
    actual.bench.loop.run()
    assert (len(actual.jobs), actual.runs) == (charm.JOBS, {})
    recorded = (tmp_path / "d").read_text().splitlines()
    theirs = _acting([decision_log.decode(line) for line in simulated], {j.id: j.id for j in workload.jobs})
    ours = _acting(
        [decision_log.decode(line) for line in recorded], {k: job.id for k, job in actual.jobs.items()}
    )
    assert ours == theirs
    orders = {type(action) for *_, actions in ours for action in actions}
    assert (orders >= {Grow, Shrink}) == (policy in RESIZING)
    assert list(decision_log.differences(plugins.load(policy, settings), recorded)) == []
