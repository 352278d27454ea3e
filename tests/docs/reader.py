"""What a reader of the pages has: a checkout with the examples, and `minicluster` on PATH."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.docs.console import Shell, type_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.docs.console import Block

ROOT = Path(__file__).parents[2]
SHELL_INPUT = "flux getattr size\n"
"""What is typed into the shell that a line opens."""
PROGRAMS = {
    "minicluster": f'exec "{sys.executable}" -m minicluster.cli "$@"',
    "kubectl-minicluster": f'exec "{sys.executable}" -m minicluster.cli "$@"',
    "python3": f'exec "{sys.executable}" "$@"',
    # Into a directory of the reader's own, with the packages that are here: no test reaches for an index.
    "pip": f'PIP_TARGET="${{0%/*}}/../packages" PIP_NO_DEPS=1 PIP_NO_BUILD_ISOLATION=0 PIP_NO_INDEX=1'
    f' exec "{sys.executable}" -m pip "$@"',
}
PARTS = ("examples", "deploy", "benchmarks")
_CHOSEN = ("FLUX_", "MINICLUSTER_", "KUBECONFIG")
"""Variables with these beginnings choose an instance or a cluster: a reader begins without."""


def checkout(directory: Path, **programs: str) -> Path:
    """Make a directory with what a checkout has that pages name; more programs are shell lines by name."""
    for part in PARTS:
        shutil.copytree(ROOT / part, directory / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name, line in {**PROGRAMS, **programs}.items():
        program = directory / ".venv" / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
    return directory


def environment(directory: Path, **more: str) -> dict[str, str]:
    """Return the environment of a reader in whose shell `.venv` is active, on a machine without real Flux."""
    folders = [each for each in os.environ["PATH"].split(os.pathsep) if not Path(each, "flux").exists()]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_CHOSEN)}
    return {
        **kept,
        "PATH": os.pathsep.join([f"{directory}/.venv/bin", *folders]),
        "PYTHONPATH": f"{ROOT}:{directory}/.venv/packages",
        "SHELL": "/bin/sh",
        # bash(1): with a socket as standard input, as Flux gives, a first-level shell reads ~/.bashrc.
        "SHLVL": "2",
        "COLUMNS": "200",
        **more,
    }


def differences(directory: Path, environment: Mapping[str, str], typed: list[Block]) -> list[str]:
    """Type blocks of a page; return what is not as the page has it, a text for each line."""
    shell = Shell(directory, environment, given=SHELL_INPUT)
    try:
        return type_all(shell, typed)
    finally:
        shell.end()
