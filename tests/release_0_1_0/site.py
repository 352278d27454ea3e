"""A folder with today's packages and plug-ins installed as `pip install --target` does: wheels, unpacked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from hatchling.builders.wheel import WheelBuilder

from tests.release_0_1_0.adapters import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

PLUGINS = Path(__file__).parent / "plugins"


def install(project: Path, target: Path) -> None:
    """Build a project's wheel and unpack it."""
    (wheel,) = WheelBuilder(str(project)).build(directory=str(target / "wheels"), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)


def with_plugins(target: Path, *names: str) -> Path:
    """Install this project and some plug-ins."""
    install(ROOT, target)
    for name in names:
        source = shutil.copytree(PLUGINS / name, target / "sources" / name)  # builds leave files behind
        install(source, target)
    return target


def environment(*folders: Path) -> Mapping[str, str]:
    """Return an environment in which these folders come before all others."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLUX_", "MINICLUSTER_"))}
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, folders)), "COLUMNS": "120", "TERM": "dumb"}


def run(site: Path, code: str, *words: object) -> None:
    """Run a line of Python with what is installed there; it has our adapters and pods."""
    ours = "import pathlib, sys; from tests.release_0_1_0 import adapters, pods; "
    command = [sys.executable, "-P", "-c", ours + code, *map(str, words)]
    subprocess.run(command, env=environment(site, ROOT), cwd=site, check=True)


def without_queue_client(site: Path, target: Path) -> Path:
    """Make a folder whose metadata of this project name no onlooker: 0.1.0 wants exactly one."""
    (metadata,) = site.glob("minicluster-*.dist-info")
    shutil.copytree(metadata, target / metadata.name)
    file = target / metadata.name / "entry_points.txt"
    sections = file.read_text().split("\n[")
    file.write_text("\n[".join(each for each in sections if not each.startswith("minicluster.onlookers]")))
    return target
