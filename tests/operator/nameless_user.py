"""Programs run as in the shipped pods: as a uid that no user database names, without a home directory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The Python of the tests may lie where only root may read; writing stays forbidden.
_READING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


def command(uid: int, words: list[str]) -> list[str]:
    """Return the command line that runs `minicluster` with these words as the uid; skip where none can be."""
    return python(uid, ["-m", "minicluster.cli", *words])


def python(uid: int, arguments: list[str]) -> list[str]:
    """Return the command line that runs Python with these arguments as the uid; skip where none can be."""
    if os.geteuid() != 0:
        pytest.skip("only root can run a program as another user")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux), which runs a program as another user, is not installed")
    user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *_READING]
    probe = subprocess.run([*user, "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        pytest.skip(f"no program can be run as another user here: {probe.stderr.strip()}")
    return [*user, sys.executable, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return the variables of such a process: none that names its user or a home directory."""
    return {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **more}
