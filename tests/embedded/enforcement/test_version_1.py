"""Control groups of version 1: plain files, and the kernel's where this machine has them to write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.execution.rank.enforcement import version_1
from minicluster.embedded.execution.rank.enforcement.control_groups import GroupName
from minicluster.embedded.execution.rank.enforcement.group_files import GroupFiles
from minicluster.embedded.execution.rank.enforcement.hierarchies import OwnGroup, own_groups
from minicluster.embedded.execution.rank.enforcement.records import CpuLimit
from tests.devcluster.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.embedded.execution.rank.enforcement.control_groups import ControlGroups

SPIN = "while True: pass"
NAMED = GroupName(f"minicluster.test{os.getpid()}.", "now")


class PlainFiles(GroupFiles):
    """Files in a directory, with those that the kernel makes in a group."""

    def make(self, group: Path) -> None:
        super().make(group)
        for name in ("cgroup.procs", "cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.shares", "cpuacct.usage"):
            (group / name).write_text("0")

    def write(self, file: Path, text: str) -> None:
        file.write_text(text)


def written(group: Path) -> tuple[int, int, int]:
    names = ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares")
    quota, period, weight = (int((group / name).read_text()) for name in names)
    return quota, period, weight


def test_a_limit_is_a_quota_and_a_weight(tmp_path: Path) -> None:
    own = {name: OwnGroup(tmp_path, True) for name in ("cpu", "cpuacct")}
    job = version_1.opened(PlainFiles(), own, NAMED).begin(7, list)
    group = tmp_path / str(NAMED) / "7"
    found = []
    for limit in (CpuLimit(0.5, 1), CpuLimit(1.5, 2), CpuLimit(0.001, 1), CpuLimit(None, 2)):
        job.set_limit(limit)
        found.append(written(group))
    assert found == [(50000, 100000, 512), (150000, 100000, 1536), (1000, 100000, 2), (-1, 100000, 2048)]
    (group / "cpuacct.usage").write_text("2500000000")
    assert job.consumption().cpu_seconds == 2.5


def test_a_kernel_without_quotas_does_not_hold(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cpu\.cfs_quota_us"):
        version_1.opened(GroupFiles(), {"cpu": OwnGroup(tmp_path, True)}, NAMED)
    assert list(tmp_path.iterdir()) == []


def test_without_the_hierarchy_it_does_not_hold(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no hierarchy of version 1 with the controller cpu"):
        version_1.opened(GroupFiles(), {"memory": OwnGroup(tmp_path, True)}, NAMED)


@pytest.fixture
def real() -> Iterator[ControlGroups]:
    """The broker's groups on this machine, in the hierarchies of the kernel."""
    own = own_groups(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    try:
        made = version_1.opened(GroupFiles(), own, NAMED)
    except OSError as error:
        pytest.skip(f"this machine has no control groups of version 1 that may be written: {error}")
    yield made
    assert made.close()
    assert not [each for each in made.directories if Path(each).exists()]


def test_the_kernel_holds_a_job_to_its_quota(real: ControlGroups) -> None:
    """A program that computes is throttled, with what it forked, and no more once the quota is lifted."""
    forks = f"import os; os.fork()\n{SPIN}"
    group = Path(real.directories[0], "7")
    job = real.begin(7, list)
    job.set_limit(CpuLimit(0.2, 1))
    process = subprocess.Popen(
        [sys.executable, "-c", forks],
        preexec_fn=job.enter,  # noqa: PLW1509 - the way of a broker
        start_new_session=True,
    )

    def stat(name: str) -> int:
        return dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())[name]

    def throttled() -> int:
        return int(stat("nr_throttled"))

    try:
        until(lambda: throttled() > 2, "a throttled job")
        until(lambda: len((group / "cgroup.procs").read_text().split()) == 2, "what it forked")
        assert str(process.pid) in (group / "cgroup.procs").read_text().split()
        assert job.consumption().cpu_seconds > 0
        assert job.consumption().memory_bytes > 1 << 20
        job.set_limit(CpuLimit(None, 1))
        used = job.consumption().cpu_seconds
        until(lambda: job.consumption().cpu_seconds > used + 0.2, "CPU time")
        before = throttled()  # the kernel counts the period in which the quota was lifted as well
        until(lambda: job.consumption().cpu_seconds > used + 0.6, "more CPU time")
        assert throttled() == before
        assert not job.close(), "processes are in it yet"
    finally:
        os.killpg(process.pid, 9)
        process.wait()
    until(job.close, "the end of the group")


def test_a_task_that_was_started_outside_is_moved(real: ControlGroups) -> None:
    job = real.begin(8, list)
    process = subprocess.Popen(["sleep", "60"])
    try:
        job.adopt(process.pid)
        assert Path(real.directories[0], "8", "cgroup.procs").read_text().split() == [str(process.pid)]
    finally:
        process.kill()
        process.wait()
    job.adopt(process.pid)  # it has ended: that is no error
    until(job.close, "the end of the group")
