"""The far end of a link in lines, for the lead's server: one client's requests over links to the broker.

The lines are those of `flux_helper`, for either engine. The client sends requests; the broker's answers go
into its `OutgoingLines`. Whatever it may not ask is refused with EPERM.

Two kinds of threads call the broker. One has all single requests, and every eventlog that is followed. Any
other stream has one to itself: it is read only while its client has credit, so that the broker waits with it.
"""

from __future__ import annotations

import errno
import json
import threading
from typing import TYPE_CHECKING

from broker_config.formats.jobspec import complete
from minicluster.broker_link.errors import Refused, reason
from minicluster.broker_link.link_thread import LinkThread
from minicluster.broker_link.served_stream import EVENTLOG, ServedStream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from minicluster.broker_link.errors import RequestRefused
    from minicluster.broker_link.link import JSON, LeadLink
    from minicluster.broker_link.outgoing_lines import OutgoingLines

MAX_LINE_BYTES = 4 << 20
MAX_REQUESTS = 8192
"""Under way at a time, streams among them."""
MAX_OWN_THREADS = 32
"""Streams with a thread of their own, at a time."""
IDLE_THREADS = 4
"""Of these threads, so many are kept for the next such stream."""
_CLOSE_SECONDS = 1.0


class LinesBroken(Exception):  # noqa: N818 - named for what is the case
    """What the client sent is no request."""


class LinesServer:
    """Serves one client. `take` is for the thread that reads what it sends.

    `connect` makes links, each in the thread that uses it. `refusal` returns why a topic with its payload is
    refused; empty: it is not. Jobs without an environment get `environment`, and those without a directory
    `cwd`. `over` is called once no more will come: the broker is gone.
    """

    def __init__(
        self,
        connect: Callable[[], LeadLink],
        outbox: OutgoingLines,
        refusal: Callable[[str, JSON], str],
        over: Callable[[], None],
        environment: Mapping[str, str],
        cwd: str,
    ) -> None:
        self._connect = connect
        self._outbox = outbox
        self._refusal = refusal
        self._over = over
        self._environment, self._cwd = environment, cwd
        self._rest = b""
        self._lock = threading.Lock()
        self._single: set[int] = set()  # requests with one answer, by the client's numbers
        self._streams: dict[int, _OnThread] = {}
        self._idle: list[_OwnThread] = []
        self._threads: set[LinkThread] = set()
        self._gone = False
        self._main = LinkThread(self._greeting, lambda: not outbox.is_full, self._broke)
        self._threads.add(self._main)
        self._main.start()

    def _greeting(self) -> LeadLink:
        link = self._connect()
        self._outbox.put({"engine": link.engine})
        return link

    def _broke(self, error: Exception) -> None:
        with self._lock:
            first, self._gone = not self._gone, True
        if first:
            self._outbox.put({"gone": reason(error) or type(error).__name__})
            self._over()

    # -- what the client sends -------------------------------------------------------------------------

    def take(self, data: bytes) -> None:
        """Take in what the client sent. Raises LinesBroken."""
        *lines, rest = (self._rest + data).split(b"\n")
        if max(map(len, (rest, *lines))) > MAX_LINE_BYTES:
            raise LinesBroken(f"a line has more than {MAX_LINE_BYTES >> 20} MiB")
        self._rest = rest
        for line in lines:
            self._request(_parsed(line))

    def _request(self, request: JSON) -> None:
        number, topic = request["id"], request.get("topic")
        if topic is None:
            self._steer(number, request)
            return
        refusal = self._refusal(topic, request["payload"])
        if refusal:
            self._outbox.refuse(number, errno.EPERM, refusal)
        elif len(self._single) + len(self._streams) >= MAX_REQUESTS:
            self._outbox.refuse(
                number, errno.EAGAIN, f"{MAX_REQUESTS} requests are under way, which is the limit"
            )
        elif number in self._single or number in self._streams:
            raise LinesBroken(f"request {number} is under way, and another one has its number")
        elif request.get("stream"):
            self._stream(number, request)
        else:
            self._single.add(number)
            self._main.post(lambda link: self._tried(number, lambda: self._ask(link, number, topic, request)))

    def _ask(self, link: LeadLink, number: int, topic: str, request: JSON) -> None:
        payload = request["payload"]

        def answered(answer: JSON | None, refusal: RequestRefused | None) -> None:
            self._single.discard(number)
            if refusal is not None:
                self._outbox.refuse(number, refusal.errnum, refusal.text)
            else:
                self._outbox.put({"id": number, "payload": answer})

        if topic == "helper.submit":
            complete(payload["jobspec"], self._environment, self._cwd)
            urgency, flags = int(payload["urgency"]), int(payload["flags"])
            link.request_submit(payload["jobspec"], urgency, flags, answered)
        else:
            link.request(topic, payload, answered)

    def _stream(self, number: int, request: JSON) -> None:
        try:
            stream = ServedStream(request, self._outbox.put, lambda: self._ended(number))
        except (TypeError, ValueError) as error:
            self._outbox.refuse(number, errno.EPROTO, f"the request is malformed: {error}")
            return
        thread = self._main if request["topic"] == EVENTLOG else self._own_thread(stream)
        if thread is None:
            limit = f"{MAX_OWN_THREADS} streams of this kind are open, which is the limit"
            self._outbox.refuse(number, errno.EAGAIN, limit)
            return
        self._streams[number] = _OnThread(stream, thread)
        thread.post(lambda link: self._tried(number, lambda: stream.begin(link)))

    def _steer(self, number: int, request: JSON) -> None:
        """Pass on credit for a stream, or its end; one that has ended is no more known."""
        found = self._streams.get(number)
        if found is None:
            return
        stream = found.stream

        def work(link: LeadLink) -> None:
            if request.get("cancel"):
                stream.cancel(link)
            else:
                stream.credit(link, int(request.get("credit", 0)))

        found.thread.post(lambda link: self._tried(number, lambda: work(link)))

    # -- answers ---------------------------------------------------------------------------------------

    def _tried(self, number: int, work: Callable[[], None]) -> None:
        try:
            work()
        except Refused as error:
            self._failed(number, error.errnum, error.text)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._failed(number, errno.EPROTO, f"the request is malformed: {type(error).__name__}: {error}")

    def _failed(self, number: int, errnum: int, text: str) -> None:
        self._single.discard(number)
        found = self._streams.get(number)
        if found is not None:
            found.stream.stop(errnum, text)
        else:
            self._outbox.refuse(number, errnum, text)

    def _ended(self, number: int) -> None:
        found = self._streams.pop(number, None)
        if found is not None and isinstance(found.thread, _OwnThread):
            self._keep(found.thread)

    # -- threads ---------------------------------------------------------------------------------------

    def _own_thread(self, stream: ServedStream) -> LinkThread | None:
        """Return a thread for a stream alone; None: there are too many."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
            if idle is None and len(self._threads) > MAX_OWN_THREADS:
                return None
            thread = idle or _OwnThread(self._connect, self._outbox, self._broke)
            self._threads.add(thread)
            thread.stream = stream
        if idle is None:
            thread.start()
        return thread

    def _keep(self, thread: _OwnThread) -> None:
        with self._lock:
            thread.stream = None
            if len(self._idle) < IDLE_THREADS:
                self._idle.append(thread)
                return
            self._threads.discard(thread)
        thread.close()

    def drained(self) -> None:
        """Read on: the outbox has room again."""
        for each in tuple(self._threads):
            each.wake()

    def close(self) -> None:
        """End every request, and the threads."""
        with self._lock:
            self._gone = True
            threads = tuple(self._threads)
        for each in threads:
            each.close()
        for each in threads:
            each.join(_CLOSE_SECONDS)


class _OwnThread(LinkThread):
    """The thread of one stream at a time, which is read only while its client has credit."""

    def __init__(
        self, connect: Callable[[], LeadLink], outbox: OutgoingLines, broke: Callable[[Exception], None]
    ) -> None:
        self.stream: ServedStream | None = None
        super().__init__(connect, lambda: not outbox.is_full and self._has_room(), broke)

    def _has_room(self) -> bool:
        return self.stream is None or self.stream.has_room


class _OnThread:
    """A stream, and the thread that calls the broker for it."""

    def __init__(self, stream: ServedStream, thread: LinkThread) -> None:
        self.stream, self.thread = stream, thread


def _parsed(line: bytes) -> dict[str, Any]:
    """Return a request. Raises LinesBroken."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not (isinstance(found, dict) and isinstance(found.get("id"), int)):
        raise LinesBroken("a line is no JSON object with an id")
    found["payload"] = found.get("payload") or {}
    if not isinstance(found.get("topic", ""), str) or not isinstance(found["payload"], dict):
        raise LinesBroken("a request has a topic, which is a text, and a payload, which is an object")
    return found
