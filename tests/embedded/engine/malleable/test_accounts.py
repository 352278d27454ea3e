"""Elastic jobs in the engine: whatever happens, what is held adds up."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.embedded.engine.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.embedded.engine.malleable.elastic_cluster import Cluster


class Chaos:
    """Jobs and programs that do whatever comes; what is held must always add up."""

    def __init__(self, kit: Any, cluster: Cluster, seed: int) -> None:
        self.kit, self.cluster, self.bench = kit, cluster, cluster.bench
        self.random = random.Random(seed)
        self.programs: dict[int, Program] = {}
        self.tasks: dict[int, set[int]] = {}
        self.scheduler = cluster.bench.engine._manager.parts.scheduler

    def step(self) -> None:
        self.random.choice(
            [self.submit, self.speak, self.speak, self.speak, self.die, self.wait, self.finish]
        )()
        self.follow()
        self.check()

    def submit(self) -> None:
        if len(self.bench.engine._manager.active) > 4:
            return
        if self.random.random() < 0.5:
            self.bench.submit(slots=self.random.randint(1, 3), urgency=self.random.randint(10, 20))
        else:
            shape = self.random.choice([{}, {"nodes": 1}, {"cores": 2}])
            self.cluster.elastic(1, self.random.randint(1, 4), spec=self.kit.jobspec("app", **shape))

    def follow(self) -> None:
        """Executors do what they are told, programs register when they are started."""
        for launch in self.bench.executor.launches:
            if launch.id in self.bench.engine._manager.active and launch.id not in self.tasks:
                self.tasks[launch.id] = set(range(self.cluster.size(launch.id)[0]))
                self.bench.started(launch.id)
                if launch.credentials:
                    self.programs[launch.id] = Program(self.bench, launch.id)
        done, self.bench.executor.tasks = self.bench.executor.tasks, []
        for what, job, tasks in done:
            if what == "start":
                self.tasks[job] |= set(tasks)
            elif what == "end" and job in self.programs:
                self.end(job, *tasks)

    def end(self, job: int, *tasks: int) -> None:
        self.tasks[job].difference_update(tasks)
        self.programs[job].end(*tasks)

    def speak(self) -> None:
        """A program, or its workers, answer the order, rightly or not."""
        if not self.programs:
            return
        job, program = self.random.choice(sorted(self.programs.items()))
        message = program.last_message
        order = message.get("order", 1)
        if message["type"] == "grow":
            self.random.choice([self.accept, self.accept, self.refuse])(job, program, order)
        elif message["type"] == "shrink":
            count = message["count"] if self.random.random() < 0.9 else message["count"] + 1
            workers = sorted(program.session.workers)[-count:]
            program.send_message("release", order=order, workers=workers)
            self.end(job, *self.random.sample(workers, self.random.randint(0, len(workers))))
        elif message["type"] == "joined":
            program.send_message(self.random.choice(["done", "done", "accept"]), order=order)
        else:
            program.send_message("progress", share=self.random.random())

    def accept(self, job: int, program: Program, order: int) -> None:
        program.send_message("accept", order=order)
        self.follow()
        if program.session.order is not None:
            for task in sorted(program.session.order.workers):
                if self.random.random() < 0.8:
                    program.join(task, order)

    def refuse(self, job: int, program: Program, order: int) -> None:
        program.send_message("refuse", order=order, reason="no")

    def die(self) -> None:
        """A worker, a connection, or a job."""
        if self.programs and self.random.random() < 0.3:
            job, program = self.random.choice(sorted(self.programs.items()))
            if self.random.random() < 0.3:
                program.leave()
            elif len(self.tasks[job]) > 1:
                self.end(job, max(self.tasks[job]))

    def wait(self) -> None:
        self.bench.loop.advance(self.random.choice([1, 12, 70]))

    def finish(self, chance: float = 0.2) -> None:
        active = sorted(set(self.tasks) & set(self.bench.engine._manager.active))
        if active and self.random.random() < chance:
            job = self.random.choice(active)
            if self.random.random() < 0.3:
                self.bench.call("job-manager.raise", id=job, severity=0, type="cancel")
            self.programs.pop(job, None)
            self.bench.finish(job)

    def check(self) -> None:
        pool, running = self.scheduler.pool, self.scheduler.running
        pending = {job: pool.allocation(job) for job in running}
        counted = {
            job: sum(cores.bit_count() for cores, _ in allocation.values())
            for job, allocation in pending.items()
        }
        assert pool.free + sum(counted.values()) == 4
        assert sum(cores.bit_count() for cores, _ in pool.allocated().values()) == sum(counted.values())
        for job in running:
            if running[job].heeds:  # amid no order: it holds what listings show
                assert self.cluster.size(job)[1] == counted[job] == running[job].size

    def close(self) -> None:
        """All end: nothing is left, nothing waits."""
        for _ in range(100):
            self.finish(1.0)
            self.follow()
        assert (self.scheduler.idle, self.cluster.free, len(self.scheduler.running)) == (True, 4, 0)
        assert not self.bench.engine._manager.active
        assert not any("policy" in line for line in self.bench.logged)


@pytest.mark.parametrize(
    "policy", ["priority-elastic", "water-filling", "common-pool", "malleable", "min-agreement"]
)
@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_allocations_add_up(
    kit: Any, make: Callable[..., Cluster], policy: str, seed: int
) -> None:
    chaos = Chaos(kit, make(policy, gap=0), seed)
    for _ in range(300):
        chaos.step()
    chaos.close()
