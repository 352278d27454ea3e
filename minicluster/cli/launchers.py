"""Programs that start a parallel program's tasks elsewhere, as mpirun: a job here has tasks of its own."""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LAUNCHERS = frozenset({"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "srun"})
_TASKS = frozenset({"-n", "-np", "--np", "--ntasks"})
"""Their options for the number of tasks."""


def notice(command: Sequence[str], tasks: int) -> Iterator[str]:
    """Yield a notice if a job's command is such a program, with what to submit in its place."""
    name = PurePath(command[0]).name
    if name not in LAUNCHERS:
        return
    asked, program = _asked(command[1:])
    instead = f"-n {asked or tasks} -- {shlex.join(program) if program else 'PROGRAM'}"
    yield (
        f"each task of the job starts {name}, and that starts programs of its own;"
        f" right would be `minicluster submit {instead}`"
    )


def _asked(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the number of tasks and the program; empty where other options hide which word is what."""
    match list(words):
        case [option, number, program, *arguments] if option in _TASKS and number.isdecimal():
            return (number, [program, *arguments]) if not program.startswith("-") else (number, ())
        case [program, *arguments] if not program.startswith("-"):
            return "", [program, *arguments]
    return "", ()
