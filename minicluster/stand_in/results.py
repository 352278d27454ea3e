"""Results: a tar whose members are checked before one is written, written beside, and renamed.

The archive comes from a job elsewhere. What it names is written below the job's working directory, or nothing
is written.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from minicluster.stand_in.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MEMBERS = 1_000_000
_CHUNK = 1 << 20
_MODES = 0o777


def extract(archive: Path, digest: str, directory: Path, label: str) -> None:
    """Write the members of a tar with this SHA-256 below a directory; those that are there are replaced.

    All is first written into a folder in that directory, named by the label. Raises ResultsError, after which
    members may have been renamed only if the error is one of the file system.
    """
    beside = directory / f".minicluster-results-{label}"
    try:
        if not directory.is_dir():
            raise ResultsError(f"{directory}, the job's working directory, is not there on the lead")
        _check_digest(archive, digest)
        shutil.rmtree(beside, ignore_errors=True)
        with tarfile.open(archive, "r:") as tar:
            members = [*_checked(tar)]
            beside.mkdir(mode=0o700)
            for member in members:
                _write(tar, member, beside / member.name)
        for member in members:
            _rename(member, beside / member.name, directory / member.name)
    except tarfile.TarError as error:
        raise ResultsError(f"they are no tar: {error}") from error
    except (ValueError, OverflowError) as error:
        raise ResultsError(f"a member cannot be written: {error}") from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise ResultsError(f"{where}{error.strerror or error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _check_digest(archive: Path, digest: str) -> None:
    found = hashlib.sha256()
    try:
        with archive.open("rb") as file:
            for data in iter(lambda: file.read(_CHUNK), b""):
                found.update(data)
    except FileNotFoundError:
        raise ResultsError("they have not come") from None
    if found.hexdigest() != digest:
        raise ResultsError(f"their SHA-256 is {found.hexdigest()}, not {digest} as it was there")


def _checked(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members with plain names. Raises ResultsError if one is not to be written."""
    links: set[str] = set()
    for number, member in enumerate(tar):
        if number >= MAX_MEMBERS:
            raise ResultsError(f"they have more than {MAX_MEMBERS} members")
        name = _plain(member.name)
        if name == ".":
            continue
        if any(str(parent) in links for parent in PurePosixPath(name).parents):
            raise ResultsError(f"{member.name!r} is below a link")
        if member.issym():
            _check_link(member)
            links.add(name)
        elif not (member.isfile() or member.isdir()) or member.issparse():
            raise ResultsError(f"{member.name!r} is no file, directory or symbolic link")
        member.name = name
        yield member


def _plain(name: str) -> str:
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise ResultsError(f"{name!r} leads out of the job's working directory")
    return str(PurePosixPath(*parts))


def _check_link(member: tarfile.TarInfo) -> None:
    """Raise ResultsError for a link that leads out.

    `..` may only be at its beginning: behind a name that is a link itself it leads elsewhere than it seems.
    """
    target = PurePosixPath(member.linkname).parts
    up = target.count("..")
    inside = len(PurePosixPath(_plain(member.name)).parts) - 1
    if up > inside or ".." in target[up:] or member.linkname.startswith("/"):
        where = f"a link to {member.linkname!r}"
        raise ResultsError(f"{member.name!r} is {where}, which may lead out of the job's working directory")


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Write a member beside; directories can be written into until all is there."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.exists():
        path.unlink()
    if member.issym():
        path.symlink_to(member.linkname)
        return
    source = tar.extractfile(member)
    if source is None:
        raise ResultsError(f"{member.name!r} cannot be read")
    with source, path.open("xb") as file:
        shutil.copyfileobj(source, file, _CHUNK)
    path.chmod(member.mode & _MODES)
    os.utime(path, (member.mtime, member.mtime))


def _rename(member: tarfile.TarInfo, written: Path, path: Path) -> None:
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    elif written.is_symlink() or written.exists():  # one that is listed twice is written once
        path.parent.mkdir(parents=True, exist_ok=True)
        written.replace(path)
