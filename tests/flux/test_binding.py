"""The CPUs of tasks on real Flux, as the kernel has them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.flux.placed import SLEEP, request
from tests.lead.client import until
from tests.queue_policies.installed_plugin import install_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.flux.placed import PlacedInstance

ROOT = Path(__file__).parents[2]
APP = ROOT / "tests" / "embedded" / "malleable_app.py"
PLUGIN = """\
from dataclasses import dataclass
from queue_policies.placement.plugins import hookimpl

@dataclass(frozen=True)
class Doubling:
    name = "doubling"

    def place(self, ask, nodes):
        return {rank: (nodes.nodes[rank].cores, 0) for rank in nodes.ranks}

@hookimpl
def minicluster_placements():
    return [Doubling]
"""


@pytest.fixture(scope="module")
def here(brokers: Callable[..., PlacedInstance], tmp_path_factory: pytest.TempPathFactory) -> PlacedInstance:
    """One broker with two of this machine's cores."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two CPUs are needed")
    site = tmp_path_factory.mktemp("site")
    install_plugin(site, "doubling", "doubling", PLUGIN, "minicluster.placements")
    return brokers(1, 2, "task-group", {"PYTHONPATH": str(site)})


@pytest.fixture(scope="module")
def pinned(brokers: Callable[..., PlacedInstance]) -> PlacedInstance:
    """Two brokers of one CPU each."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2 or shutil.which("taskset") is None:
        pytest.skip("two CPUs and taskset(1) are needed")
    return brokers(2, 1, "task-group", {}, cpus)


@pytest.fixture
def instance(here: PlacedInstance) -> Iterator[PlacedInstance]:
    yield here
    here.clear()


def cpus_of(*cores: int) -> str:
    """The CPUs of these cores, as the kernel writes them."""
    cpus = sorted(os.sched_getaffinity(0))
    numbers = [cpus[core] for core in cores]
    return f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


@pytest.mark.parametrize(
    ("spec", "tasks"),
    [
        pytest.param(request(2, workers=1), [("0", (0, 1)), ("0", (0, 1))], id="one worker"),
        pytest.param(request(2, workers=2), [("0", (0,)), ("1", (1,))], id="two workers"),
        pytest.param(request(1), [("0", (0,))], id="one task"),
        pytest.param(
            request(2, affinity="on", workers=2), [("0", (0, 1)), ("1", (0, 1))], id="what the user asks for"
        ),
    ],
)
def test_tasks_have_the_cpus_of_their_worker(
    instance: PlacedInstance, spec: Any, tasks: list[tuple[str, tuple[int, ...]]]
) -> None:
    """As R says, and they know which worker they are."""
    assert instance.tasks(spec) == [
        [str(number), worker, cpus_of(*cores)] for number, (worker, cores) in enumerate(tasks)
    ]


def test_two_jobs_have_no_cpu_in_common(instance: PlacedInstance) -> None:
    beside = instance.submit(request(1), *SLEEP)
    assert instance.allocation(beside) == {0: (1, 0)}
    assert instance.tasks(request(1)) == [["0", "0", cpus_of(1)]]


def test_each_broker_binds_to_its_own_cpu(pinned: PlacedInstance) -> None:
    """Core 0 of each rank is the only CPU of its broker; PMI's ranks are in the order of the workers."""
    try:
        assert pinned.tasks(request(2, workers=2)) == [["0", "0", cpus_of(0)], ["1", "1", cpus_of(1)]]
        assert pinned.tasks(request(1, nodes=2)) == [["0", "0", cpus_of(0)], ["1", "1", cpus_of(1)]]
    finally:
        pinned.clear()


@pytest.mark.parametrize("layout", ["here", "pinned"])
def test_workers_that_come_have_the_cpu_of_their_core(
    layout: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Each is a job of its own. Once it has left, its CPU is the next job's, and the others keep theirs.

    On one broker with two cores, and over two brokers of one CPU each.
    """
    instance: PlacedInstance = request.getfixturevalue(layout)
    try:
        _grow_and_shrink(instance, tmp_path)
    finally:
        instance.clear()


def _grow_and_shrink(instance: PlacedInstance, tmp_path: Path) -> None:
    instance.reconfigure(placement="task-group")
    spec = request(1, elastic={"min": 1, "max": 2, "malleable": True})
    program = ("env", f"PYTHONPATH={ROOT}", sys.executable, str(APP), str(tmp_path))
    job = instance.submit(spec, *program)
    first, second = cpus_of(0), cpus_of(1)
    for new in (1, 2):
        until(lambda: instance.resized(job, 2), "two workers")
        assert of_tasks(tmp_path) == {0: first, new: second}
        assert instance.resized(job, 1)
        assert instance.tasks(request(1)) == [["0", "0", second]]
        assert of_tasks(tmp_path) == {0: first}


def of_tasks(directory: Path) -> dict[int, str]:
    """The CPUs that the kernel lets the tasks have that run, by their number."""
    found = {}
    for file in sorted(directory.glob("task-?")):
        status = Path(f"/proc/{json.loads(file.read_text())['pid']}/status")
        if status.exists():
            found[int(file.name[-1])] = status.read_text().partition("Cpus_allowed_list:")[2].split()[0]
    return found


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            request(1, profile="memroy"), "'memroy' is no profile; did you mean 'memory'?", id="profile"
        ),
        pytest.param(request(1, workers=0), "attributes.user.workers must be an integer > 0", id="workers"),
    ],
)
def test_what_is_wrong_is_refused_at_submission(instance: PlacedInstance, spec: Any, message: str) -> None:
    done = instance.submitted(spec)
    assert done.returncode != 0
    assert message in done.stderr


def test_with_the_affinity_none_tasks_float(instance: PlacedInstance) -> None:
    """Over the CPUs that their broker may use."""
    instance.reconfigure(placement="spread", affinity="none")
    status = Path(f"/proc/{instance.pods.brokers(0)[0]}/status").read_text()
    cpus = status.partition("Cpus_allowed_list:")[2].split()[0]
    assert instance.tasks(request(1)) == [["0", "0", cpus]]


def test_a_placement_with_a_defect_keeps_the_queue(instance: PlacedInstance) -> None:
    """It is named in the log; with another placement the jobs run."""
    instance.reconfigure(placement="doubling")
    job = instance.submit(request(1), *SLEEP)
    until(lambda: "placement doubling returns 2 slots" in instance.pods.run("dmesg"), "the defect in the log")
    instance.reconfigure(placement="pack")
    assert instance.allocation(job) == {0: (1, 0)}
