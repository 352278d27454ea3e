"""Which CPUs each task is bound to, by the shell option `cpu-affinity` and by a job's workers."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.errors import BindingError, LayoutError
from minicluster.embedded.execution.cpu_binding import CpuBinding, binding_of, divided
from minicluster.embedded.execution.rank.cpus import TaskBinder, bound_to
from minicluster.embedded.execution.rank_launch import RankLaunch, RankWorker

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

WORKERS = (RankWorker((4, 5), (0, 1), 2), RankWorker((6,), (2, 3), 3))
ALL = frozenset({8, 9, 10, 11})


def launch(**changes: object) -> RankLaunch:
    """Three tasks on four cores, which are the CPUs 8 to 11."""
    fields: dict[str, object] = {
        "id": 1,
        "f58": "f2",
        "argv": ("true",),
        "env": {},
        "cwd": "/",
        "name": "true",
        "size": 8,
        "nodes": 2,
        "node": 1,
        "tasks": (4, 5, 6),
        "cores": (0, 1, 2, 3),
        "gpus": (),
        "options": {},
        "files": {},
        "mapping": "",
        "cpus": (8, 9, 10, 11),
        "affinity": "on",
    }
    return RankLaunch(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "cpus"),
    [
        pytest.param({}, [ALL] * 3, id="the job's cores"),
        pytest.param({"affinity": "off"}, [], id="tasks that float"),
        pytest.param({"affinity": "off", "options": {"cpu-affinity": "verbose"}}, [], id="verbose alone"),
        pytest.param({"affinity": "shared"}, [], id="CPUs that are not the broker's own"),
        pytest.param({"affinity": "shared", "options": {"cpu-affinity": "on"}}, [ALL] * 3, id="on request"),
        pytest.param(
            {"affinity": "shared", "options": {"cpu-affinity": "verbose"}},
            [ALL] * 3,
            id="on a verbose request",
        ),
        pytest.param(
            {"affinity": "workers", "workers": WORKERS, "options": {"cpu-affinity": "verbose"}},
            [{8, 9}, {8, 9}, {10, 11}],
            id="verbose workers",
        ),
        pytest.param({"options": {"cpu-affinity": "off"}}, [], id="off"),
        pytest.param({"options": {"cpu-affinity": "per-task"}}, [{8}, {9}, {10, 11}], id="per-task"),
        pytest.param({"options": {"cpu-affinity": "map:1;0x6"}}, [{1}, {1, 2}, {1}], id="map"),
        pytest.param({"options": {"cpu-affinity": "dry-run,per-task"}}, [], id="dry-run"),
        pytest.param({"options": {"cpu-affinity": "anything"}}, [ALL] * 3, id="an unknown word, as Flux"),
        pytest.param({"affinity": "workers", "workers": WORKERS}, [{8, 9}, {8, 9}, {10, 11}], id="workers"),
        pytest.param(
            {"affinity": "workers", "workers": WORKERS, "options": {"cpu-affinity": "on"}},
            [ALL] * 3,
            id="the option stands over the workers",
        ),
        pytest.param({"cpus": ()}, [], id="too few CPUs"),
        pytest.param(
            {
                "credentials": "x",
                "options": {"cpu-affinity": "per-task"},
                "workers": (RankWorker((6,), (3,)),),
                "fresh": (6,),
            },
            [{11}],
            id="a malleable job: the cores of its slot",
        ),
    ],
)
def test_cpus(changes: dict[str, object], cpus: list[set[int]]) -> None:
    assert list(binding_of(launch(**changes)).cpus.values()) == cpus


def test_a_map_that_is_none() -> None:
    with pytest.raises(LayoutError, match=r"^cpuset x contains no cores or is invalid$"):
        binding_of(launch(options={"cpu-affinity": "map:x"}))


@pytest.mark.parametrize(
    ("cpus", "tasks", "parts"),
    [
        (4, 1, ["0123"]),
        (4, 2, ["01", "23"]),
        (8, 3, ["01", "234", "567"]),
        (4, 4, ["0", "1", "2", "3"]),
        (2, 5, ["0", "0", "0", "1", "1"]),
        (1, 2, ["0", "0"]),
    ],
)
def test_division(cpus: int, tasks: int, parts: list[str]) -> None:
    """As hwloc_distrib(3) does it over cores."""
    assert ["".join(map(str, sorted(part))) for part in divided(range(cpus), tasks)] == parts


def test_workers_in_a_message() -> None:
    sent = launch(workers=WORKERS)
    assert RankLaunch.of_fields(sent.fields()) == sent
    assert [sent.worker_of(task) for task in (4, 5, 6, 7)] == [2, 2, 3, None]


def test_the_thread_gets_its_cpus_back() -> None:
    before = os.sched_getaffinity(0)
    one = {min(before)}
    with bound_to(one):
        assert os.sched_getaffinity(0) == one
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("cpus", [{4000}, {1 << 40}, {-1}, set()])
def test_cpus_that_are_not_there(cpus: set[int]) -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(BindingError, match="cannot bind to the CPUs"), bound_to(cpus):
        pass
    assert os.sched_getaffinity(0) == before


class Kernel:
    """Lets a thread have some CPUs alone, and keeps what it was asked for."""

    def __init__(self, *allowed: int) -> None:
        self.allowed = set(allowed)
        self.asked: list[list[int]] = []

    @contextmanager
    def bind(self, cpus: Collection[int]) -> Iterator[None]:
        self.asked.append(sorted(cpus))
        if not set(cpus) <= self.allowed:
            raise BindingError(f"cannot bind to the CPUs {sorted(cpus)}: Invalid argument")
        yield


def test_a_task_that_cannot_have_its_cpus_has_the_jobs_or_starts_unbound() -> None:
    """A pod's CPUs may have been changed meanwhile: that fails no job."""
    logged: list[tuple[str, int, str]] = []
    kernel = Kernel(1, 2)
    binding = CpuBinding({0: frozenset({3}), 1: frozenset({2})}, [(4, "before")], frozenset({1, 2}))
    binder = TaskBinder(binding, kernel.bind, lambda *line: logged.append(line))
    ran = []
    for task in (0, 1, 2):
        with binder.bound(task):
            ran.append(task)
    kernel.allowed = set()
    with binder.bound(1):
        ran.append(1)
    assert (ran, kernel.asked) == ([0, 1, 2, 1], [[3], [1, 2], [2], [2], [1, 2]])
    assert [text for text, *_ in logged] == [
        "before",
        "task 0: cannot bind to the CPUs [3]: Invalid argument",
        "task 1: cannot bind to the CPUs [2]: Invalid argument",
        "task 1: cannot bind to the CPUs [1, 2]: Invalid argument",
    ]


def test_an_error_of_the_start_is_the_callers() -> None:
    """A command that is not there is no failed binding."""
    binder = TaskBinder(CpuBinding({0: frozenset({1})}), Kernel(1).bind, lambda *_: None)
    with pytest.raises(FileNotFoundError), binder.bound(0):
        raise FileNotFoundError
