"""Programs of the machine's distribution, where that is Debian or one of its descendants."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.devcluster.building import cache_folder, report
from tests.devcluster.errors import HarnessError, MissingProgramsError
from tests.devcluster.images import locked
from tests.devcluster.network import program

WAITING = ("-o", "DPkg::Lock::Timeout=300")
"""Has apt wait for somebody else who installs, such as unattended upgrades; in seconds."""


@contextlib.contextmanager
def one_at_a_time(environ: Mapping[str, str]) -> Iterator[None]:
    """Wait for our other processes that install."""
    with locked(cache_folder(environ) / "apt"):
        yield


def install(packages: list[str], environ: Mapping[str, str]) -> None:
    """Install packages; print a failure."""
    report(f"installing {', '.join(packages)}")
    # What was known before may do, and whoever else installs holds the lists' lock for a while.
    _apt(["update"], environ)
    _apt(["install", "--yes", "--no-install-recommends", *WAITING, *packages], environ)


def require(missing: Callable[[], list[str]], purpose: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raise MissingProgramsError where `missing` names packages; `purpose` begins it, such as `nodes need`.

    Under CI=true they are installed, where there is apt.
    """
    packages = missing()
    if packages and environ.get("CI") == "true":
        with one_at_a_time(environ):
            if packages := missing():
                install(packages, environ)
                packages = missing()
    if packages:
        raise MissingProgramsError(f"{purpose} programs of the packages {', '.join(packages)}")


def lacking(programs: Mapping[str, str]) -> set[str]:
    """Return the packages of programs that are not here; `programs` has the package of each."""
    return {package for name, package in programs.items() if not has(name)}


def has(name: str) -> bool:
    """Return whether there is a program."""
    try:
        program(name)
    except HarnessError:
        return False
    return True


def unpacked(
    name: str, package: str, environ: Mapping[str, str] = os.environ, *, needs: Sequence[str] = ()
) -> Path:
    """Return a program: that on PATH, else, under CI=true, its package's, unpacked into the cache.

    It is not installed, so no service of it starts; packages that it needs are unpacked beside it. Raises
    MissingProgramsError.
    """
    if found := shutil.which(name, path=environ.get("PATH")):
        return Path(found)
    folder = cache_folder(environ) / f"debian-{package}"
    if environ.get("CI") == "true":
        with one_at_a_time(environ):
            if not folder.exists():
                _unpack([package, *needs], folder, environ)
    for wanted in (folder / "usr" / "bin" / name, folder / "bin" / name):
        if wanted.exists():
            return wanted
    raise MissingProgramsError(f"there is no {name} on PATH (package {package})")


def _unpack(packages: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
    report(f"fetching {', '.join(packages)}")
    temporary = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    if _apt(["update"], environ) and _apt(["download", *packages], environ, temporary):
        for archive in sorted(temporary.glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", archive, temporary], env=environ, check=True)
            archive.unlink()
        temporary.rename(folder)


def _apt(words: list[str], environ: Mapping[str, str], folder: Path | None = None) -> bool:
    """Have apt-get do something in a folder; where there is none, or it fails, False."""
    quiet = {**environ, "DEBIAN_FRONTEND": "noninteractive"}
    argv = ["apt-get", *words]
    try:
        done = subprocess.run(argv, env=quiet, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return False
    if done.returncode:
        report(f"`apt-get {' '.join(words)}` failed: {done.stderr.strip()[-500:]}")
    return done.returncode == 0
