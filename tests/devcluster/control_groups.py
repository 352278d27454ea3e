"""The control groups of a cluster's nodes: all that the kernel keeps of them when their processes are gone.

A program as well as a module, on the standard library alone: the guardian runs it by path, the sweep after a
crash calls it. `control_groups.py DIRECTORY` kills what is still in the groups of the cluster in that
directory, and removes them.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
SECONDS = 60.0  # for the kernel to end what was killed
COPIED = ("cpuset.cpus", "cpuset.mems")  # a group of version 1 takes no process before these are set


def hierarchies() -> list[Path]:
    """Name where the hierarchies are mounted: one a controller in version 1, one in version 2."""
    fields = [line.split() for line in MOUNTS.read_text().splitlines()]
    return [Path(field[1]) for field in fields if field[2] in ("cgroup", "cgroup2")]


def group(directory: Path) -> str:
    """Name the group that holds all groups of the cluster in a directory."""
    return f"minicluster-test-{directory.name}"


def name_of(directory: Path, node: str) -> str:
    """Name a node's group as kubelets want it."""
    return f"/{group(directory)}/{node}"


def create(directory: Path, node: str) -> None:
    """Make a node's group in every hierarchy."""
    for hierarchy in hierarchies():
        parent = hierarchy
        for name in (group(directory), node):
            child = parent / name
            child.mkdir(exist_ok=True)
            inherit(parent, child)
            parent = child


def inherit(parent: Path, child: Path) -> None:
    """Give a new group what its parent has."""
    for name in COPIED:
        if (child / name).exists() and not (parent / "cgroup.controllers").exists():
            (child / name).write_text((parent / name).read_text())
    controllers = parent / "cgroup.controllers"  # version 2
    for name in controllers.read_text().split() if controllers.exists() else ():
        with contextlib.suppress(OSError):  # one that is in use elsewhere
            (parent / "cgroup.subtree_control").write_text(f"+{name}")


def remove(directory: Path, node: str = "") -> None:
    """Kill what is in the groups of a cluster, or of one node, and remove them."""
    roots = [hierarchy / group(directory) / node for hierarchy in hierarchies()]
    deadline = time.monotonic() + SECONDS
    while roots and time.monotonic() < deadline:
        roots = [root for root in roots if clear(root)]
        time.sleep(0.01 if roots else 0)


def clear(root: Path) -> bool:
    """Kill and remove once; True if something is left."""
    for folder, _, _ in os.walk(root, topdown=False):
        with contextlib.suppress(OSError):
            for pid in (Path(folder) / "cgroup.procs").read_text().split():
                if pid != "0":  # a process that is not to be seen from here: to kill, 0 is ourselves
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
    return root.exists()


if __name__ == "__main__":
    remove(Path(sys.argv[1]))
