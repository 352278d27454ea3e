"""Whole lines of a job's output: chunks may end within one, and those of several tasks come mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.records import OutputChunk

MAX_LINE = 1 << 20
"""Bytes of a line that are kept back until it ends; a longer one comes in parts."""


class TaskLines:
    """Puts output together to lines, each of one stream of one task."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], bytes] = {}

    def feed(self, chunk: OutputChunk) -> list[bytes]:
        """Return the lines that are complete with this chunk, each with its newline."""
        key = (chunk.stream, chunk.task)
        lines = (self._open.pop(key, b"") + chunk.data).splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n") and len(lines[-1]) <= MAX_LINE:
            self._open[key] = lines.pop()
        return lines

    def rest(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield stream, task and bytes of each line that has not ended."""
        for (stream, task), line in self._open.items():
            yield stream, task, line
