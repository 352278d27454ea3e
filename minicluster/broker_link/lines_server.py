"""The far end of a link in lines of JSON: one client's requests, over links to a broker of either engine.

It is behind the lead's API, in the helper of real Flux and in the relay of the embedded instance. The client
sends these lines:

    {"id": 7, "topic": "job-list.job-stats", "payload": {}}                  → {"id": 7, "payload": {...}}
    {"id": 8, "topic": "job-info.eventlog-watch", "payload": {...}, "stream": true, "credit": 64}
    {"id": 8, "credit": 32}          room for 32 more items of stream 8
    {"id": 8, "cancel": true}        ends stream 8
    {"id": 9, "topic": "job-list.list-id", "payload": {"id": 5}, "user": 7001}     asked as uid 7001

The first line that comes back is {"engine": "flux", "users": true}; without `users` no line may have `user`.
Then come the answers, {"id", "payload"} or {"id", "errnum", "errstr"}; the end of a stream is errnum 61
(ENODATA). Where the broker hangs up, {"gone": reason} is the last line.

Some topics are not the broker's. `helper.submit` {jobspec, urgency, flags} signs and submits; `helper.dump`
{path} saves the instance's data; `helper.check-user` {user} answers {"refusal": why lines may not have that
user}, which is empty if they may. `minicluster-jobs.attributes` {ids} answers {"jobs": [{"id", "user"}]},
`attributes.user` of the jobs that are known. Those of `stand_in.topics` write what a job elsewhere prints
into files beside the lead. The payloads of job-info.eventlog-watch and job-info.lookup may have `"after": N`:
entries 0 to N of the log are left out, and answers have `"entry"`, the number of their first.

What the client may not ask is refused with EPERM.

Two kinds of threads call the broker. One has all single requests, and every eventlog that is followed. Any
other stream has one to itself: it is read only while its client has credit, so that the broker waits with it.
"""

from __future__ import annotations

import errno
import json
import threading
from typing import TYPE_CHECKING

from minicluster.broker_link import flux_requests, spool_requests
from minicluster.broker_link.errors import Refused, reason
from minicluster.broker_link.link_thread import LinkThread
from minicluster.broker_link.own_threads import OwnThread, OwnThreads
from minicluster.broker_link.served_stream import EVENTLOG, ServedStream
from minicluster.broker_link.users import uid_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from minicluster.broker_link.errors import RequestRefused
    from minicluster.broker_link.link import JSON, Callback, LeadLink
    from minicluster.broker_link.outgoing_lines import OutgoingLines

MAX_LINE_BYTES = 4 << 20
MAX_REQUESTS = 8192
"""Under way at a time, streams among them."""
MAX_OWN_THREADS = 32
"""Streams with a thread of their own, at a time."""
_CLOSE_SECONDS = 1.0


SUBMIT, DUMP, CHECK_USER = "helper.submit", "helper.dump", "helper.check-user"
_OWNERS = "a line with `user` has no topic of the helper's own: it would be done as the instance's owner"


class LineLimits:
    """What one client may use."""

    def __init__(self, line_bytes: int, requests: int, own_threads: int) -> None:
        self.line_bytes = line_bytes
        self.requests = requests
        self.own_threads = own_threads


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
        limits: LineLimits | None = None,
    ) -> None:
        self._limits = limits or LineLimits(MAX_LINE_BYTES, MAX_REQUESTS, MAX_OWN_THREADS)
        self._connect = connect
        self._outbox = outbox
        self._refusal = refusal
        self._over = over
        self._environment, self._cwd = environment, cwd
        self._rest = b""
        self._lock = threading.Lock()
        self._single: set[int] = set()  # requests with one answer, by the client's numbers
        self._streams: dict[int, _OnThread] = {}
        self._gone = False
        self._main = LinkThread(self._greeting, lambda: not outbox.is_full, self._broke)
        self._own = OwnThreads(connect, outbox, self._broke, self._limits.own_threads)
        self._main.start()

    def _greeting(self) -> LeadLink:
        link = self._connect()
        self._outbox.put({"engine": link.engine, **({"users": True} if link.engine == "flux" else {})})
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
        if max(map(len, (rest, *lines))) > self._limits.line_bytes:
            raise LinesBroken(f"a line has more than {self._limits.line_bytes >> 20} MiB")
        self._rest = rest
        for line in lines:
            self._request(_parsed(line))

    def _request(self, request: JSON) -> None:
        number, topic = request["id"], request.get("topic")
        if topic is None:
            self._steer(number, request)
            return
        refusal = self._refusal(topic, request["payload"])
        if "user" in request and topic.startswith("helper."):
            refusal = refusal or _OWNERS
        if refusal:
            self._outbox.refuse(number, errno.EPERM, refusal)
        elif len(self._single) + len(self._streams) >= self._limits.requests:
            limit = f"{self._limits.requests} requests are under way, which is the limit"
            self._outbox.refuse(number, errno.EAGAIN, limit)
        elif number in self._single or number in self._streams:
            raise LinesBroken(f"request {number} is under way, and another one has its number")
        elif request.get("stream"):
            self._stream(number, request)
        elif topic == DUMP:
            self._dump(number, request["payload"])
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

        if topic == SUBMIT:
            self._submit(link, payload, answered)
        elif topic == CHECK_USER:
            answered({"refusal": link.user_refusal(payload["user"])}, None)
        elif topic.startswith(spool_requests.PREFIX):
            answered(spool_requests.answer(link, topic, payload), None)
        else:
            flux_requests.request(link, topic, payload, answered, request.get("user"))

    def _submit(self, link: LeadLink, payload: JSON, answered: Callback) -> None:
        from broker_config.formats.jobspec import complete  # noqa: PLC0415 - few submit; relays start light

        complete(payload["jobspec"], self._environment, self._cwd)
        urgency, flags = int(payload["urgency"]), int(payload["flags"])
        link.request_submit(payload["jobspec"], urgency, flags, answered)

    def _dump(self, number: int, payload: JSON) -> None:
        """Save the instance's data, which takes its time: in a thread of its own."""
        thread = self._own.take(None)
        if thread is None:
            self._outbox.refuse(number, errno.EAGAIN, self._own.limit_words)
            return
        self._single.add(number)

        def dump(link: LeadLink) -> None:
            link.dump(payload["path"])
            self._outbox.put({"id": number, "payload": {}})

        def work(link: LeadLink) -> None:
            self._tried(number, lambda: dump(link))
            self._single.discard(number)
            self._own.give_back(thread)

        thread.post(work)

    def _stream(self, number: int, request: JSON) -> None:
        try:
            stream = ServedStream(request, self._outbox.put, lambda: self._ended(number))
        except (TypeError, ValueError) as error:
            self._outbox.refuse(number, errno.EPROTO, f"the request is malformed: {error}")
            return
        thread = self._main if request["topic"] == EVENTLOG else self._own.take(stream)
        if thread is None:
            self._outbox.refuse(number, errno.EAGAIN, self._own.limit_words)
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
        if found is not None and isinstance(found.thread, OwnThread):
            self._own.give_back(found.thread)

    def drained(self) -> None:
        """Read on: the outbox has room again."""
        self._main.wake()
        self._own.drained()

    def close(self) -> None:
        """End every request, and the threads."""
        with self._lock:
            self._gone = True
        threads = (self._main, *self._own.all())
        for each in threads:
            each.close()
        for each in threads:
            each.join(_CLOSE_SECONDS)


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
    problem = uid_problem(found["user"]) if "user" in found else ""
    if problem:
        raise LinesBroken(f"user: {problem}")  # never taken for a request without one, the owner's
    return found
