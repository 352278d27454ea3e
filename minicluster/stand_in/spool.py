"""Spools: a private folder for each stand-in, by its burst's label.

    LABEL/job.json        which job stands in
    LABEL/stdout, stderr  what the job elsewhere has printed so far
    LABEL/results.tar     what it leaves behind
    LABEL/end.json        how it ended; nothing is written after this
    LABEL/outcome.json    the exit code of the stand-in, written just before it ends with it

Who writes may be killed at any time: an append says at which byte it begins, and may be repeated. The folders
are in the instance's state directory where it has one, else in that of its run, and live as long as its jobs.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicluster.stand_in.errors import SpoolError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    JSON = dict[str, Any]

FOLDER = "stand-ins"
STDOUT, STDERR, RESULTS = "stdout", "stderr", "results"
STREAMS = {STDOUT: "stdout", STDERR: "stderr", RESULTS: "results.tar"}
"""The files of streams."""
MAX_BYTES = 1 << 30
"""Of one stream."""
JOB, END, OUTCOME = "job.json", "end.json", "outcome.json"
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class SpoolRecord(NamedTuple):
    """What a spool has."""

    job: int
    """The id of the job that stands in."""
    is_successor: bool
    """Whether it stands in after another one that was killed: then its original is gone for good."""
    received: dict[str, int]
    """The bytes of each stream that has begun."""
    is_ended: bool
    """Whether the end was written."""
    outcome: int | None
    """The exit code with which the stand-in ends; None: it has not delivered all yet."""


class Spool:
    """The spool of one burst, below a folder that may not be there yet. All of it raises SpoolError."""

    def __init__(self, base: str, label: object, most: int = MAX_BYTES) -> None:
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            raise SpoolError(errno.EINVAL, f"{str(label)[:64]!r} is no label of a burst")
        self.label = label
        self.path = Path(base) / FOLDER / label
        self._most = most

    def open(self, job: int, *, is_successor: bool) -> None:
        """Have a job stand in from now on, which prints from the start. 0: only make the folder."""
        with _words(f"burst {self.label}"):
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
        if job:
            with self._locked():
                with contextlib.suppress(FileNotFoundError):
                    (self.path / OUTCOME).unlink()
                write_json(self.path / JOB, {"job": job, "successor": is_successor})

    def record(self) -> SpoolRecord | None:
        """Return what is there; None: no job stands in."""
        found = read_json(self.path / JOB)
        if found is None:
            return None
        outcome = read_json(self.path / OUTCOME)
        return SpoolRecord(
            int(found["job"]),
            bool(found["successor"]),
            {stream: size for stream, size in self._sizes() if size is not None},
            (self.path / END).exists(),
            None if outcome is None else int(outcome["code"]),
        )

    def _sizes(self) -> Iterator[tuple[str, int | None]]:
        for stream, name in STREAMS.items():
            try:
                yield stream, (self.path / name).stat().st_size
            except FileNotFoundError:
                yield stream, None

    def write(self, stream: object, offset: int, data: bytes) -> int:
        """Append what begins at byte `offset`; return how many bytes are there then.

        What is there already is compared and left out; behind a gap nothing is written.
        """
        name = STREAMS.get(stream) if isinstance(stream, str) else None
        if name is None or offset < 0:
            raise SpoolError(
                errno.EINVAL, f"{stream!r}, {offset}: one of {', '.join(STREAMS)} and a byte are right"
            )
        with self._locked(), _words(f"{stream} of burst {self.label}"):
            self._check_open()
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            file = os.open(self.path / name, flags, 0o600)
            try:
                return self._append(file, str(stream), offset, data)
            finally:
                os.close(file)

    def _append(self, file: int, stream: str, offset: int, data: bytes) -> int:
        size = os.fstat(file).st_size
        if offset > size:
            return size
        known, new = data[: size - offset], data[size - offset :]
        if os.pread(file, len(known), offset) != known:
            raise SpoolError(errno.EINVAL, f"{stream}: other bytes are there already, from byte {offset} on")
        if size + len(new) > self._most:
            raise SpoolError(errno.EFBIG, _too_large(stream, self._most))
        try:
            while new:
                new = new[os.write(file, new) :]
        except OSError:
            os.ftruncate(file, size)
            raise
        return os.fstat(file).st_size

    def end(self, status: int, digest: str, note: str) -> None:
        """Note how the job elsewhere ended: its wait status, and the SHA-256 of its results."""
        if digest and not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise SpoolError(errno.EINVAL, f"{digest[:80]!r} is no SHA-256 in hex")
        with self._locked():
            if not (self.path / JOB).exists():
                raise self._closed()
            if not (self.path / END).exists():
                write_json(self.path / END, {"status": status, "digest": digest, "note": note})

    def clear(self) -> None:
        """Remove all but the record of which job stood in, and its outcome."""
        if not self.path.is_dir():
            return
        with self._locked():
            for name in STREAMS.values():
                with contextlib.suppress(FileNotFoundError):
                    (self.path / name).unlink()
            write_json(self.path / END, {"status": 0, "digest": "", "note": "its data was removed"})

    def _check_open(self) -> None:
        if not (self.path / JOB).exists() or (self.path / END).exists():
            raise self._closed()

    def _closed(self) -> SpoolError:
        return SpoolError(errno.ENOENT, f"burst {self.label} has no stand-in that waits for it")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Two services may take each other for dead."""
        try:
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            raise self._closed() from None
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def read_json(path: Path) -> JSON | None:
    """Return the object in a file; None: there is none, or it is not whole."""
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_json(path: Path, content: JSON) -> None:
    """Write an object into a file, at once. Raises SpoolError."""
    beside = path.with_name(f".{path.name}.new")
    with _words(path.name):
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(file, "w") as text:  # noqa: PTH123 - it is open
            json.dump(content, text)
        beside.replace(path)


def _too_large(stream: str, most: int) -> str:
    less = ": name less in attributes.user.burst.results" if stream == RESULTS else ""
    return f"{stream}: more than {most >> 20} MiB, which is the limit{less}"


@contextlib.contextmanager
def _words(what: str) -> Iterator[None]:
    """Tell an error of the file system by what was written. A full disk may have room later."""
    try:
        yield
    except OSError as error:
        code = errno.ENOSPC if error.errno in _NO_ROOM else error.errno or errno.EIO
        raise SpoolError(code, f"{what}: {os.strerror(code)}") from error
