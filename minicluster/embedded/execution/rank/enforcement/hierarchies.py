"""Where control groups are mounted, and which is this process's own there: pure, from texts of /proc."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import NamedTuple

VERSION_2 = ""
"""Stands for the one hierarchy of version 2 in place of a controller's name."""


class OwnGroup(NamedTuple):
    """This process's group in one hierarchy."""

    directory: Path
    at_root: bool
    """Whether it is the root of what is mounted here: the hierarchy's own, or that of a container."""


def own_groups(mountinfo: str, cgroup: str) -> dict[str, OwnGroup]:
    """Return the own group by controller (version 1), and that of version 2 under VERSION_2.

    `mountinfo` and `cgroup` are the texts of /proc/self/mountinfo and /proc/self/cgroup. What is not mounted,
    or mounted without the own group below, is left out.
    """
    mounts = _mounts(mountinfo)
    found: dict[str, OwnGroup] = {}
    for line in cgroup.splitlines():
        _number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        for name in names.split(",") if names else [VERSION_2]:
            mount = mounts.get(name)
            if mount is not None and (group := _below(mount, path)) is not None:
                found[name] = group
    return found


class _Mount(NamedTuple):
    root: str
    point: str


def _mounts(mountinfo: str) -> dict[str, _Mount]:
    """Return where each controller is mounted; the first mount counts (proc_pid_mountinfo(5))."""
    found: dict[str, _Mount] = {}
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        mount = _Mount(_unescaped(fields[3]), _unescaped(fields[4]))
        if kind[0] == "cgroup2":
            found.setdefault(VERSION_2, mount)
        elif kind[0] == "cgroup":
            for name in kind[2].split(","):
                found.setdefault(name, mount)
    return found


def _below(mount: _Mount, path: str) -> OwnGroup | None:
    """Return the own group `path` below a mount; None where it is elsewhere in the hierarchy."""
    own, root = PurePosixPath(path), PurePosixPath(mount.root)
    if ".." in own.parts:
        return None
    if not own.is_relative_to(root):
        return None
    inside = own.relative_to(root)
    return OwnGroup(Path(mount.point) / inside, inside == PurePosixPath("."))


def _unescaped(text: str) -> str:
    """Return a field with its blanks, which are written in octal."""
    for escaped, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(escaped, plain)
    return text
