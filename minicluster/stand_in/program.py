"""The program of a stand-in: prints what comes into its spool, writes the results, ends as the job there did.

It begins at the first byte, as one that has the place of another which was killed must.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.stand_in import spool
from minicluster.stand_in.errors import ResultsError, SpoolError
from minicluster.stand_in.results import extract

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MIN_INTERVAL, MAX_INTERVAL = 0.02, 0.5
"""Seconds between two looks at the spool: longer and longer while nothing comes."""
CHUNK = 1 << 16
KEPT = "results-not-written.tar"
FAILED = 1
"""The exit code where the job succeeded and its results could not be written."""


def main(arguments: Sequence[str]) -> int:
    """Stand in by the spool in a folder, for a job with this working directory; return the exit code."""
    folder, directory = Path(arguments[0]), Path(arguments[1])
    outputs = (_Followed(folder / spool.STDOUT, 1), _Followed(folder / spool.STDERR, 2))
    end = follow(outputs, lambda: spool.read_json(folder / spool.END), time.sleep)
    code = exit_code(int(end["status"]))
    note, digest = str(end["note"]), str(end["digest"])
    if note:
        _report(note)
    if digest:
        archive = folder / spool.STREAMS[spool.RESULTS]
        try:
            extract(archive, digest, directory, folder.name)
        except ResultsError as error:
            _report(f"its results are not written: {error}{_kept(archive)}")
            code = code or FAILED
    try:
        spool.write_json(folder / spool.OUTCOME, {"code": code})
    except SpoolError as error:
        _report(f"it cannot note that it is done: {error}")
    return code


def _kept(archive: Path) -> str:
    """Keep results out of what is removed with the spool; return where they are, in words."""
    kept = archive.with_name(KEPT)
    try:
        archive.replace(kept)
    except OSError:
        return ""
    return f" (they are kept in {kept})"


def follow(
    outputs: Sequence[_Followed], ended: Callable[[], spool.JSON | None], sleep: Callable[[float], None]
) -> spool.JSON:
    """Print what comes until the end was written, and all before it; return the end."""
    interval = MIN_INTERVAL
    while True:
        end = ended()  # before what is read: nothing is written after it
        printed = sum(each.print() for each in outputs)
        if end is not None:
            return end
        interval = MIN_INTERVAL if printed else min(2 * interval, MAX_INTERVAL)
        sleep(interval)


class _Followed:
    """A file that grows, and where it is printed."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._offset = 0

    def print(self) -> int:
        """Print what has come; return how many bytes."""
        before = self._offset
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0
        try:
            while True:
                data = os.pread(file, CHUNK, self._offset)
                if not data:
                    return self._offset - before
                self._offset += len(data)
                while data:
                    data = data[os.write(self._descriptor, data) :]
        finally:
            os.close(file)


def exit_code(status: int) -> int:
    """Return a wait status as the shell shows it: a signal is 128 and its number."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _report(text: str) -> None:
    print(f"minicluster: {text}", file=sys.stderr, flush=True)
