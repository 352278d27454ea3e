"""A tree of control groups of version 2 in a directory, whose files behave as the kernel's.

Machines whose kernel has the controllers in version 1 cannot have them in version 2 at the same time. So this
takes the place of the kernel there, with the exact files of Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

from minicluster.embedded.execution.rank.enforcement.group_files import GroupFiles

if TYPE_CHECKING:
    from pathlib import Path

OF_ALL = {"cgroup.procs": "", "cgroup.subtree_control": "", "cpu.stat": "usage_usec 0\nuser_usec 0\n"}
OF_CONTROLLERS = {
    "cpu": {"cpu.max": "max 100000\n", "cpu.weight": "100\n"},
    "memory": {"memory.current": "0\n"},
}


def error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


class GroupTree(GroupFiles):
    """The groups below `top`, which has the controllers; `root` says whether it is the root of all."""

    def __init__(self, top: Path, controllers: str = "cpu memory", *, root: bool = False) -> None:
        self.top = top
        self.root = root
        self.refused: dict[str, int] = {}  # by what is done: the error with which it fails
        self.missing: set[str] = set()  # files that this kernel does not have
        self._fill(top, controllers)

    def _fill(self, group: Path, controllers: str) -> None:
        files = OF_ALL | {"cgroup.controllers": controllers + "\n"}
        for name in controllers.split():
            if group != self.top:
                files |= OF_CONTROLLERS[name]
        for name, text in files.items():
            if name not in self.missing and not (group / name).exists():
                (group / name).write_text(text)
        (group / "cgroup.controllers").write_text(controllers + "\n")

    def make(self, group: Path) -> None:
        self._check("make", group)
        super().make(group)
        self._fill(group, self.read(group.parent / "cgroup.subtree_control").strip())

    def remove(self, group: Path) -> None:
        self._check("remove", group)
        if self.read(group / "cgroup.procs").split() or self.groups(group):
            raise error(errno.EBUSY, group)
        shutil.rmtree(group)

    def write(self, file: Path, text: str) -> None:
        self._check("write", file)
        if not file.exists():
            raise error(errno.ENOENT, file)
        if file.name == "cgroup.subtree_control":
            self._pass_on(file, text)
        elif file.name == "cgroup.procs":
            self._move(file, text)
        else:
            file.write_text(text + "\n")

    def _pass_on(self, file: Path, text: str) -> None:
        group, name = file.parent, text.removeprefix("+")
        if name not in self.read(group / "cgroup.controllers").split():
            raise error(errno.ENOENT, file)
        if self.read(group / "cgroup.procs").split() and not (self.root and group == self.top):
            raise error(errno.EBUSY, file)
        passed = dict.fromkeys([*self.read(file).split(), name])
        file.write_text(" ".join(passed) + "\n")
        for inside in self.groups(group):
            self._fill(inside, " ".join(passed))

    def _move(self, file: Path, pid: str) -> None:
        if self.read(file.parent / "cgroup.subtree_control").split() and not self.root:
            raise error(errno.EBUSY, file)
        for procs in self.top.rglob("cgroup.procs"):
            procs.write_text("".join(f"{each}\n" for each in procs.read_text().split() if each != pid))
        file.write_text(f"{self.read(file)}{pid}\n")

    def _check(self, act: str, path: Path) -> None:
        if act in self.refused:
            raise error(self.refused[act], path)
