"""The CPUs of a malleable job's tasks after a growth and a shrink, as /proc shows them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats import idset, resource_set
from tests.embedded.malleable_job import POLICY, MalleableJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.embedded.conftest import Instance

CPUS = tuple(sorted(os.sched_getaffinity(0)))[:2]
LAYOUTS = {"two brokers of one CPU": ("0", [CPUS[:1], CPUS[1:]]), "a broker of two CPUs": ("0-1", [CPUS])}

pytestmark = [
    pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs"),
    pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset(1)"),
]


def cpus_of(pid: int) -> list[int]:
    """The CPUs that the kernel lets a process have."""
    status = Path(f"/proc/{pid}/status").read_text()
    return [*idset.decode(status.partition("Cpus_allowed_list:")[2].split()[0])]


def bound(job: MalleableJob) -> dict[int, list[int]]:
    """The CPUs of each task that runs."""
    return {task: cpus_of((job.task(task) or {})["pid"]) for task in job.alive()}


def in_r(instance: Instance, job: str, cpus: list[Any]) -> set[int]:
    """The CPUs of the cores that a job has: core k of a rank is the k-th CPU of its broker."""
    allocation = resource_set.allocation_of(json.loads(instance.flux("job", "info", job, "R").stdout))
    return {
        cpu
        for rank, (cores, _) in allocation.items()
        for core, cpu in enumerate(cpus[rank])
        if cores >> core & 1
    }


@pytest.mark.parametrize(("cores", "cpus"), LAYOUTS.values(), ids=LAYOUTS)
def test_each_worker_has_its_core_whatever_comes_and_goes(
    make_instance: Callable[..., Instance], tmp_path: Path, cores: str, cpus: list[Any]
) -> None:
    """Those that come are bound to their own core. The job that gets a core has its CPU, and no other's."""
    instance = make_instance(len(cpus), cores)
    instance.config.write_text(instance.config.read_text() + POLICY)
    instance.up(cpus=cpus)
    first, second = ([cpu] for cpu in CPUS)
    job = MalleableJob(instance, tmp_path, most=2)
    job.wait(lambda: len(job.alive()) == 2, "two workers")
    assert bound(job) == {0: first, 1: second}

    other = job.give_way(1, f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid;")
    job.wait((tmp_path / "pid").exists, "the other job's process")
    assert bound(job) == {0: first}
    assert (in_r(instance, job.id, cpus), in_r(instance, other, cpus)) == ({CPUS[0]}, {CPUS[1]})
    assert cpus_of(int((tmp_path / "pid").read_text())) == second

    (tmp_path / "go").touch()
    job.wait(lambda: job.resized(2), "grown to two")
    assert bound(job) == {0: first, 2: second}
    assert in_r(instance, job.id, cpus) == set(CPUS)
    assert job.end() == "COMPLETED"
