"""The last lines of what a job wrote, for messages: bounded, and with nothing in them that moves a cursor."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from broker_config.formats.printable import printable
from minicluster.instance.task_lines import TaskLines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.instance.records import OutputChunk

LINES = 10
LINE_LENGTH = 300
"""Characters of a line; of a longer one the first."""
MAX_BYTES = 8 << 20
"""Of output that is read for its last lines; of more there are none."""


def last_lines(chunks: Iterable[OutputChunk], *, label: bool) -> tuple[str, ...]:
    """Return the last lines of output; with `label` each has its task's rank in front, as `0: `."""
    found: deque[str] = deque(maxlen=LINES)
    lines = TaskLines()
    size = 0
    for chunk in chunks:
        size += len(chunk.data)
        if size > MAX_BYTES:
            return ()
        found.extend(_shown(line, chunk.task, label) for line in lines.feed(chunk))
    found.extend(_shown(line, task, label) for _, task, line in lines.rest())
    return tuple(found)


def _shown(line: bytes, task: int, label: bool) -> str:
    text = line.rstrip(b"\r\n").decode(errors="replace")
    cut = f"{text[:LINE_LENGTH]} …" if len(text) > LINE_LENGTH else text
    return printable(f"{task}: {cut}" if label else cut)
