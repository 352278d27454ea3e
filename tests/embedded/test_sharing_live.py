"""Jobs that really share cores: quotas in the kernel, and what is left of them after any end."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.broker import launcher
from minicluster.embedded.execution.processes import family
from minicluster.embedded.execution.rank.enforcement.control_groups import group_name
from tests.embedded.engine.sharing import paired
from tests.queue_policies.installed_plugin import install_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CPUS = sorted(os.sched_getaffinity(0))
HOOK = """
from queue_policies.plugins import hookimpl


@hookimpl
def minicluster_policies():
    return [Paired]
"""
GROUPS = Path("/sys/fs/cgroup")
PROGRAM = ["sleep", "600"]


def groups(instance: Any) -> set[Path]:
    """The groups that the instance's broker has made, those of its jobs too."""
    prefix = group_name(str(instance.directory / "0"), 0, "").prefix
    tops = [path for path in GROUPS.rglob(f"{prefix}*") if path.is_dir()]
    return {path for top in tops for path in (top, *top.iterdir()) if path.is_dir()}


needs_groups = pytest.mark.skipif(
    not os.access(GROUPS / "cpu" / "tasks", os.W_OK), reason="no control groups of version 1 to write"
)
needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="this process may use one CPU")


class Pair:
    """An instance of one broker with two cores, with a host and its guest."""

    def __init__(self, instance: Any, way: str) -> None:
        self.instance = instance
        self.way = way
        self.host = self.guest = ""

    def begin(self) -> Pair:
        self.host = self.submit("-n1", "-c2")
        self.guest = self.submit("-n1", "-c1")
        for job in (self.host, self.guest):
            self.wait(lambda job=job: 0.5 in self.quotas(job), f"a quota of {job}")
        return self

    def submit(self, *options: str) -> str:
        done = self.instance.flux("submit", *options, *PROGRAM)
        assert done.returncode == 0, done.stderr
        return str(done.stdout.strip())

    def wait(self, condition: Callable[[], object], what: str) -> None:
        self.instance.wait(condition, what)

    def events(self, job: str) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for line in self.instance.flux("job", "eventlog", "--format=json", job).stdout.splitlines()
        ]

    def quotas(self, job: str) -> list[float]:
        found = [event["context"] for event in self.events(job) if event["name"] == "quota"]
        assert {each["enforcement"] for each in found} <= {self.way}
        return [each["fraction"] for each in found]

    def number(self, job: str) -> int:
        return int(self.instance.flux("job", "id", "--to=dec", job).stdout)

    def quota_file(self, job: str) -> int:
        (group,) = [
            path
            for path in groups(self.instance)
            if path.name == str(self.number(job)) and "cpu/" in str(path)
        ]
        return int((group / "cpu.cfs_quota_us").read_text())

    def masks(self, job: str) -> set[frozenset[int]]:
        """The CPUs of the job's threads."""
        marker = f".{self.number(job)}".encode()
        found = set()
        for pid in family([self.instance.brokers[0].pid]):
            try:
                environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                if any(
                    each.startswith(b"MINICLUSTER_JOB=") and each.endswith(marker) for each in environment
                ):
                    found.add(frozenset(os.sched_getaffinity(pid)))
            except OSError:
                continue
        return found


@pytest.fixture
def make(make_instance: Callable[..., Any], tmp_path: Path) -> Iterator[Callable[[str], Pair]]:
    started = []
    source = Path(paired.__file__).read_text()
    install_plugin(tmp_path / "site", "paired", "my_paired", source + HOOK)

    def made(way: str, *lead: str) -> Pair:
        instance = make_instance(1)
        started.append(instance)
        paths = [str(tmp_path / "site"), *launcher._search_path()]
        (instance.bin / "flux").write_text(launcher.script(sys.executable, paths))
        instance.config.write_text(
            f'[exec]\nkill-timeout = 0.5\n[resource]\nnoverify = true\npath = "{instance.directory}/R"\n'
            f'[minicluster]\nqueue-policy = "paired"\ncpu-quotas = "{way}"\n'
        )
        instance.start(0, "-Sbroker.rc2_none", *lead)
        if way != "none":
            instance.wait(lambda: instance.flux("uptime").returncode == 0, "the broker")
        return Pair(instance, way)

    yield made
    assert [groups(each) for each in started] == [set()] * len(started)


@needs_groups
def test_groups_hold_both_to_their_quotas_until_the_guest_ends(make: Callable[[str], Pair]) -> None:
    pair = make("cgroup-v1").begin()
    assert (pair.quota_file(pair.host), pair.quota_file(pair.guest)) == (100000, 100000)
    pair.instance.flux("cancel", pair.guest)
    pair.wait(lambda: pair.quotas(pair.host) == [0.5, 1.0], "the end of the quota")
    assert pair.quota_file(pair.host) == -1
    assert not [path for path in groups(pair.instance) if path.name == str(pair.number(pair.guest))]
    pair.instance.close()


@needs_groups
def test_a_guest_outlives_its_host(make: Callable[[str], Pair]) -> None:
    pair = make("cgroup-v1").begin()
    pair.instance.flux("cancel", pair.host)
    pair.wait(lambda: pair.quotas(pair.guest) == [0.5, 1.0], "the end of the quota")
    assert pair.quota_file(pair.guest) == -1
    free = pair.instance.flux("resource", "list", "--state=free", "-no", "{ncores}").stdout.strip()
    assert free == "1"
    pair.instance.close()


@needs_groups
def test_a_killed_broker_leaves_no_group(make: Callable[[str], Pair]) -> None:
    pair = make("cgroup-v1").begin()
    ours = {
        path
        for path in groups(pair.instance)
        if path.name in {str(pair.number(pair.host)), str(pair.number(pair.guest))}
    }
    assert ours
    pair.instance.end(0, signal.SIGKILL)
    pair.wait(lambda: not any(path.parent.exists() for path in ours), "the end of the groups")


@needs_two
def test_affinity_gives_each_cores_of_its_own(make: Callable[[str], Pair]) -> None:
    pair = make("affinity").begin()
    first, last = frozenset(CPUS[:1]), frozenset(CPUS[1:2])
    assert (pair.masks(pair.host), pair.masks(pair.guest)) == ({first}, {last})
    pair.instance.flux("cancel", pair.guest)
    pair.wait(lambda: pair.quotas(pair.host) == [0.5, 1.0], "the end of the quota")
    assert pair.masks(pair.host) == {first | last}
    pair.instance.close()


def test_without_an_enforcement_the_broker_does_not_start(make: Callable[[str], Pair]) -> None:
    pair = make("none")
    assert pair.instance.code(0) == 1
    logged = pair.instance.log(0).read_text()
    assert "queue policy paired has jobs share cores, and nothing enforces CPU quotas here" in logged
    for way in ("control groups of version 2", "control groups of version 1", "affinity"):
        assert f"{way} (broker.toml has cpu-quotas = 'none')" in logged
