"""Whatever sizes are asked for, one across the other: it ends at the last, and no job is lost for it.

Unless it was waited for as long as the document says. A case is a schedule of sizes, jobs that begin and end,
pods that run, news that come late, writes that fail, operators that die, a door that is silent.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minicluster.kube_client.objects import ObjectReference
from minicluster.plan import LeadCommand
from minicluster.plan.constants import KIND
from tests.budgets import examples
from tests.operator import memory_jobs
from tests.operator.cases import MISHAPS, STEPS, Step, deliver_all, document, gap
from tests.operator.contents import NAME
from tests.operator.field_sets import Object
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import now, run
from tests.operator.world import World, world

TIMEOUT = 60.0
"""What `document` says by leaving drainTimeoutSeconds out."""
JOB = ObjectReference("Job", NAMESPACE, NAME)
ranks = st.integers(0, 3)
EVENTS = st.one_of(
    st.tuples(st.just("size"), st.integers(1, 4)),
    st.tuples(st.just("size"), st.integers(1, 4)),
    st.tuples(st.just("begin"), ranks),
    st.tuples(st.just("begin"), ranks),
    st.tuples(st.just("begin"), ranks),
    st.tuples(st.just("finish"), ranks),
    st.tuples(st.just("run")),
    st.tuples(st.just("job")),
    st.tuples(st.just("report")),
    st.tuples(st.just("quiet second")),
    st.tuples(st.just("quiet second")),
    st.tuples(st.just("quiet second")),
    st.tuples(st.just("deaf"), st.booleans()),
    st.tuples(st.just("lose"), ranks),
)
SCHEDULES = st.lists(st.one_of(EVENTS, EVENTS, EVENTS, MISHAPS), max_size=30)


class Cluster:
    """A MiniCluster with four brokers that run, and what happens to it."""

    def __init__(self, here: World) -> None:
        self.here = here
        self.asked = now()  # when the document was last changed
        self.size = 4
        self.pods = 4  # that the Job has been told to have
        self.overdue: set[int] = set()  # ranks that were let go after they were waited for

    async def begin(self) -> None:
        """Have it made, and its brokers join."""
        await self.here.write(document(size=4, minSize=1))
        deliver_all(self.here)
        await self.here.live(1.0)
        for _ in range(3):
            self.converge_pods()
            await self.here.live(1.5)

    def converge_pods(self) -> None:
        """Have the Job controller and kubelets do their part, and everybody told."""
        self.here.start_job()
        self.run()
        deliver_all(self.here)
        self.here.report()

    def resize(self, size: int) -> None:
        """Ask for another size."""
        if size != self.size:
            self.size, self.asked = size, now()
            self.here.edit({"size": size})
            self.here.watches.deliver(KIND)

    def run(self) -> None:
        """Have the pods run that wait."""
        job = self.here.store.objects.get(JOB)
        for pod in memory_jobs.pods(self.here.store, job) if job else ():
            if pod["status"]["phase"] == "Pending":
                memory_jobs.run_pod(self.here.store, NAMESPACE, NAME, memory_jobs.index_of(pod))

    def lose(self, rank: int) -> None:
        """Have a pod lost, as with its node; its jobs are not the resize's fault."""
        job = self.here.store.objects.get(JOB)
        for pod in memory_jobs.pods(self.here.store, job) if job else ():
            if memory_jobs.index_of(pod) == rank:
                self.here.lead.finish(rank)
                self.here.store.delete(ObjectReference("Pod", NAMESPACE, pod["metadata"]["name"]))

    async def pass_on(self) -> None:
        """Let a second pass in which everybody does their part, and everything is told."""
        self.converge_pods()
        await self.here.live(1.1)
        self.here.start_job()

    def deafen(self, deaf: bool) -> None:
        """Have the door not answer, or answer again."""
        self.here.lead.deaf = deaf

    async def take(self, step: Step) -> None:
        """Take a step, and see that no job was lost before its time."""
        what, *how = step
        own: dict[str, Callable[..., Awaitable[None] | None]] = {
            "size": self.resize,
            "begin": self.here.lead.work,
            "finish": self.here.lead.finish,
            "run": self.run,
            "report": self.here.report,
            "quiet second": self.pass_on,
            "deaf": self.deafen,
            "lose": self.lose,
        }
        begun = now()
        before, overdue = len(self.here.lead.lost), set(self.overdue)
        doing = own[what](*how) if what in own else STEPS[what](self.here, *how)
        if doing is not None:
            await doing
        self.note_released()
        self.here.lead.refresh()
        lost = set(self.here.lead.lost[before:]) - self.overdue - overdue
        assert not lost, f"jobs on ranks {lost} were lost {begun - self.asked} s after the resize: {step}"

    def note_released(self) -> None:
        """Note which ranks the Job was told to have no more, after they were waited for."""
        job = self.here.store.objects.get(JOB)
        pods = job["spec"]["parallelism"] if job else self.pods
        if pods < self.pods and now() - self.asked >= TIMEOUT - 1:
            self.overdue |= set(range(pods, self.pods))
        self.overdue -= set(range(pods))
        self.pods = pods

    async def rest(self) -> None:
        """Have all jobs end, all be told, and nothing go wrong any more."""
        self.deafen(False)
        self.here.armed.disarm()
        self.here.api.latency = 0.0
        for rank in range(4):
            self.here.lead.finish(rank)
        for _ in range(6):
            gap(self.here)
            self.converge_pods()
            await self.here.live(4.0)
        self.here.store.collect_garbage()


async def play(schedule: Sequence[Step]) -> tuple[Object, list[LeadCommand], Object]:
    """Play a schedule to its end; return the Job's spec, the orders and the status."""
    async with world() as here:
        cluster = Cluster(here)
        await cluster.begin()
        lead = memory_jobs._pod_reference(here.store, NAMESPACE, NAME, 0)
        for step in schedule:
            await cluster.take(step)
        if ("lose", 0) not in schedule:
            assert lead in here.store.objects, "the lead's pod is gone"
        await cluster.rest()
        report = here.lead.report()
        job = here.store.objects[JOB]
        pods = sorted(memory_jobs.index_of(pod) for pod in memory_jobs.pods(here.store, job))
        assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (cluster.size, cluster.size)
        assert pods == list(range(cluster.size))
        assert all(rank >= cluster.size for rank in here.lead.drained), "a rank stays drained"
        status = here.contents.status
        assert (status["size"], status["readyBrokers"]) == (cluster.size, cluster.size), report
        (resizing,) = (each for each in status["conditions"] if each["type"] == "Resizing")
        assert resizing["reason"] == "AtSize"
        written = len(here.api.writes)
        await here.live(200.0)
        assert here.api.writes[written:] == [], "a settled MiniCluster was written to"
        return job["spec"], list(here.lead.orders), status


@pytest.mark.timeout(900)
@settings(max_examples=examples(150))
@given(SCHEDULES)
@example([("size", 2), ("quiet second",), ("size", 4), ("begin", 3), ("size", 2), ("live", 2.0)])
@example([("size", 2), ("live", 0.3), ("size", 4), ("size", 1), ("size", 3)])
def test_crossing_resizes_end_at_the_last_size(schedule: list[Step]) -> None:
    run(play(schedule))


SECOND = ("quiet second",)


def orders(schedule: Sequence[Any]) -> list[tuple[str, str]]:
    """Return what the lead was told."""
    return [(each.action, each.ranks) for each in run(play(schedule))[1]]


def test_two_four_one_three() -> None:
    """At once: what counts is the last."""
    orders_sent = orders([("size", 2), ("size", 4), ("size", 1), ("size", 3), SECOND, SECOND, SECOND])
    assert orders_sent == [("drain", "3")]


def test_a_shrink_that_is_called_off_gives_its_ranks_back() -> None:
    orders_sent = orders([("begin", 2), ("size", 2), SECOND, SECOND, ("size", 4), SECOND, SECOND])
    assert orders_sent == [("drain", "2-3"), ("undrain", "2-3")]


def test_ranks_that_come_back_get_jobs_again() -> None:
    orders_sent = orders([("size", 2), SECOND, SECOND, SECOND, ("run",), ("size", 4), SECOND, SECOND])
    assert orders_sent == [("drain", "2-3"), ("undrain", "2-3")]


async def outlive(seconds: float, *, deaf: bool) -> tuple[int, str]:
    """Have a job that does not end on a rank that is to leave; return the pods then, and what is said."""
    async with world() as here:
        cluster = Cluster(here)
        await cluster.begin()
        here.lead.work(3)
        cluster.resize(3)
        await cluster.pass_on()
        await cluster.pass_on()
        cluster.deafen(deaf)
        here.report()
        await here.live(seconds)
        job: Object = here.store.objects[JOB]
        (found,) = (each for each in here.contents.status["conditions"] if each["type"] == "Resizing")
        return job["spec"]["parallelism"], found["reason"]


@pytest.mark.parametrize(
    ("seconds", "deaf", "expected"),
    [
        pytest.param(30.0, False, (4, "Draining"), id="as long as the document says"),
        pytest.param(62.0, False, (3, "JobsRestarted"), id="then it is started again elsewhere"),
        pytest.param(62.0, True, (3, "DrainTimedOut"), id="unless the lead cannot be told"),
    ],
)
def test_how_long_a_job_is_waited_for(seconds: float, deaf: bool, expected: tuple[int, str]) -> None:
    assert run(outlive(seconds, deaf=deaf)) == expected
