"""A job's output and events as bytes, in the forms in which a client may ask for them. Pure.

Chunks are bytes. As JSON, one that is UTF-8 as a whole is `text`, any other one `base64`: so a character that
is cut between two chunks makes both of them base64, each chunk can be read without the one before it, and a
reader may go on behind any entry without losing a byte. The events of an entry count once the one with its
id is there: a reader who is cut off before gets all of them again. As text, where nobody goes on, the rest of
such a character is awaited.
"""

from __future__ import annotations

import base64
import codecs
import json
from typing import TYPE_CHECKING, Any

from restful.jobs.output import sse
from restful.jobs.output.endings import EndReason, names_of, summary
from restful.jobs.output.positions import END_ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minicluster.instance.records import Event, OutputChunk
    from restful.jobs.output.endings import FeedEnd
    from restful.jobs.output.entries import FeedEntry
    from restful.jobs.output.selection import ChunkSelection

PART_BYTES = 48 << 10
"""Of one event's data at most, a multiple of 3; a longer chunk is several events."""


class TextEncoder:
    """The output of all tasks as they wrote it, in UTF-8; what is no UTF-8 is replaced by U+FFFD."""

    media_type = "text/plain; charset=utf-8"
    comment = b""
    marks_its_end = False

    def __init__(self, wanted: ChunkSelection) -> None:
        self._wanted = wanted
        self._decoders: dict[tuple[int, str], codecs.IncrementalDecoder] = {}

    def start(self) -> bytes:
        """Nothing."""
        return b""

    def entry(self, entry: FeedEntry[OutputChunk]) -> Iterator[bytes]:
        """Yield the text of each chunk, up to the last whole character."""
        for chunk in self._wanted.of(entry):
            yield self._decoder(chunk.task, chunk.stream).decode(chunk.data).encode()

    def _decoder(self, task: int, stream: str) -> codecs.IncrementalDecoder:
        key = (task, stream)
        if key not in self._decoders:
            self._decoders[key] = codecs.getincrementaldecoder("utf-8")("replace")
        return self._decoders[key]

    def end(self, end: FeedEnd) -> bytes:  # noqa: ARG002 - text has no word for it
        """Return what is left of characters that were cut."""
        return b"".join(each.decode(b"", final=True).encode() for each in self._decoders.values())


class JsonLinesEncoder:
    """One JSON object a line, with the fields of the events."""

    media_type = "application/jsonl; charset=utf-8"
    comment = b""
    marks_its_end = True

    def __init__(self, wanted: ChunkSelection) -> None:
        self._wanted = wanted

    def start(self) -> bytes:
        """Nothing."""
        return b""

    def entry(self, entry: FeedEntry[OutputChunk]) -> Iterator[bytes]:
        """Yield a line a part; the entry's last one has its `id`."""
        for name, data, last in _parts(self._wanted.of(entry)):
            number = {"id": entry.sequence} if last else {}
            yield _line({"event": name, **data, **number})

    def end(self, end: FeedEnd) -> bytes:
        """Return the line "moved" where the job was restarted, and "end" where it has ended."""
        return b"".join(_line({"event": name, **data}) for name, data in _last_events(end))


class SseEncoder:
    """Server-sent events. `id` comes with the last event of an entry alone, and with the stream's end."""

    media_type = sse.MEDIA_TYPE
    comment = sse.COMMENT
    marks_its_end = True

    def __init__(self, wanted: ChunkSelection, retry_delay: float) -> None:
        self._wanted = wanted
        self._retry_delay = retry_delay

    def start(self) -> bytes:
        """Return after how long to connect again."""
        return sse.retry(self._retry_delay)

    def entry(self, entry: FeedEntry[OutputChunk]) -> Iterator[bytes]:
        """Yield an event a part."""
        for name, data, last in _parts(self._wanted.of(entry)):
            yield sse.event(compact_json(data), name=name, id=str(entry.sequence) if last else None)

    def end(self, end: FeedEnd) -> bytes:
        """Return "moved" where the job was restarted, and "end" where it has ended."""
        return _end_events(end)


class EventListEncoder:
    """A job's eventlog (RFC 18) as one JSON document."""

    media_type = "application/json"
    comment = b""
    marks_its_end = True

    def __init__(self) -> None:
        self._separator = b""

    def start(self) -> bytes:
        """Return what opens the list."""
        return b'{"events":['

    def entry(self, entry: FeedEntry[Event]) -> Iterator[bytes]:
        """Yield an object an entry."""
        for event in entry.items:
            yield self._separator + _bytes({"id": entry.sequence, **_event(event)})
            self._separator = b","

    def end(self, end: FeedEnd) -> bytes:  # noqa: ARG002 - the job's record has it
        """Return what closes the list."""
        return b"]}"


class EventEncoder:
    """A job's eventlog (RFC 18) as server-sent events."""

    media_type = sse.MEDIA_TYPE
    comment = sse.COMMENT
    marks_its_end = True

    def __init__(self, retry_delay: float) -> None:
        self._retry_delay = retry_delay

    def start(self) -> bytes:
        """Return after how long to connect again."""
        return sse.retry(self._retry_delay)

    def entry(self, entry: FeedEntry[Event]) -> Iterator[bytes]:
        """Yield an event an entry."""
        for event in entry.items:
            yield sse.event(compact_json(_event(event)), name="event", id=str(entry.sequence))

    def end(self, end: FeedEnd) -> bytes:
        """Return "moved" where the job was restarted, and "end" where it has ended."""
        return _end_events(end)


def _event(event: Event) -> dict[str, Any]:
    return {"timestamp": event.timestamp, "name": event.name, "context": dict(event.context)}


def _end_events(end: FeedEnd) -> bytes:
    """Return the last events: the very last one has an id, by which a browser that has had it is known."""
    return b"".join(
        sse.event(compact_json(data), name=name, id=END_ID if name == "end" else None)
        for name, data in _last_events(end)
    )


def _last_events(end: FeedEnd) -> Iterator[tuple[str, dict[str, Any]]]:
    if end.reason is not EndReason.ENDED or end.job is None:
        return
    if end.successor is not None:
        yield "moved", names_of(end.successor)
    yield "end", summary(end.job)


def _parts(chunks: Sequence[OutputChunk]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield each event's name and data, and whether it is the last one."""
    for number, chunk in enumerate(chunks, 1):
        parts = list(_data(chunk.data))
        for part, data in enumerate(parts, 1):
            last = number == len(chunks) and part == len(parts)
            yield chunk.stream, {"task": chunk.task, **data}, last


def _data(data: bytes) -> Iterator[dict[str, str]]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        for start in range(0, len(data), PART_BYTES):
            yield {"base64": base64.b64encode(data[start : start + PART_BYTES]).decode("ascii")}
        return
    for start in range(0, max(1, len(text)), PART_BYTES):
        yield {"text": text[start : start + PART_BYTES]}


def compact_json(data: dict[str, Any]) -> str:
    """Return data as JSON on one line. Lone surrogates are left as they are."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)


def _bytes(data: dict[str, Any]) -> bytes:
    return compact_json(data).encode(errors="backslashreplace")


def _line(data: dict[str, Any]) -> bytes:
    return _bytes(data) + b"\n"
