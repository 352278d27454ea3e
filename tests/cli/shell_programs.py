"""The shells in which completion is tried: the machine's, else those of Debian's packages, unpacked."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

from tests.devcluster.debian import unpacked

if TYPE_CHECKING:
    from pathlib import Path


class ShellProgram(NamedTuple):
    """A shell, and the variables by which it finds what was unpacked beside it."""

    path: str
    environment: dict[str, str]


def find(shell: str) -> ShellProgram:
    """Return a shell by its name. Raises MissingProgramsError."""
    path = shutil.which(shell)
    if path is None and shell in _UNPACKED:
        return _UNPACKED[shell]()
    return ShellProgram(path or shell, {})


def _zsh() -> ShellProgram:
    """Return the static zsh: its modules are in it, so that it looks for functions alone."""
    path = unpacked("zsh-static", "zsh-static", needs=["zsh-common"])
    functions = [each for each in (_root(path) / "usr/share/zsh/functions").rglob("*") if each.is_dir()]
    return ShellProgram(str(path), {"FPATH": os.pathsep.join(map(str, functions))})


def _fish() -> ShellProgram:
    """Return a fish, which finds its functions where both share/fish and etc/fish are beside its bin."""
    path = unpacked("fish", "fish", needs=["fish-common", "libpcre2-32-0"])
    root = _root(path)
    if not (root / "usr/etc").exists():
        (root / "usr/etc").symlink_to("../etc")
    (libraries,) = (root / "usr/lib").glob("*-linux-*")
    return ShellProgram(str(path), {"LD_LIBRARY_PATH": str(libraries)})


def _root(program: Path) -> Path:
    """Return the folder into which a program was unpacked, which is in bin or usr/bin there."""
    above = program.parents[1]
    return above.parent if above.name == "usr" else above


_UNPACKED = {"zsh": _zsh, "fish": _fish}
