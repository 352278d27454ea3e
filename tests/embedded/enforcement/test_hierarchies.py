"""Where the own groups are, by the texts of /proc."""

from __future__ import annotations

from pathlib import Path

import pytest

from minicluster.embedded.execution.rank.enforcement.hierarchies import VERSION_2, OwnGroup, own_groups

MIXED = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
UNIFIED = "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
IN_CONTAINER = "700 699 0:29 /docker/abc /sys/fs/cgroup/cpu ro,nosuid master:9 - cgroup cgroup rw,cpu\n"
SPACED = "29 22 0:26 / /sys/fs/c\\040group rw - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(
    ("mountinfo", "cgroup", "expected"),
    [
        pytest.param(
            MIXED,
            "3:memory:/a\n2:cpu,cpuacct:/\n0::/b/c\n",
            {
                "memory": OwnGroup(Path("/sys/fs/cgroup/memory/a"), False),
                "cpu": OwnGroup(Path("/sys/fs/cgroup/cpu,cpuacct"), True),
                "cpuacct": OwnGroup(Path("/sys/fs/cgroup/cpu,cpuacct"), True),
                VERSION_2: OwnGroup(Path("/sys/fs/cgroup/unified/b/c"), False),
            },
            id="both versions",
        ),
        pytest.param(
            UNIFIED,
            "0::/user.slice/s.scope\n",
            {VERSION_2: OwnGroup(Path("/sys/fs/cgroup/user.slice/s.scope"), False)},
            id="version 2",
        ),
        pytest.param(
            IN_CONTAINER,
            "2:cpu:/docker/abc\n",
            {"cpu": OwnGroup(Path("/sys/fs/cgroup/cpu"), True)},
            id="a container's part of a hierarchy",
        ),
        pytest.param(IN_CONTAINER, "2:cpu:/docker/other\n", {}, id="mounted without the own group"),
        pytest.param(UNIFIED, "0::/../other\n", {}, id="outside of the namespace"),
        pytest.param(
            SPACED, "0::/\n", {VERSION_2: OwnGroup(Path("/sys/fs/c group"), True)}, id="a blank in its name"
        ),
        pytest.param("", "0::/\n", {}, id="nothing mounted"),
        pytest.param("nonsense\n", "nonsense\n", {}, id="no such texts"),
    ],
)
def test_own_groups(mountinfo: str, cgroup: str, expected: dict[str, OwnGroup]) -> None:
    assert own_groups(mountinfo, cgroup) == expected
