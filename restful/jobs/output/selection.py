"""Which part of a job's output is wanted: `stream` and `task` of the query. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_config.formats import idset
from broker_config.formats.errors import IdsetError
from restful.errors import FieldError, HttpProblem

if TYPE_CHECKING:
    from minicluster.instance.records import OutputChunk
    from restful.jobs.output.entries import FeedEntry

STREAMS = ("stdout", "stderr", "log")


@dataclass(frozen=True, slots=True)
class ChunkSelection:
    """Chunks of some streams and tasks; None: of all."""

    streams: frozenset[str] | None = None
    tasks: frozenset[int] | None = None

    def of(self, entry: FeedEntry[OutputChunk]) -> tuple[OutputChunk, ...]:
        """Return the chunks of an entry that are wanted."""
        return tuple(filter(self._wants, entry.items))

    def _wants(self, chunk: OutputChunk) -> bool:
        return (
            chunk.stream in STREAMS
            and (self.streams is None or chunk.stream in self.streams)
            and (self.tasks is None or chunk.task in self.tasks)
        )


def selection(stream: str | None, task: str | None) -> ChunkSelection:
    """Read `stream` (names with commas) and `task` (an idset, RFC 22). Raises HttpProblem."""
    return ChunkSelection(None if not stream else _streams(stream), None if not task else _tasks(task))


def _streams(text: str) -> frozenset[str]:
    names = frozenset(text.split(","))
    if not names <= set(STREAMS):
        words = f"stream is {text[:40]!r}: it is one or several of stdout, stderr and log, with commas."
        raise HttpProblem("malformed", words, (FieldError("stream", "names no stream of a job"),))
    return names


def _tasks(text: str) -> frozenset[int]:
    try:
        if idset.count(text) <= MAX_TASKS:
            return frozenset(idset.decode(text))
        reason = f"more than {MAX_TASKS} tasks"
    except IdsetError as error:
        reason = str(error)
    words = f"task is {text[:40]!r}: it is the rank of a task, or a set of ranks as 0-3,7 ({reason})."
    raise HttpProblem("malformed", words, (FieldError("task", "is no set of ranks"),))


MAX_TASKS = 1 << 16
"""A selection of more is none."""
