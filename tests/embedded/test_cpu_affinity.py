"""Tasks of real brokers on the CPUs that R gives them, as /proc shows it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.embedded.conftest import Instance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CPUS = tuple(sorted(os.sched_getaffinity(0)))[:2]
SHOW = ("grep", "Cpus_allowed_list", "/proc/self/status")
BOTH = ",".join(map(str, CPUS)) if CPUS[-1] - CPUS[0] > 1 else f"{CPUS[0]}-{CPUS[-1]}"

pytestmark = [
    pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs"),
    pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset(1)"),
]


def seen(instance: Instance, *arguments: str) -> dict[int, str]:
    """Return by task the CPUs that the kernel lets it have."""
    done = instance.flux("run", "--label-io", *arguments, *SHOW)
    found = re.findall(r"^(\d+): Cpus_allowed_list:\s+(\S+)$", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stderr
    return {int(task): cpus for task, cpus in found}


@contextmanager
def blocked(instance: Instance) -> Iterator[None]:
    """A job has the first core meanwhile."""
    job = instance.flux("submit", "-n1", "sleep", "60").stdout.strip()
    try:
        instance.flux("job", "wait-event", job, "start")
        yield
    finally:
        instance.flux("cancel", job)
        instance.flux("job", "wait-event", job, "clean")


@pytest.fixture(scope="module")
def pinned() -> Iterator[Instance]:
    """Two brokers of one CPU each."""
    with tempfile.TemporaryDirectory(prefix="mc-") as directory:
        instance = Instance(Path(directory), 2, "0").up(cpus=[CPUS[:1], CPUS[1:]])
        yield instance
        instance.close()


@pytest.fixture(scope="module")
def whole() -> Iterator[Instance]:
    """A broker of two CPUs, both of which are in R."""
    with tempfile.TemporaryDirectory(prefix="mc-") as directory:
        instance = Instance(Path(directory), 1, "0-1").up(cpus=[CPUS])
        yield instance
        instance.close()


def test_each_rank_has_its_own_cpu(pinned: Instance) -> None:
    """Core 0 of each rank is the only CPU of its broker."""
    assert seen(pinned, "-N2", "-n2") == {0: str(CPUS[0]), 1: str(CPUS[1])}


@pytest.mark.parametrize(
    ("arguments", "cpus"),
    [
        pytest.param(["-n1"], [str(CPUS[0])], id="the job's cores"),
        pytest.param(["-n2"], [BOTH, BOTH], id="all of them"),
        pytest.param(["-n2", "-o", "cpu-affinity=on"], [BOTH, BOTH], id="on"),
        pytest.param(["-n1", "-o", "cpu-affinity=off"], [BOTH], id="off"),
        pytest.param(["-n2", "-o", "cpu-affinity=per-task"], [*map(str, CPUS)], id="per-task"),
        pytest.param(
            ["-n2", "-o", f"cpu-affinity=map:{CPUS[1]};{CPUS[0]}"], [str(CPUS[1]), str(CPUS[0])], id="map"
        ),
        pytest.param(["-n1", "-o", "cpu-affinity=dry-run"], [BOTH], id="dry-run"),
        pytest.param(["-n1", "-o", "cpu-affinity=1"], [str(CPUS[0])], id="an option that is none"),
        pytest.param(["-n1", "-o", "cpu-affinity=map:4000"], [str(CPUS[0])], id="a CPU that is not there"),
    ],
)
def test_the_shell_option(whole: Instance, arguments: list[str], cpus: list[str]) -> None:
    """As with real Flux."""
    assert seen(whole, *arguments) == dict(enumerate(cpus))


@pytest.mark.parametrize(
    ("option", "messages"),
    [
        pytest.param("verbose", [f"cpu-affinity: cpus: {BOTH}"], id="verbose"),
        pytest.param(
            "dry-run,per-task",
            [
                f"cpu-affinity: cpus: {BOTH}",
                f"cpu-affinity: task 0: cpus: {CPUS[0]}",
                f"cpu-affinity: task 1: cpus: {CPUS[1]}",
            ],
            id="dry-run",
        ),
        pytest.param("1", ["WARN: cpu-affinity: cpu-affinity: invalid option: on"], id="no option"),
    ],
)
def test_what_the_shell_logs(whole: Instance, option: str, messages: list[str]) -> None:
    done = whole.flux("run", "-n2", "-o", f"cpu-affinity={option}", "true")
    assert [line.partition("flux-shell[0]: ")[2].strip() for line in done.stderr.splitlines()] == messages


@pytest.mark.parametrize(
    ("mapped", "message"),
    [
        ("0x0;1", "cpu-affinity: cpuset 0x0 contains no cores or is invalid"),
        ("", "cpu-affinity: no cpusets found in affinity list "),
    ],
)
def test_a_map_that_is_none_fails_the_job(whole: Instance, mapped: str, message: str) -> None:
    done = whole.flux("run", "-n2", "-o", f"cpu-affinity=map:{mapped}", "true")
    assert (done.returncode, message in done.stderr) == (1, True)


def test_two_jobs_have_no_cpu_in_common(whole: Instance) -> None:
    """While one runs, the other gets the other core."""
    with blocked(whole):
        assert seen(whole, "-n1") == {0: str(CPUS[1])}


def test_an_instance_within_has_the_cpus_of_its_job(whole: Instance) -> None:
    """Core 1 is the only core of its R, and its only CPU."""
    with blocked(whole):
        done = whole.flux("alloc", "-n1", "flux", "run", "-n1", *SHOW)
    assert done.stdout == f"Cpus_allowed_list:\t{CPUS[1]}\n"


def test_brokers_with_the_same_cpus_divide_them(make_instance: Callable[..., Instance]) -> None:
    """R has as many cores as the machine: each broker has its part."""
    instance = make_instance(2, "0").up(cpus=[CPUS, CPUS])
    assert seen(instance, "-N2", "-n2") == {0: str(CPUS[0]), 1: str(CPUS[1])}


def test_with_more_cores_than_the_machine_has_nothing_is_bound(
    make_instance: Callable[..., Instance],
) -> None:
    """It is logged once. Who asks for it gets what Flux does: core k is the k-th CPU."""
    instance = make_instance(2, "0-1").up(cpus=[CPUS, CPUS])
    assert [seen(instance, "-n1") for _ in range(2)] == [{0: BOTH}, {0: BOTH}]
    assert seen(instance, "-n1", "-o", "cpu-affinity=on") == {0: str(CPUS[0])}
    why = f"mc-[0-1] have 4 cores in R, and may use the CPUs {BOTH}"
    line = f"tasks are not bound to cores, unless cpu-affinity asks for it: {why}"
    assert instance.log(0).read_text().count(line) == 1


def test_cores_that_the_machine_does_not_have(make_instance: Callable[..., Instance]) -> None:
    """In Flux's words, where cpu-affinity asks for it."""
    instance = make_instance(1, "0-7").up(cpus=[CPUS])
    done = instance.flux("run", "-n8", "-o", "cpu-affinity=on", *SHOW)
    assert "WARN: cpu-affinity: unable to get cpuset for cores 0-7. Disabling affinity" in done.stderr
    assert done.stdout == f"Cpus_allowed_list:\t{BOTH}\n" * 8
