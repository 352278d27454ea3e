"""`make .venv/.ready`: an environment that does not work any more is made anew, without being asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
READY = Path(".venv") / ".ready"
NEW = "does not work here"
# In place of `python3`: environments without pip, in which a stand-in installs minicluster and pytest.
PYTHON = """\
#!/bin/sh
if [ "$1" = -V ] && [ "$VERSION" ]; then echo "Python $VERSION"; exit; fi
if [ "$1 $2" != "-m venv" ]; then exec "{python}" "$@"; fi
if [ "$NO_VENV" ]; then exit 9; fi
"{python}" -m venv --without-pip "$3" $4 || exit
cd "$(dirname "$0")" || exit
mkdir "$(echo .venv/lib/python*/site-packages)/pip"
cp installer.py "$(echo .venv/lib/python*/site-packages)/pip/__main__.py"
"""
PIP = """\
import pathlib, sys
packages = pathlib.Path(__file__).parents[1]
(packages / "pytest.py").touch()
(packages / "minicluster.pth").write_text(str(pathlib.Path.cwd()))
"""


class Project:
    """A directory with our Makefile and little else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "minicluster").mkdir(parents=True)
        (folder / "requirements").mkdir()
        for name in ("minicluster/__init__.py", "requirements/lock.txt", "pyproject.toml"):
            (folder / name).touch()
        shutil.copy(ROOT / "Makefile", folder)
        (folder / "installer.py").write_text(PIP)
        (folder / "python").write_text(PYTHON.format(python=sys.executable))
        (folder / "python").chmod(0o755)

    @property
    def packages(self) -> Path:
        """Where packages are installed."""
        [found] = self.folder.glob(".venv/lib/python*/site-packages")
        return found

    def make(self, **more: str) -> str:
        """Have the environment made where it is not there; return what is told.

        Nothing of that is on standard output: `eval "$(make -s cluster)"` would have a shell run it.
        """
        environ = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "PYTHON"}}
        done = subprocess.run(
            ["make", "-s", "--no-print-directory", str(READY), f"PYTHON={self.folder / 'python'}"],
            cwd=self.folder,
            env=environ | more,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert (self.folder / READY).exists()
        assert not done.stdout
        return done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project whose environment was made."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    made = Project(tmp_path / "project")
    shown = made.make()
    assert "Setting up .venv" in shown
    assert NEW not in shown
    return made


def _lose_the_interpreter(project: Project) -> None:
    for path in (project.folder / ".venv" / "bin").glob("python*"):
        path.unlink()
        path.symlink_to("/nowhere/python3")


def _upgrade_the_interpreter(project: Project) -> None:
    version = project.packages.parent
    version.rename(version.with_name("python3.1"))


def _move(project: Project) -> None:
    project.folder = project.folder.rename(project.folder.with_name("moved"))


def _copy(project: Project) -> None:
    copied = project.folder.with_name("copied")
    shutil.copytree(project.folder, copied, symlinks=True)
    project.folder = copied


def _cut_off(project: Project) -> None:
    (project.packages / "pytest.py").unlink()
    (project.folder / READY).unlink()


@pytest.mark.parametrize(
    "break_it",
    [
        pytest.param(_lose_the_interpreter, id="its Python is gone"),
        pytest.param(_upgrade_the_interpreter, id="its Python is another version"),
        pytest.param(_move, id="moved"),
        pytest.param(_copy, id="copied"),
        pytest.param(_cut_off, id="cut off"),
    ],
)
def test_what_does_not_work_is_made_anew(project: Project, break_it: Callable[[Project], None]) -> None:
    (project.packages / "leftover.py").touch()
    break_it(project)
    assert NEW in project.make()
    assert not (project.packages / "leftover.py").exists()
    assert "Setting up" not in project.make()


def test_another_python_that_is_named_counts(project: Project) -> None:
    assert NEW in project.make(VERSION="3.99.1")


def test_what_works_stays(project: Project) -> None:
    assert "Setting up" not in project.make()


def test_a_change_of_the_metadata_is_installed(project: Project) -> None:
    """What is there stays, and so does its Python: that takes seconds."""
    (project.packages / "kept.py").touch()
    ready = (project.folder / READY).stat().st_mtime
    os.utime(project.folder / "pyproject.toml", (ready + 1, ready + 1))
    shown = project.make(NO_VENV="1")
    assert ("Setting up .venv" in shown, NEW in shown) == (True, False)
    assert (project.packages / "kept.py").exists()
