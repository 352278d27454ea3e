"""Reads and writes the files of control groups. Tests have one that behaves as the kernel does."""

from __future__ import annotations

import os
from pathlib import Path


class GroupFiles:
    """The files of a mounted hierarchy. All methods raise OSError."""

    def make(self, group: Path) -> None:
        """Make a group."""
        group.mkdir()

    def remove(self, group: Path) -> None:
        """Remove a group, which must have neither processes nor groups."""
        group.rmdir()

    def groups(self, group: Path) -> list[Path]:
        """Return the groups in a group."""
        return sorted(Path(entry.path) for entry in os.scandir(group) if entry.is_dir(follow_symlinks=False))

    def read(self, file: Path) -> str:
        """Return the text of a file."""
        return file.read_text()

    def write(self, file: Path, text: str) -> None:
        """Write a value to a file that there is."""
        descriptor = self.open(file)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def open(self, file: Path) -> int:
        """Return a descriptor for writing to a file that there is."""
        return os.open(file, os.O_WRONLY | os.O_CLOEXEC)


def remove_tree(files: GroupFiles, group: Path) -> None:
    """Remove a group with those in it; one that is gone is none. Raises OSError where processes are there."""
    try:
        inside = files.groups(group)
    except FileNotFoundError:
        return
    for each in inside:
        remove_tree(files, each)
    files.remove(group)
