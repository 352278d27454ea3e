"""Dumps as files: checks that one is complete and for this engine, makes it durable, renames it.

Flux's exit code is the command's even if the dump was not written, so the dump itself is checked. Flux writes
archives, compressed as the name's suffix indicates; the embedded instance writes SQLite files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from importlib import import_module
from typing import TYPE_CHECKING

from minicluster.save_restore.errors import DumpUnusable

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

SQLITE = b"SQLite format 3\0"
EMBEDDED, FLUX = "embedded", "flux"
_ENGINES = {EMBEDDED: "the embedded instance", FLUX: "Flux"}
_ENDING = bytes(1024)  # of a tar archive: two blocks of zeros
# Formats that Python may not read, by their first bytes, and the program that can check them.
_TESTERS = {b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
_OPENERS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma"}
_PLAIN = ""
_LITTLE = 64 << 20
_ZIP, _CPIO = b"PK", b"0707"  # no program here can check the latter
_BLOCK = 512  # so that no more is read than up to tar's end


def writable(archive: Path) -> None:
    """Raise DumpUnusable if no dump can be written beside `archive`."""
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        # Under a name that nobody foresees: the directory may be one for all users.
        with tempfile.NamedTemporaryFile(prefix=f".trying.{archive.name}.", dir=archive.parent) as file:
            file.write(_ENDING)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _not_written(archive, error) from error


def keep(temporary: Path, archive: Path) -> int:
    """Rename a complete dump to `archive`, durable and readable by its owner alone; return its bytes.

    Raises DumpUnusable; the older archive is kept then.
    """
    try:
        _check_begun(temporary)
        check(temporary)
    except DumpUnusable as error:
        raise DumpUnusable(f"nothing was saved to {archive}: {error}{_room_left(archive.parent)}") from error
    with contextlib.suppress(OSError):  # on some file systems the mount alone decides who reads
        temporary.chmod(0o600)
    try:
        _sync(temporary)
        size = temporary.stat().st_size
        temporary.replace(archive)
        _sync(archive.parent)
    except OSError as error:
        raise _not_written(archive, error) from error
    return size


def _check_begun(temporary: Path) -> None:
    """Raise DumpUnusable if the file that was created for Flux is still empty."""
    if temporary.is_file() and not temporary.stat().st_size:
        raise DumpUnusable(f"{temporary}: the dump was not written")


def _room_left(directory: Path) -> str:
    try:
        free = shutil.disk_usage(directory).free
    except OSError:
        return ""
    return f" (its volume has {free} bytes left)" if free < _LITTLE else ""


def _not_written(archive: Path, error: OSError) -> DumpUnusable:
    return DumpUnusable(f"{archive} (archive.path) cannot be written: {error.strerror or error}")


def check(dump: Path) -> str:
    """Return the engine that wrote the dump. Raises DumpUnusable if it is not complete."""
    try:
        with dump.open("rb") as file:
            head = file.read(512)
    except FileNotFoundError:
        raise DumpUnusable(f"{dump}: the dump was not written") from None
    except OSError as error:
        raise DumpUnusable(f"{dump}: the dump cannot be read: {error.strerror}") from error
    if head.startswith(SQLITE):
        _check_database(dump)
        return EMBEDDED
    if head.startswith(_ZIP):
        _check_zip(dump)
    elif not head.startswith(_CPIO):
        tester = next((name for magic, name in _TESTERS.items() if head.startswith(magic)), None)
        if tester is not None:
            _check_by_program(dump, tester)
        else:
            opener = next((name for magic, name in _OPENERS.items() if head.startswith(magic)), _PLAIN)
            _check_archive(dump, opener)
    return FLUX


def check_for(dump: Path, engine: str) -> None:
    """Raise DumpUnusable unless the dump is complete and `engine` can restore it."""
    wrote = check(dump)
    if wrote != engine:
        raise DumpUnusable(
            f"{dump} was written by {_ENGINES[wrote]}, and this is {_ENGINES[engine]}, which cannot read it: "
            f"restore it where {_ENGINES[wrote]} runs"
        )


def check_room(dump: Path, directory: Path) -> None:
    """Raise DumpUnusable if the dump's content is certainly larger than the room in `directory`."""
    try:
        needed = _content_size(dump)
        free = shutil.disk_usage(directory).free
    except (OSError, tarfile.TarError):
        return  # the broker will report it
    if needed > free:
        raise DumpUnusable(
            f"{dump} holds {needed} bytes, and {directory} has {free} left: a larger volume would be right "
            "(flux.stateVolume, or the node's own disk)"
        )


def _content_size(dump: Path) -> int:
    with dump.open("rb") as file:
        if file.read(len(SQLITE)) == SQLITE:
            return dump.stat().st_size
    with tarfile.open(dump) as archive:
        return sum(member.size for member in archive)


def _check_database(dump: Path) -> None:
    import sqlite3  # noqa: PLC0415 - Flux's own Python may lack it, and never needs it

    connection = sqlite3.connect(f"{dump.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    except sqlite3.Error as error:
        verdict = str(error)
    finally:
        connection.close()
    if verdict != "ok":
        raise DumpUnusable(f"{dump}: the dump is truncated or damaged: {verdict}")
    if dump.stat().st_size < pages * size:
        raise DumpUnusable(f"{dump}: the dump is truncated")


def _check_archive(dump: Path, opener: str) -> None:
    """Read it to its end: a truncated one lacks its compressor's check sum, or tar's end."""
    try:
        with _opened(dump, opener) as stream:
            with tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK) as archive:
                entries = sum(1 for _ in archive)
            while stream.read(1 << 16):
                pass
    except tarfile.ReadError:
        raise DumpUnusable(f"{dump}: no dump, or one that is truncated") from None
    except (tarfile.TarError, OSError, EOFError, ValueError, _broken(opener)) as error:
        raise DumpUnusable(f"{dump}: the dump is truncated or damaged: {error}") from None
    if not entries or (opener == _PLAIN and not _ends_with_zeros(dump)):
        raise DumpUnusable(f"{dump}: the dump is truncated")


def _opened(dump: Path, opener: str) -> IO[bytes]:
    stream: IO[bytes] = dump.open("rb") if opener == _PLAIN else import_module(opener).open(dump, "rb")
    return stream


def _broken(opener: str) -> type[Exception]:
    """Return what the opener raises for damaged data, beside OSError and EOFError."""
    names = {"gzip": ("zlib", "error"), "lzma": ("lzma", "LZMAError")}
    module, name = names.get(opener, ("builtins", "OSError"))
    error: type[Exception] = getattr(import_module(module), name)
    return error


def _check_zip(dump: Path) -> None:
    import zipfile  # noqa: PLC0415 - a rare form

    try:
        with zipfile.ZipFile(dump) as archive:
            broken = archive.testzip()
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        broken = str(error)
    if broken:
        raise DumpUnusable(f"{dump}: the dump is truncated or damaged: {broken}")


def _ends_with_zeros(dump: Path) -> bool:
    with dump.open("rb") as file:
        file.seek(-min(len(_ENDING), dump.stat().st_size), os.SEEK_END)
        return file.read() == _ENDING


def _check_by_program(dump: Path, tester: str) -> None:
    if shutil.which(tester) is None:
        return  # without that program it cannot be checked; Flux itself would have to read it
    done = subprocess.run(
        [tester, "-t", "-q", str(dump)], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        raise DumpUnusable(f"{dump}: the dump is truncated or damaged")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
