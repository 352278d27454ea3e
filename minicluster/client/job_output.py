"""A job's output over as many connections as it takes, each byte once."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minicluster.client.errors import BadAnswer, ClientError, ServerAway, refusal
from minicluster.client.event_stream import StreamLost, StreamRefused
from minicluster.instance.records import OutputChunk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.client.connection import QueryParameters, ServiceConnection
    from minicluster.client.event_stream import ServerEvent

STREAMS = frozenset({"stdout", "stderr", "log"})
END = "end"


class FollowedOutput(Iterator[OutputChunk]):
    """The output of a job, up to its end.

    Chunks of an entry are kept back until the last one has come, with the entry's id: after a lost connection
    the service sends such an entry as a whole.
    """

    def __init__(
        self, connection: ServiceConnection, path: str, query: QueryParameters, jobid: int, after: int
    ) -> None:
        self._connection = connection
        self._path = path
        self._query = query
        self._jobid = jobid
        self._last = "" if after < 0 else str(after)
        self._partial: list[OutputChunk] = []
        self._chunks = self._read()
        self.moved_to: str | None = None
        """The id of the job that goes on in place of this one, where it was restarted."""
        self.end: Mapping[str, Any] | None = None
        """State, result, returncode and exception, once it has ended."""

    def __next__(self) -> OutputChunk:
        return next(self._chunks)

    def close(self) -> None:
        """Read no more."""
        self._chunks.close()  # type: ignore[attr-defined]  # of a generator

    def _read(self) -> Iterator[OutputChunk]:
        may_renew = True
        while self.end is None:
            try:
                yield from self._events()
            except StreamRefused as error:
                if not (error.status == 401 and may_renew and self._connection.renewed()):
                    raise refused(error) from error
                may_renew = False
            except StreamLost as error:
                raise ServerAway(str(error)) from error
            else:
                return

    def _events(self) -> Iterator[OutputChunk]:
        query = {**self._query, "format": "sse", "follow": "true"}
        self._partial.clear()
        for event in self._connection.events(self._path, query, self._last, self._partial.clear):
            if event.name in STREAMS:
                yield from self._entry(event)
            elif event.name == "moved":
                self.moved_to = str(data_of(event).get("f58", "")) or None
            elif event.name == END:
                self.end = data_of(event)
                return

    def _entry(self, event: ServerEvent) -> Iterator[OutputChunk]:
        """Yield an entry's chunks with its last one."""
        self._partial.append(chunk(self._jobid, event.name, data_of(event)))
        if event.id != self._last:
            self._last = event.id
            found = _numbered(self._partial, event.id)
            self._partial.clear()
            yield from found


def now_written(
    connection: ServiceConnection, path: str, query: QueryParameters, jobid: int, after: int
) -> list[OutputChunk]:
    """Return what is there of a job's output."""
    behind = {} if after < 0 else {"after": str(after)}
    found: list[OutputChunk] = []
    partial: list[OutputChunk] = []
    for each in connection.lines(path, {**query, **behind, "format": "json", "follow": "false"}):
        if not isinstance(each, dict) or each.get("event") not in STREAMS:
            continue
        partial.append(chunk(jobid, each["event"], each))
        if "id" in each:
            found += _numbered(partial, str(each["id"]))
            partial.clear()
    return found


def chunk(jobid: int, stream: str, data: Mapping[str, Any]) -> OutputChunk:
    """Return a chunk, whose entry is not known yet. Raises BadAnswer."""
    try:
        content = base64.b64decode(data["base64"]) if "base64" in data else data["text"].encode()
        return OutputChunk(jobid, -1, int(data["task"]), stream, content, last=False)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadAnswer("an event of a job's output cannot be read") from error


def _numbered(partial: list[OutputChunk], id: str) -> list[OutputChunk]:  # noqa: A002 - the field's name
    try:
        entry = int(id)
    except ValueError as error:
        raise BadAnswer("an event of a job's output has an id that is no number") from error
    return [replace(each, sequence=entry, last=each is partial[-1]) for each in partial]


def data_of(event: ServerEvent) -> dict[str, Any]:
    """Return an event's data. Raises BadAnswer."""
    try:
        found = json.loads(event.data)
    except ValueError as error:
        raise BadAnswer("an event of a job has data that are no JSON") from error
    if not isinstance(found, dict):
        raise BadAnswer("an event of a job has data that are no object")
    return found


def refused(error: StreamRefused) -> ClientError:
    """Return the error of a stream that the service does not give."""
    words = str(error).partition(": ")[2]
    if error.status < 400:
        return BadAnswer(words)
    kind = "output-gone" if error.status == 410 else ""
    return refusal(error.status, {"detail": words, "type": kind})
