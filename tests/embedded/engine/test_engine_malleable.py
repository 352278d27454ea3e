"""Elastic jobs in the engine: sizes at the start, orders while they run, and what goes wrong with those."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import f58
from minicluster.embedded.errors import ConfigurationError
from queue_policies import decision_log
from queue_policies.plugins import load
from tests.embedded.engine.programs import Listener, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JSON = dict[str, Any]


class Cluster:
    """A bench of four cores on two nodes, under a policy."""

    def __init__(self, make: Callable[..., Any], table: JSON) -> None:
        self.listener = Listener()
        self.bench = make(config={"minicluster": table}, listener=self.listener)
        self.bench.listener = self.listener

    def elastic(self, least: int, most: int, *, malleable: bool = True, **options: Any) -> int:
        spec = options.pop("spec")
        spec["attributes"]["user"] = {"elastic": {"min": least, "max": most, "malleable": malleable}}
        jobid: int = self.bench.call("job-ingest.submit", jobspec=spec, urgency=16, flags=0)["id"]
        if jobid in self.bench.running():
            self.bench.started(jobid)
        return jobid

    def size(self, jobid: int) -> tuple[int, int]:
        """Tasks and cores that listings show."""
        shown = self.bench.shown(jobid)
        return shown["ntasks"], shown["ncores"]

    @property
    def free(self) -> int:
        return int(self.bench.engine._manager.parts.scheduler.pool.free)

    def resizes(self, jobid: int) -> list[tuple[str, JSON]]:
        """The events about orders, without R."""
        return [
            (name, {k: v for k, v in context.items() if k in ("order", "size", "reason")})
            for name, context in self.bench.log(jobid)
            if name.startswith("res")
        ]


@pytest.fixture
def make(kit: Any, tmp_path: Any) -> Iterator[Callable[..., Cluster]]:
    made: list[Any] = []

    def bench(**options: Any) -> Any:
        made.append(kit.Bench(tmp_path, **options))
        return made[-1]

    yield lambda policy="priority-elastic", **table: Cluster(
        bench, {"queue-policy": policy, "scheduler-settings": table} if table else {"queue-policy": policy}
    )
    for each in made:
        each.engine.close()


@pytest.fixture
def cluster(make: Callable[..., Cluster]) -> Cluster:
    return make(gap=0)


@pytest.fixture
def whole(kit: Any, cluster: Cluster) -> tuple[Cluster, int, Program]:
    """A registered job that holds all four cores, and runs with one to four workers."""
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    return cluster, job, Program(cluster.bench, job)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "moldable", "priority-elastic"])
@pytest.mark.parametrize("malleable", [False, True])
def test_an_elastic_job_starts_at_its_largest_size(
    kit: Any, make: Callable[..., Cluster], policy: str, malleable: bool
) -> None:
    cluster = make(policy)
    jobs = [cluster.elastic(1, 3, malleable=malleable, spec=kit.jobspec("app")) for _ in range(2)]
    assert [cluster.size(job) for job in jobs] == [(3, 3), (1, 1)]


@pytest.mark.parametrize(
    ("shape", "held"),
    [
        pytest.param({"slots": 1, "cores": 2}, (2, 4), id="slots of two cores"),
        pytest.param({"nodes": 1}, (2, 2), id="nodes"),
        pytest.param({"nodes": 1, "exclusive": True}, (2, 4), id="whole nodes"),
    ],
)
def test_sizes_count_what_the_job_asks_for(
    kit: Any, make: Callable[..., Cluster], shape: JSON, held: tuple[int, int]
) -> None:
    cluster = make("fcfs")
    assert cluster.size(cluster.elastic(1, 4, spec=kit.jobspec("app", **shape))) == held


def test_its_launch_tells_how_the_instance_is_reached(kit: Any, cluster: Cluster) -> None:
    job = cluster.elastic(1, 2, spec=kit.jobspec("app"))
    told = json.loads(cluster.bench.executor.launches[0].credentials)
    assert (told["address"], told["job"], len(told["token"])) == ("lead:7", f58(job), 64)


def test_where_nothing_can_listen_a_job_is_rigid(
    kit: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(callers: Any) -> str:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(cluster.listener, "open", refuse)
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    assert (cluster.bench.executor.launches[0].credentials, cluster.size(job)) == (None, (4, 4))
    assert cluster.bench.logged[-1].endswith("nothing listens for its program: Too many open files")


def test_a_moldable_job_is_told_nothing(kit: Any, cluster: Cluster) -> None:
    cluster.elastic(1, 2, malleable=False, spec=kit.jobspec("app"))
    assert cluster.bench.executor.launches[0].credentials is None


def test_a_job_is_not_resized_before_its_program_registered(kit: Any, cluster: Cluster) -> None:
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    other = cluster.bench.submit(slots=2, urgency=20)
    assert (cluster.resizes(job), other in cluster.bench.running()) == ([], False)
    program = Program(cluster.bench, job)
    assert program.heard == {"type": "shrink", "order": 1, "count": 2, "size": 2}


def test_a_job_shrinks_for_another_which_starts_when_the_workers_have_ended(
    whole: tuple[Cluster, int, Program],
) -> None:
    cluster, job, program = whole
    other = cluster.bench.submit(slots=2, urgency=20)
    program.say("release", order=1, workers=[1, 3])
    assert (other in cluster.bench.running(), cluster.size(job)) == (False, (4, 4))
    program.end(1, 3)
    assert (other in cluster.bench.running(), cluster.size(job)) == (True, (2, 2))
    assert cluster.bench.executor.tasks == [("dismiss", job, [1, 3])]
    assert program.heard == {"type": "released", "order": 1}
    assert cluster.resizes(job) == [
        ("resize-order", {"order": 1, "size": 2}),
        ("resource-update", {"order": 1, "size": 2}),
    ]


def test_r_is_what_is_left(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.submit(slots=2, urgency=20)
    program.say("release", order=1, workers=[2, 3])  # all of the second node
    program.end(2, 3)
    execution = cluster.bench.call("job-info.lookup", id=job, keys=["R"], flags=1)["R"]["execution"]
    assert (execution["nodelist"], execution["nslots"]) == (["mc-0"], 2)
    assert execution["R_lite"] == [{"rank": "0", "children": {"core": "0-1"}}]
    assert cluster.bench.shown(job)["nodelist"] == "mc-0"


def test_released_workers_that_stay_are_ended(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.submit(slots=2, urgency=20)
    program.say("release", order=1, workers=[1, 3])
    program.end(1)
    cluster.bench.loop.advance(5)
    assert cluster.bench.executor.tasks[1:] == [("end", job, [3])]


def _grown(cluster: Cluster, job: int, program: Program) -> None:
    """Shrunk for another job, which ends: now it is to grow again."""
    other = cluster.bench.submit(slots=2, urgency=20)
    program.say("release", order=1, workers=[2, 3])
    program.end(2, 3)
    cluster.bench.executor.tasks.clear()
    cluster.bench.finish(other)
    assert program.heard == {"type": "grow", "order": 2, "hosts": ["mc-1", "mc-1"], "size": 4}


def test_a_job_grows_into_what_is_free(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    _grown(cluster, job, program)
    program.say("accept", order=2)
    assert cluster.bench.executor.tasks == [("start", job, [4, 5])]  # numbers are never used again
    program.join(4, 2)
    program.join(5, 2)
    assert ([each["task"] for each in program.heard["workers"]], cluster.size(job)) == ([4, 5], (2, 2))
    program.say("done", order=2)
    assert (cluster.bench.executor.tasks[1:], cluster.size(job)) == ([("admit", job, [4, 5])], (4, 4))


def test_the_stages_of_an_order_are_in_the_exec_eventlog(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    _grown(cluster, job, program)
    program.say("accept", order=2)
    for task in (4, 5):
        program.join(task, 2)
        program.say("done", order=2)  # heeded only once all have joined
    assert cluster.bench.log(job, "guest.exec.eventlog") == [
        ("resize-release", {"order": 1}),
        ("resize-accept", {"order": 2}),
        ("resize-join", {"order": 2}),
    ]


def test_a_growth_that_is_refused_leaves_the_cores_free(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    _grown(cluster, job, program)
    assert cluster.free == 0
    program.say("refuse", order=2, reason="little is left")
    assert cluster.resizes(job)[-1] == ("resize-refused", {"order": 2, "reason": "little is left"})
    assert (cluster.size(job), cluster.free) == ((2, 2), 2)


def test_who_refused_is_not_asked_again_at_once(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    _grown(cluster, job, program)
    program.say("refuse", order=2, reason="not now")
    cluster.bench.loop.advance(9)
    assert program.heard["order"] == 2
    cluster.bench.loop.advance(1)
    assert program.heard == {"type": "grow", "order": 3, "hosts": ["mc-1", "mc-1"], "size": 4}


def test_a_program_that_never_answers_is_asked_no_longer_than_the_time_limit(
    kit: Any, make: Callable[..., Cluster]
) -> None:
    cluster = make(gap=1000)
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    program = Program(cluster.bench, job)
    other = cluster.bench.submit(slots=2, urgency=20)
    cluster.bench.loop.advance(1001)
    assert program.heard["type"] == "shrink"
    cluster.bench.loop.advance(60)
    assert program.heard == {"type": "expired", "order": 1, "reason": "no answer in 60 s"}
    assert cluster.resizes(job)[-1] == ("resize-expired", {"order": 1, "reason": "no answer in 60 s"})
    assert (other in cluster.bench.running(), cluster.size(job)) == (False, (4, 4))
    cluster.bench.finish(job)
    assert (other in cluster.bench.running(), cluster.free) == (True, 2)


def test_the_time_limit_is_a_setting(kit: Any, make: Callable[..., Cluster]) -> None:
    cluster = make()
    cluster.bench.engine._manager.parts.config["minicluster"]["order-timeout"] = "2s"
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    program = Program(cluster.bench, job)
    cluster.bench.submit(slots=2, urgency=20)
    cluster.bench.loop.advance(182)
    assert program.heard["reason"] == "no answer in 2 s"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("soon", "'soon' is no duration; right would be 5s, 1.5m, 2h, 1d or none"),
        ("none", "it must be more than 0 s, and not none"),
        ("0s", "it must be more than 0 s, and not none"),
    ],
)
def test_a_time_limit_that_is_none_stops_the_lead(kit: Any, tmp_path: Any, value: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        kit.Bench(tmp_path, config={"minicluster": {"order-timeout": value}})
    assert str(error.value) == f"broker.toml, [minicluster] order-timeout: {message}"


def test_workers_that_do_not_join_are_ended_before_their_cores_are_free(
    whole: tuple[Cluster, int, Program],
) -> None:
    cluster, job, program = whole
    _grown(cluster, job, program)
    program.say("accept", order=2)
    program.join(4, 2)
    cluster.bench.loop.advance(60)
    assert cluster.bench.executor.tasks[1:] == [("end", job, [4, 5])]
    rigid = cluster.bench.submit(slots=2)
    program.end(4)
    assert (rigid in cluster.bench.running(), cluster.free) == (False, 0)
    program.end(5)
    assert (cluster.size(job), program.listener.gone) == ((2, 2), [2])


@pytest.mark.parametrize("task", [4, 5])
def test_a_worker_that_dies_amid_a_growth_ends_the_order_and_not_the_job(
    whole: tuple[Cluster, int, Program], task: int
) -> None:
    cluster, job, program = whole
    _grown(cluster, job, program)
    program.say("accept", order=2)
    program.end(task)
    assert cluster.resizes(job)[-1] == ("resize-order", {"order": 2, "size": 4})  # the other still ends
    program.end(9 - task)
    reason = f"worker {task} ended before it was taken on"
    assert ("resize-expired", {"order": 2, "reason": reason}) in cluster.resizes(job)
    assert cluster.size(job) == (2, 2)


def test_a_program_that_is_gone_is_rigid(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    program.leave()
    cluster.bench.submit(slots=2, urgency=20)
    assert cluster.resizes(job) == []


def test_where_a_donor_refuses_the_other_is_queued_again(whole: tuple[Cluster, int, Program]) -> None:
    cluster, _, program = whole
    other = cluster.bench.submit(slots=2, urgency=20)
    assert cluster.bench.shown(other)["state"] == 8
    program.say("refuse", order=1, reason="not now")
    assert other in cluster.bench.engine._manager.parts.scheduler.queue
    cluster.bench.loop.advance(10)
    assert program.heard == {"type": "shrink", "order": 2, "count": 2, "size": 2}


def test_a_donor_that_ends_gives_what_was_promised(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, _ = whole
    other = cluster.bench.submit(slots=2, urgency=20)
    third = cluster.bench.submit(slots=2)
    cluster.bench.finish(job)
    assert (cluster.bench.running()[1:], cluster.free) == ([other, third], 0)


def test_a_job_that_waits_for_a_donor_can_be_canceled(whole: tuple[Cluster, int, Program]) -> None:
    cluster, _, program = whole
    other = cluster.bench.submit(slots=2, urgency=20)
    cluster.bench.call("job-manager.raise", id=other, severity=0, type="cancel")
    program.say("release", order=1, workers=[1, 3])
    program.end(1, 3)
    assert cluster.bench.shown(other)["result"] == 4
    assert program.heard["type"] == "grow"  # nobody else wants it


def test_an_instance_with_a_start_that_waits_is_not_idle(whole: tuple[Cluster, int, Program]) -> None:
    cluster, _, _ = whole
    cluster.bench.submit(slots=2, urgency=20)
    assert not cluster.bench.engine._manager.parts.scheduler.idle


def test_what_a_starter_takes_from_free_cores_is_held_for_it(kit: Any, cluster: Cluster) -> None:
    job = cluster.elastic(1, 3, spec=kit.jobspec("app"))
    program = Program(cluster.bench, job)
    other = cluster.bench.submit(slots=2, urgency=20)
    assert (program.heard["count"], cluster.free) == (1, 0)
    later = cluster.bench.submit(slots=1)
    program.say("release", order=1, workers=[2])
    program.end(2)
    assert (other in cluster.bench.running(), later in cluster.bench.running()) == (True, False)


def test_a_job_that_is_canceled_amid_a_growth_frees_all(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    _grown(cluster, job, program)
    program.say("accept", order=2)
    cluster.bench.call("job-manager.raise", id=job, severity=0, type="cancel")
    assert cluster.bench.executor.kills == [(job, 15)]
    program.end(0, 1, 4, 5)
    cluster.bench.finish(job, 15)
    assert (cluster.free, program.connection in program.listener.gone) == (4, True)


def test_a_job_that_ends_is_ordered_nothing_more(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.call("job-manager.raise", id=job, severity=0, type="cancel")
    cluster.bench.submit(slots=2, urgency=20)
    assert program.heard["type"] == "registered"


def test_an_order_rounds_down_to_whole_workers(kit: Any, make: Callable[..., Cluster]) -> None:
    cluster = make(gap=0)
    job = cluster.elastic(1, 2, spec=kit.jobspec("app", cores=2))
    program = Program(cluster.bench, job)
    other = cluster.bench.submit(slots=1, urgency=20)
    assert program.heard == {"type": "shrink", "order": 1, "count": 1, "size": 1}
    program.say("release", order=1, workers=[1])
    program.end(1)
    assert (other in cluster.bench.running(), cluster.free) == (True, 1)


def test_nodes_are_taken_where_the_job_is_not_yet(kit: Any, cluster: Cluster) -> None:
    other = cluster.bench.submit(cores=2)
    job = cluster.elastic(1, 2, spec=kit.jobspec("app", nodes=1))
    program = Program(cluster.bench, job)
    cluster.bench.finish(other)
    assert (program.heard["type"], program.heard["hosts"]) == ("grow", ["mc-0"])


def test_progress_reaches_the_policy(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.loop.advance(10)
    program.say("progress", share=0.2)
    cluster.bench.loop.advance(10)
    program.say("progress", share=0.4)
    record = cluster.bench.engine._manager.parts.scheduler.running[job]
    assert (record.remaining, record.estimate.seconds(4)) == (0.6, pytest.approx(50))


def test_decisions_are_recorded_and_taken_again(
    kit: Any, make: Callable[..., Cluster], tmp_path: Any
) -> None:
    file = tmp_path / "decisions"
    cluster = Cluster(
        lambda **options: kit.Bench(tmp_path, **options),
        {
            "queue-policy": "water-filling",
            "scheduler-settings": {"gap": 0, "overhead": 0},
            "decisions": str(file),
        },
    )
    job = cluster.elastic(1, 4, spec=kit.jobspec("app", duration=100))
    program = Program(cluster.bench, job)
    other = cluster.bench.submit(slots=2, urgency=20)
    program.say("release", order=1, workers=[2, 3])
    program.end(2, 3)
    cluster.bench.loop.advance(10)
    cluster.bench.finish(other)
    cluster.bench.engine.close()
    lines = file.read_text().splitlines()
    decided = [decision_log.decode(line) for line in lines]
    assert {type(action).__name__ for each in decided for action in each.actions} == {
        "Start",
        "Shrink",
        "Grow",
    }
    policy = load("water-filling", {"gap": 0, "overhead": 0})
    assert list(decision_log.differences(policy, lines)) == []
    assert list(decision_log.differences(load("fcfs", {}), lines)) != []


def test_a_file_for_decisions_that_cannot_be_written_stops_the_lead(kit: Any, tmp_path: Any) -> None:
    path = str(tmp_path / "none" / "decisions")
    with pytest.raises(ConfigurationError) as error:
        kit.Bench(tmp_path, config={"minicluster": {"decisions": path}})
    assert str(error.value) == f"broker.toml, [minicluster] decisions = {path!r}: No such file or directory"


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
        heard = program.heard
        order = heard.get("order", 1)
        if heard["type"] == "grow":
            self.random.choice([self.accept, self.accept, self.refuse])(job, program, order)
        elif heard["type"] == "shrink":
            count = heard["count"] if self.random.random() < 0.9 else heard["count"] + 1
            workers = sorted(program.session.workers)[-count:]
            program.say("release", order=order, workers=workers)
            self.end(job, *self.random.sample(workers, self.random.randint(0, len(workers))))
        elif heard["type"] == "joined":
            program.say(self.random.choice(["done", "done", "accept"]), order=order)
        else:
            program.say("progress", share=self.random.random())

    def accept(self, job: int, program: Program, order: int) -> None:
        program.say("accept", order=order)
        self.follow()
        if program.session.order is not None:
            for task in sorted(program.session.order.workers):
                if self.random.random() < 0.8:
                    program.join(task, order)

    def refuse(self, job: int, program: Program, order: int) -> None:
        program.say("refuse", order=order, reason="no")

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
        held = {job: pool.holding(job) for job in running}
        counted = {
            job: sum(cores.bit_count() for cores, _ in holding.values()) for job, holding in held.items()
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
def test_whatever_happens_what_is_held_adds_up(
    kit: Any, make: Callable[..., Cluster], policy: str, seed: int
) -> None:
    chaos = Chaos(kit, make(policy, gap=0), seed)
    for _ in range(300):
        chaos.step()
    chaos.close()
