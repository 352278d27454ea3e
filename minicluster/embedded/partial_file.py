"""A partial file: it lies beside the file that it becomes, under a hidden and random name.

Only its owner can read it. Partial files of interrupted writers are removed by the next writer of that file.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MARK = ".partial"
# As tempfile chooses them.
_RANDOM = r"\.[a-z0-9_]{8}"


def create(path: Path, form: str = "") -> Path:
    """Make an empty file of mode 0600, to be written and renamed to `path`; its name ends with `form`.

    `form` is a file name's suffix, by which Flux chooses how it packs (".tgz"). Raises OSError.
    """
    _remove_leftovers(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_MARK + form, dir=path.parent)
    os.close(descriptor)
    return path.with_name(os.path.basename(name))  # noqa: PTH119  # as given: mkstemp makes it absolute


def _remove_leftovers(path: Path) -> None:
    """Remove partial files of `path`, and those of these: the embedded instance writes one of any file."""
    form = r"(\.[a-z0-9]+){0,2}"
    pattern = re.compile(rf"\.{{1,2}}{re.escape(path.name)}(({_RANDOM})?\{_MARK}{form})+")
    for each in path.parent.iterdir():
        if pattern.fullmatch(each.name):
            with contextlib.suppress(OSError):  # another user's stays
                each.unlink()
