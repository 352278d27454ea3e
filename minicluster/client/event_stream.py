"""Server-sent events (HTML Living Standard, section 9.2) for Python programs, as a browser reads them.

    for event in EventStream(session, "https://host/v2/clusters/mc/jobs/7/output?format=sse"):
        print(event.name, event.data)

A connection that ends is made anew, and goes on behind the last event that had an id. Where several events
belong together, the last one has the id: the others come again if the connection is lost before that.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import requests

from minicluster.client.http_session import is_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MEDIA_TYPE = "text/event-stream"
CONNECT_TIMEOUT = 10.0
"""Seconds for a connection."""
QUIET_TIMEOUT = 45.0
"""Seconds without a byte after which a connection is taken for lost: services send a comment each 15."""
FIRST_DELAY = 1.0
"""Seconds before the first attempt to connect again, where the service has set none."""
MAX_DELAY = 30.0
"""Seconds before a later one at most."""
AGAIN = frozenset({429, 500, 502, 503, 504})
"""Status codes after which another attempt may succeed."""
_LINE_END = re.compile(rb"[\r\n]")
_MILLISECONDS = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event."""

    name: str
    data: str
    id: str
    """That of this event or, where it has none, of the last one that had; empty where none had."""


class StreamRefused(Exception):  # noqa: N818 - named for what happened
    """The service does not give this stream; the message is the service's own where it has one."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        super().__init__(f"{status}: {reason}")


class StreamLost(Exception):  # noqa: N818 - named for what happened
    """The stream was lost, and could not be had again in so many attempts."""


class EventParser:
    """Makes events of bytes, however these are cut. Does no I/O."""

    def __init__(self) -> None:
        self.last_event_id = ""
        """What a new connection sends as Last-Event-ID."""
        self.retry: float | None = None
        """Seconds before a new connection, where the service has set them."""
        self._bytes = bytearray()
        self._searched = 0  # bytes without a line's end
        self._begun = False
        self._skip_newline = False
        self._id = ""
        self._name = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        """Yield the events that end within `data`."""
        self._bytes += data
        for line in self._lines():
            if line:
                self._field(line)
            elif (event := self._event()) is not None:
                yield event

    def reset(self) -> None:
        """Begin anew with another connection: an event that is not whole is dropped."""
        self._bytes.clear()
        self._searched = 0
        self._begun = self._skip_newline = False
        self._id, self._name, self._data = self.last_event_id, "", []

    def _lines(self) -> Iterator[str]:
        """Yield the lines that are whole; their ends are CR, LF, or both."""
        while self._bytes:
            if self._skip_newline:
                self._skip_newline = False
                if self._bytes[0] == 0x0A:
                    del self._bytes[0]
                    continue
            found = _LINE_END.search(self._bytes, self._searched)
            if found is None:
                self._searched = len(self._bytes)
                return
            end, self._searched = found.start(), 0
            self._skip_newline = self._bytes[end] == 0x0D
            line = self._bytes[:end].decode(errors="replace")
            del self._bytes[: end + 1]
            yield line if self._begun else line.removeprefix("\ufeff")
            self._begun = True

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if _MILLISECONDS.fullmatch(value):
                self.retry = int(value) / 1000

    def _event(self) -> ServerEvent | None:
        """Return the event that a blank line ends; without data it is none, but its id counts."""
        self.last_event_id = self._id
        name, data, self._name, self._data = self._name, self._data, "", []
        return ServerEvent(name or "message", "\n".join(data), self._id) if data else None


class EventStream:
    """The events of one address, over as many connections as it takes; 204 ends them.

    Iterating raises StreamRefused and, after `attempts` connections in a row without an event, StreamLost.
    """

    def __init__(
        self,
        session: requests.Session,
        url: str,
        *,
        last_event_id: str = "",
        attempts: int = 10,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._session = session
        self._url = url
        self._attempts = attempts
        self._sleep = sleep
        self._failures = 0
        self._parser = EventParser()
        self._parser.last_event_id = last_event_id

    @property
    def last_event_id(self) -> str:
        """The id of the last event, from which another stream may go on."""
        return self._parser.last_event_id

    def __iter__(self) -> Iterator[ServerEvent]:
        while True:
            reason, wait = "the connection ended", 0.0
            try:
                with self._connected() as response:
                    if response.status_code == requests.codes.no_content:
                        return
                    wait, reason = _refusal(response) or (wait, reason)
                    if not wait:
                        yield from self._events(response)
            except requests.RequestException as error:
                reason = str(error)
            self._failures += 1
            if self._failures >= self._attempts:
                raise StreamLost(f"{self._url}: {reason} ({self._failures} attempts)")
            self._sleep(max(wait, self._delay()))

    def _connected(self) -> requests.Response:
        headers = {"Accept": MEDIA_TYPE, "Cache-Control": "no-store"}
        self._parser.reset()
        if self._parser.last_event_id:
            headers["Last-Event-ID"] = self._parser.last_event_id
        return self._session.get(
            self._url, headers=headers, stream=True, timeout=(CONNECT_TIMEOUT, QUIET_TIMEOUT)
        )

    def _events(self, response: requests.Response) -> Iterator[ServerEvent]:
        size = None if getattr(response.raw, "chunked", False) else 1  # None: as it comes, of chunks alone
        for data in response.iter_content(size):
            for event in self._parser.feed(data):
                self._failures = 0
                yield event

    def _delay(self) -> float:
        """Return the seconds before the next connection: twice as many after each that failed."""
        first = FIRST_DELAY if self._parser.retry is None else self._parser.retry
        return min(MAX_DELAY, first * 2.0 ** max(0, self._failures - 1))


def _refusal(response: requests.Response) -> tuple[float, str] | None:
    """Return how long to wait, and why, where another attempt may succeed. Raises StreamRefused."""
    status = response.status_code
    if status == requests.codes.ok and response.headers.get("Content-Type", "").startswith(MEDIA_TYPE):
        return None
    reason = _words(response)
    kind = response.headers.get("Content-Type", "")
    if status == requests.codes.ok and is_cut(response) and MEDIA_TYPE.startswith(kind):
        return 0.001, "the connection was lost within the answer's head"
    if status not in AGAIN:
        raise StreamRefused(status, reason)
    return max(_retry_after(response.headers), 0.001), f"{status}: {reason}"


def _words(response: requests.Response) -> str:
    """Return what a refusal (RFC 9457) has for people."""
    if response.status_code == requests.codes.ok:
        return f"this is {response.headers.get('Content-Type', 'of no type')}, and no stream of events"
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return str(response.reason or "no reason was given")


def _retry_after(headers: Mapping[str, str]) -> float:
    value = headers.get("Retry-After", "")
    return min(float(value), 300.0) if value.isascii() and value.isdigit() else 0.0
