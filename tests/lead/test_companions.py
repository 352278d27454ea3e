"""Malleable jobs on real Flux: their companions come and go, and the programs' answers stay right."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_config.formats.jobid import parse
from minicluster.instance.connection import connect
from minicluster.instance.errors import NotResized
from tests.lead.client import until
from tests.lead.policies import Instance, elastic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.lead.pods import Pods

EXAMPLES = Path(__file__).parents[2] / "examples"
MALLEABLE = (*elastic(1, 4), "--setattr=user.elastic.malleable=true")
QUEENS = ("queens", "9", "--pause", "0.01")
JACOBI = ("jacobi", "--size", "30", "--pace", "1:0.002", "--check")


class Malleable(Instance):
    """Two nodes of two cores, which a malleable job fills."""

    def __init__(self, pods: Pods) -> None:
        super().__init__(pods)
        self.hold_file = pods.directory / "hold"

    def begin(self, name: str, *arguments: str, words: tuple[str, ...] = MALLEABLE, most: int = 4) -> str:
        """Submit an example that goes on until it is let go, and wait for its companions."""
        self.hold_file.touch()
        program = str(EXAMPLES / name / f"{name}.py")
        job = self.submit(*words, sys.executable, program, *arguments, "--hold", str(self.hold_file))
        self.size(job, most)
        return job

    def size(self, job: str, workers: int) -> None:
        """Wait until the job has so many workers."""
        form = "{annotations.user.workers}"
        until(lambda: self.pods.run("jobs", "-no", form, job) == str(workers), f"{workers} workers of {job}")

    def companions(self, job: str) -> list[str]:
        """The ids of those that it has."""
        return self.pods.run("jobs", "-no", "{annotations.user.companions}", job).split(",")

    def gone(self, *jobs: str) -> None:
        """Wait until they have ended."""
        for job in jobs:
            self.pods.run("job", "wait-event", "-t", "25", job, "clean")


@pytest.fixture(scope="module")
def cluster(lay_out_flux: Callable[..., Pods]) -> Malleable:
    pods = lay_out_flux("priority-elastic", 2, cores=2, policy_settings={"gap": 0}).start(0, 1)
    with pods.lead_api.watch() as watch:
        watch.until(online="0-1", running=True)
    until(lambda: pods.run("resource", "list", "-s", "up", "-no", "{ncores}") == "4", "all cores")
    return Malleable(pods)


@pytest.fixture
def instance(cluster: Malleable) -> Iterator[Malleable]:
    """The same, with no job."""
    yield cluster
    cluster.hold_file.unlink(missing_ok=True)
    cluster.clear()


@pytest.mark.parametrize("example", [pytest.param(QUEENS, id="queens"), pytest.param(JACOBI, id="jacobi")])
def test_a_program_gives_way_twice_and_comes_back(instance: Malleable, example: tuple[str, ...]) -> None:
    """For jobs of more urgency; each of its workers but the first is a companion, on what that job had."""
    if example is JACOBI:
        pytest.importorskip("numpy", reason="needs numpy: pip install 'minicluster[examples]'")
    job = instance.begin(*example)
    for _ in range(2):
        assert instance.pods.run("run", "-n2", "--urgency=20", "echo", "urgent").split() == ["urgent"] * 2
        instance.size(job, 4)
    assert instance.pending()["free"] == 0
    last = instance.companions(job)
    instance.hold_file.unlink()
    output = instance.pods.run("job", "attach", job)
    assert "checked: " in output
    (sizes,) = re.findall(r"on ([\d →]+) tasks", output)
    changes = [int(size) for size in sizes.split(" → ")]
    assert changes == [1, 4, 2, 4, 2, 4]
    assert sum(later < earlier for earlier, later in itertools.pairwise(changes)) == 2
    assert instance.pods.run("job", "eventlog", job).count("memo") == 5
    instance.gone(*last)
    until(lambda: instance.pending()["free"] == 4, "all cores")


def test_a_job_is_resized_by_hand(instance: Malleable) -> None:
    """By the port; the policy, which has no gap, leaves it as it is for a while."""
    job = instance.begin(*QUEENS)
    with connect(instance.pods.run("getattr", "local-uri"), "flux") as port:
        assert port.jobs.resize(parse(job), 2) == 4
        instance.size(job, 2)
        assert port.jobs.resize(parse(job), 3) == 2
        instance.size(job, 3)
        assert instance.pending()["free"] == 1
        assert port.jobs.resize(parse(job), 1, wait=False) == 3
        instance.size(job, 1)
        with pytest.raises(NotResized, match="runs with 1 to 4 workers here, not with 5"):
            port.jobs.resize(parse(job), 5)
        rigid = instance.submit("sleep", "60")
        instance.resources_of(rigid)
        with pytest.raises(NotResized, match="is not malleable"):
            port.jobs.resize(parse(rigid), 2)
    instance.hold_file.unlink()
    assert "on 1 → 4 → 2 → 3 → 1 tasks" in instance.pods.run("job", "attach", job)


def test_companions_have_the_environment_of_their_base(instance: Malleable) -> None:
    """Flux keeps it apart from the jobspec that it shows."""
    words = ("--env=*", "--env=MARK=of the base", "sh", "-c", 'echo "mark: $MARK"; exec "$0" "$@"')
    job = instance.begin(*QUEENS, words=(*MALLEABLE, *words))
    all_of_it = [job, *instance.companions(job)]
    instance.hold_file.unlink()
    assert len(all_of_it) == 4
    for each in all_of_it:
        assert "mark: of the base" in instance.pods.run("job", "attach", each)


def test_credentials_are_for_the_user_alone(instance: Malleable) -> None:
    """A file that the job's shells make where its other files are."""
    show = 'cd "$FLUX_JOB_TMPDIR"; ls -l "$MINICLUSTER_MALLEABLE" | cut -c-10; ls malleable.json'
    mode, name = instance.pods.run("run", *MALLEABLE, "sh", "-c", show).split()
    assert mode == "-r--------"
    assert name == "malleable.json"


def test_workers_of_a_job_that_asks_for_nodes_have_one_each(instance: Malleable) -> None:
    words = ("-N1", *elastic(1, 2), "--setattr=user.elastic.malleable=true")
    job = instance.begin(*QUEENS, words=words, most=2)
    (companion,) = instance.companions(job)
    sizes = "{annotations.sched.elastic.min} {annotations.sched.elastic.max} {annotations.user.target}"
    assert instance.pods.run("jobs", "-no", sizes, job) == "1 2"
    assert {instance.hosts_and_slots(each)[0] for each in (job, companion)} == {"mc-0", "mc-1"}
    assert instance.pods.run("jobs", "-no", "{annotations.sched.companion_of}", companion) == job


def test_companions_end_with_a_job_that_is_cancelled(instance: Malleable) -> None:
    job = instance.begin(*QUEENS)
    companions = instance.companions(job)
    assert len(companions) == 3
    instance.pods.run("cancel", job)
    instance.gone(job, *companions)
    assert instance.hosts_and_slots(instance.submit("-n4", "true")) == ("mc-[0-1]", 4)


POLLING = """
import time
from minicluster.malleable import Hooks, Program, Worker
class Mine(Hooks):
    def after_grow(self, workers):
        pass
    def before_shrink(self, order):
        return sorted(program.workers)[-order.count :]
me = Worker.from_environment()
if me.joining:
    me.join("nowhere")
    time.sleep(600)
with Program(Mine()) as program:
    while True:
        if program.poll(10):
            print(sorted(program.workers), flush=True)
"""


def test_a_companion_that_is_lost_is_counted_out(instance: Malleable) -> None:
    """The program learns who it was, and the job grows again into what it held."""
    job = instance.submit(*MALLEABLE, sys.executable, "-c", POLLING)
    instance.size(job, 4)
    lost = instance.companions(job)[1]
    with connect(instance.pods.run("getattr", "local-uri"), "flux") as flux:
        instance.pods.run("cancel", lost)
        with flux.jobs.output(parse(job), follow=True) as output:
            printed = b""
            for chunk in output:
                printed += chunk.data
                if b", 4]" in printed:
                    break
    assert b"[0, 1, 2, 3]\n[0, 1, 3]\n[0, 1, 3, 4]\n" in printed
    instance.size(job, 4)
    assert lost not in instance.companions(job)
    assert f"then lost {lost}" in instance.pods.run("job", "eventlog", job)


def test_companions_survive_a_reload_and_end_with_their_job(instance: Malleable) -> None:
    """The program has lost its connection: the job keeps its size, and all that it holds."""
    job = instance.begin(*QUEENS)
    companions = instance.companions(job)
    instance.pods.run("module", "reload", "minicluster-sched")
    assert (instance.pending()["free"], instance.pending()["running"]) == (0, 4)
    instance.hold_file.unlink()
    assert "checked: right" in instance.pods.run("job", "attach", job)
    instance.gone(*companions)
    assert instance.hosts_and_slots(instance.submit("-n4", "true")) == ("mc-[0-1]", 4)


def test_nobody_else_becomes_a_companion(instance: Malleable) -> None:
    job = instance.begin(*QUEENS)
    other = instance.submit(f"--setattr=user.companion_of={job}", "--setattr=user.task=1", "true")
    instance.gone(other)
    assert f"{job} waits for no such companion" in instance.pods.run("job", "eventlog", other)
