"""Packages of npm, installed once by their lock file: into a cache outside the repository.

The lock names no registry: npm takes the one of this machine. A folder is keyed by lock file and Node's
version, and is in the cache as a whole or not at all.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.devcluster.building import building_lock, cache_folder, report
from tests.devcluster.errors import MissingProgramsError

FILES = ("package.json", "package-lock.json")
SECONDS = 300.0


def installed(sources: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """Return a folder with the packages of `sources` in its node_modules, installed now if they are not.

    Raises MissingProgramsError where there is no Node, or where npm cannot install them.
    """
    node, npm = program("node", environ), program("npm", environ)
    version = subprocess.run([node, "--version"], capture_output=True, check=True).stdout
    digest = hashlib.sha256(version)
    for name in FILES:
        digest.update((sources / name).read_bytes())
    target = cache_folder(environ) / f"node-{sources.name}-{digest.hexdigest()[:16]}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with building_lock(target, sources.name):
            if not target.is_dir():
                _install(npm, sources, target)
    return target


def program(name: str, environ: Mapping[str, str]) -> str:
    """Return a program that is on PATH. Raises MissingProgramsError."""
    found = shutil.which(name, path=environ.get("PATH", ""))
    if found is None:
        raise MissingProgramsError(f"there is no {name} on PATH")
    return found


def _install(npm: str, sources: Path, target: Path) -> None:
    report(f"installing the packages of {sources.name} with npm")
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        folder = Path(temporary) / "packages"
        folder.mkdir()
        for name in FILES:
            shutil.copy(sources / name, folder)
        words = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        try:
            done = subprocess.run(
                words, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise MissingProgramsError(f"npm did not install {sources.name} within {SECONDS:g} s") from None
        if done.returncode:
            raise MissingProgramsError(f"npm cannot install {sources.name}: {done.stderr[-500:].strip()}")
        folder.rename(target)
