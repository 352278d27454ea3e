"""Reads the output of a job elsewhere by byte offsets: again from any byte, and on from where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from burst.lifecycle.isolation import OutputPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.instance.port import Instance

MAX_BYTES = 1 << 22
"""What one look returns of output, but for the rest of its last entry."""
PART_BYTES = 1 << 17
"""What is written to a lead at once: each byte is more on the way there."""


READ_DELAY = 9.0
"""How many times as long as it was read output is left alone then."""


class _Position(NamedTuple):
    """Entries of a job's output of which all is received, and how many bytes they are by stream."""

    after: int
    ends: Mapping[str, int]


_BEGIN = _Position(-1, {})


class OutputReader:
    """One job's output. Streams are called as in `names`, and those that are not there are left out."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._known = _BEGIN

    def read(self, instance: Instance, job: int, received: Mapping[str, int]) -> tuple[OutputPart, ...]:
        """Return what there is behind these numbers of bytes by stream. Blocks; raises InstanceError."""
        if any(end > received.get(stream, 0) for stream, end in self._known.ends.items()):
            self._known = _BEGIN  # what was received before is lost
        ends, found = dict(self._known.ends), dict[str, bytearray]()
        is_received, size = True, 0
        with instance.jobs.output(job, after=self._known.after) as chunks:
            for chunk in chunks:
                stream = self._names.get(chunk.stream, "")
                if stream:
                    begin, has = ends.get(stream, 0), received.get(stream, 0)
                    ends[stream] = begin + len(chunk.data)
                    more = chunk.data[max(has - begin, 0) :]
                    found.setdefault(stream, bytearray()).extend(more)
                    size += len(more)
                    is_received = is_received and not more
                if chunk.last and is_received:
                    self._known = _Position(chunk.sequence, dict(ends))
                if chunk.last and size >= MAX_BYTES:
                    break
        return tuple(
            OutputPart(stream, received.get(stream, 0) + start, bytes(data[start : start + PART_BYTES]))
            for stream, data in found.items()
            for start in range(0, len(data), PART_BYTES)
        )


class PacedReader:
    """Reads the output of a job that runs for a tenth of the time: real Flux sends all of it each time."""

    def __init__(self, reader: OutputReader, now: Callable[[], float]) -> None:
        self._reader = reader
        self._now = now
        self._due = 0.0

    def read(
        self, instance: Instance, job: int, received: Mapping[str, int], *, whole: bool
    ) -> tuple[OutputPart, ...]:
        """Return what `OutputReader.read` does; nothing too early, unless all of it is wanted now."""
        begun = self._now()
        if begun < self._due and not whole:
            return ()
        parts = self._reader.read(instance, job, received)
        ended = self._now()
        self._due = ended + READ_DELAY * (ended - begun)
        return parts
