"""The lines of a job's output, from chunks that end anywhere. Pure."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.records import OutputChunk

STREAMS = ("stdout", "stderr")


class OutputLines:
    """Puts lines together: those of one task never have a part of another's within.

    What is no UTF-8 is replaced by U+FFFD.
    """

    def __init__(self) -> None:
        self._tasks: dict[tuple[int, str], _Task] = {}

    def add(self, chunk: OutputChunk) -> Iterator[str]:
        """Yield the lines that a chunk ends, each with its line feed."""
        if chunk.stream in STREAMS:
            yield from self._tasks.setdefault((chunk.task, chunk.stream), _Task()).add(chunk.data)

    def rest(self) -> Iterator[str]:
        """Yield what is behind the last line feeds."""
        for task in self._tasks.values():
            yield from task.rest()


class _Task:
    """One stream of one task."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []

    def add(self, data: bytes) -> Iterator[str]:
        first, *others = self._decoder.decode(data).split("\n")
        self._parts.append(first)
        for text in others:
            yield f"{''.join(self._parts)}\n"
            self._parts = [text]

    def rest(self) -> Iterator[str]:
        self._parts.append(self._decoder.decode(b"", final=True))
        if line := "".join(self._parts):
            yield line
