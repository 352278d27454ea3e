"""Control groups of version 2, on a tree in a directory in place of the kernel's (see `group_tree`)."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.execution.rank.enforcement import version_2
from minicluster.embedded.execution.rank.enforcement.control_groups import GroupName
from minicluster.embedded.execution.rank.enforcement.hierarchies import VERSION_2, OwnGroup
from minicluster.embedded.execution.rank.enforcement.records import Consumption, CpuLimit, EnforcementLost
from tests.embedded.enforcement.group_tree import GroupTree

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.embedded.execution.rank.enforcement.control_groups import ControlGroups

NAME = GroupName("minicluster.d.", "now")
PARENTS = {10: 1, 11: 10, 12: 11, 13: 11, 14: 13, 20: 1}
"""Process 10 has started 11, which is the broker, and that has started 12 and 13. 20 is another's."""


def opened(tree: GroupTree, group: Path | None = None) -> ControlGroups:
    own = {VERSION_2: OwnGroup(group or tree.top, tree.root)}
    return version_2.opened(tree, own, NAME, 11, lambda pid: PARENTS.get(pid, 0))


def groups(tree: GroupTree) -> list[str]:
    return sorted(str(path.parent.relative_to(tree.top)) for path in tree.top.rglob("cgroup.procs"))


def test_a_job_gets_a_group_with_quota_and_weight(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path, root=True)
    made = opened(tree)
    job = made.begin(7, list)
    group = tmp_path / "minicluster.d.now" / "7"
    job.set_limit(CpuLimit(1.5, 2))
    limited = (group / "cpu.max").read_text(), (group / "cpu.weight").read_text()
    job.set_limit(CpuLimit(None, 2))
    lifted = (group / "cpu.max").read_text(), (group / "cpu.weight").read_text()
    assert (limited, lifted) == (("150000 100000\n", "150\n"), ("max 100000\n", "200\n"))
    job.adopt(12)
    assert (group / "cgroup.procs").read_text() == "12\n"
    (group / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    (group / "memory.current").write_text("4096\n")
    assert job.consumption() == Consumption(2.5, 4096)
    assert not job.close(), "a process is in it yet"
    (group / "cgroup.procs").write_text("")
    assert (job.close(), made.close(), groups(tree)) == (True, True, ["."])


@pytest.mark.parametrize(
    ("pids", "moved"),
    [
        pytest.param("10\n11\n12\n", True, id="all of them are the broker's"),
        pytest.param("1\n11\n20\n99\n", True, id="a container, whose first process has the number 1"),
        pytest.param("10\n11\n20\n", False, id="another's among them"),
    ],
)
def test_processes_in_the_brokers_own_group_move_where_they_may(
    tmp_path: Path, pids: str, moved: bool
) -> None:
    tree = GroupTree(tmp_path)
    (tmp_path / "cgroup.procs").write_text(pids)
    if not moved:
        with pytest.raises(OSError, match="processes of others are in the broker's own group"):
            opened(tree)
        assert groups(tree) == ["."]
        return
    made = opened(tree)
    leaf = tmp_path / version_2.LEAF
    assert ((tmp_path / "cgroup.procs").read_text(), (leaf / "cgroup.procs").read_text()) == ("", pids)
    assert groups(tree) == [".", version_2.LEAF, "minicluster.d.now"]
    assert made.close()
    again = opened(tree, leaf)  # another broker, which began in the group of the first one's processes
    assert groups(tree) == [".", version_2.LEAF, "minicluster.d.now"]
    assert again.close()


class BusyTree(GroupTree):
    """One in which processes that move start others, which stay."""

    def __init__(self, top: Path, started: dict[str, str]) -> None:
        super().__init__(top)
        self.started = started

    def _move(self, file: Path, pid: str) -> None:
        super()._move(file, pid)
        if pid in self.started:
            (self.top / "cgroup.procs").write_text(self.started[pid] + "\n")


def test_what_is_started_meanwhile_moves_too(tmp_path: Path) -> None:
    tree = BusyTree(tmp_path, {"11": "13", "13": "14"})
    (tmp_path / "cgroup.procs").write_text("10\n11\n")
    made = opened(tree)
    assert ((tmp_path / "cgroup.procs").read_text(), made.close()) == ("", True)


def test_where_more_and_more_is_started_it_does_not_hold(tmp_path: Path) -> None:
    tree = BusyTree(tmp_path, {"11": "12", "12": "12"})
    (tmp_path / "cgroup.procs").write_text("11\n")
    with pytest.raises(OSError, match="Device or resource busy"):
        opened(tree)
    assert "minicluster.d.now" not in groups(tree)


def test_a_kernel_without_quotas_does_not_hold(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path, root=True)
    tree.missing = {"cpu.max"}
    with pytest.raises(FileNotFoundError, match=r"minicluster\.d\.now/cpu\.max"):
        opened(tree)
    assert groups(tree) == ["."]


@pytest.mark.parametrize(
    ("controllers", "act", "number", "text"),
    [
        pytest.param("memory", "", 0, "cgroup.controllers does not have cpu", id="no cpu controller"),
        pytest.param("cpu", "write", errno.EROFS, "Read-only file system", id="read-only"),
        pytest.param("cpu", "write", errno.EACCES, "Permission denied", id="not ours"),
        pytest.param("cpu", "make", errno.ENOSPC, "No space left on device", id="full"),
        pytest.param("cpu", "make", errno.EAGAIN, "Resource temporarily unavailable", id="too many"),
    ],
)
def test_where_it_does_not_hold_nothing_is_left(
    tmp_path: Path, controllers: str, act: str, number: int, text: str
) -> None:
    tree = GroupTree(tmp_path, controllers, root=True)
    tree.refused = {act: number}
    with pytest.raises(OSError, match=text):
        opened(tree)
    assert groups(tree) == ["."]


@pytest.mark.parametrize("act", ["make", "write"])
def test_a_hierarchy_that_gets_full_or_read_only_is_lost_to_the_job(tmp_path: Path, act: str) -> None:
    tree = GroupTree(tmp_path, root=True)
    made = opened(tree)
    job = made.begin(1, list)
    tree.refused = {act: errno.EROFS}
    with pytest.raises(EnforcementLost, match="Read-only file system"):
        _ = made.begin(2, list) if act == "make" else job.set_limit(CpuLimit(1))
    tree.refused = {}
    assert (job.close(), made.close(), groups(tree)) == (True, True, ["."])


def test_memory_that_no_group_counts_is_that_of_the_processes(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path, "cpu", root=True)
    job = opened(tree).begin(1, lambda: [os.getpid()])
    assert job.consumption().memory_bytes > 1 << 20


def test_what_a_killed_broker_left_is_swept(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path, root=True)
    for name, processes in (
        ("minicluster.d.old", ""),
        ("minicluster.d.busy", "9\n"),
        ("minicluster.e.x", ""),
    ):
        tree.make(tmp_path / name)
        tree.make(tmp_path / name / "3")
        (tmp_path / name / "3" / "cgroup.procs").write_text(processes)
    opened(tree)
    left = [".", "minicluster.d.busy", "minicluster.d.busy/3", "minicluster.d.now", "minicluster.e.x"]
    assert groups(tree) == [*left, "minicluster.e.x/3"]
