"""Links to a broker in lines of JSON, through a process beside it, on this machine or in a far pod.

That process is `flux_helper`, the embedded instance's relay, or the lead's server; `lines_server` describes
the lines. A thread here reads them and passes each to the link that waits for it.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from minicluster.broker_link.errors import InstanceGone, RequestRefused, WaitTimeout, refusal_of
from minicluster.broker_link.users import ONE_USER

if TYPE_CHECKING:
    from collections.abc import Generator

    from minicluster.broker_link.link import Callback

JSON = dict[str, Any]

SUBMIT = "helper.submit"
CREDIT = 256
"""Items of one stream that may be sent before its reader takes them."""
STOP_TIMEOUT = 5.0
"""Seconds in which the other end must end after this one hung up."""


TOO_OLD = "what answers beside its broker is of a release without users, and would ask as the owner"


class Channel(Protocol):
    """A pair of byte streams, to and from the process beside the broker."""

    def write(self, data: bytes) -> None:
        """Send. Raises OSError or ValueError where that is not possible any more."""

    def lines(self) -> Generator[bytes]:
        """Yield each line that comes, until the other end or `close` ends it."""

    def how_ended(self) -> str:
        """Wait until the other end has ended, and return how, as a clause."""

    def close(self) -> None:
        """Hang up; does nothing if repeated."""


class LinesEndpoint:
    """A channel that many links share. `inherits_environment`: its other end is a process of this machine.

    Raises InstanceGone where the other end does not greet.
    """

    user: int | None = None

    def __init__(self, uri: str, channel: Channel, *, inherits_environment: bool = True) -> None:
        self.uri = uri
        self.inherits_environment = inherits_environment
        self._channel = channel
        self._numbers = itertools.count(1)
        self._waiting: dict[int, SimpleQueue[JSON]] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()  # one of its own: the other end may write before it reads on
        self._gone: str | None = None
        self._lines = channel.lines()
        greeting = self._greeted()
        self.engine = str(greeting["engine"])
        self.no_users = "" if greeting.get("users") is True else _why_no_users(self.engine)
        self._reader = threading.Thread(target=self._read, name="instance-lines", daemon=True)
        self._reader.start()

    def _greeted(self) -> JSON:
        """Return the greeting, which names the engine."""
        line = next(self._lines, b"")
        greeting = _answer(line) if line else {"gone": self._channel.how_ended()}
        if "gone" in greeting:
            self._lines.close()
            self._channel.close()
            raise InstanceGone(f"{self.uri}: {greeting['gone']}")
        return greeting

    def _read(self) -> None:
        reason = ""
        for line in self._lines:
            answer = _answer(line)
            reason = answer.get("gone", reason)
            with self._lock:
                waiting = self._waiting.get(answer.get("id", 0))
            if waiting is not None:
                waiting.put(answer)
            if reason:
                break
        self._lines.close()
        self._end(reason or self._channel.how_ended())

    def _end(self, reason: str) -> None:
        with self._lock:
            self._gone = self._gone or f"{self.uri}: {reason}"
            waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            each.put({"gone": True})

    def send(self, request: JSON) -> None:
        """Write one line. Raises InstanceGone."""
        data = json.dumps(request).encode("ascii") + b"\n"
        try:
            with self._writing:
                self._channel.write(data)
        except (OSError, ValueError) as error:
            raise self.gone() from error

    def gone(self) -> InstanceGone:
        """Return the error to raise once the other end or its broker ended."""
        self._reader.join(STOP_TIMEOUT)
        return InstanceGone(self._gone or f"{self.uri}: this connection was closed")

    def open(self, request: JSON, answers: SimpleQueue[JSON]) -> int:
        """Send a request and return its number, which its answers have; they come into the queue."""
        number = next(self._numbers)
        with self._lock:
            gone = self._gone is not None
            self._waiting[number] = answers
        if gone:
            raise self.gone()
        self.send({"id": number, **request})
        return number

    def forget(self, number: int) -> None:
        """Drop the answers that still come for a request."""
        with self._lock:
            self._waiting.pop(number, None)

    def link(self) -> LinesLink:
        """Return a new link."""
        return LinesLink(self)

    def close(self) -> None:
        """Hang up; the instance goes on."""
        self._channel.close()
        self._reader.join()


class _Request(NamedTuple):
    """One that is under way; `streaming`: it may have many answers."""

    topic: str
    callback: Callback
    streaming: bool


class LinesLink:
    """A link over a channel that others use too. At most CREDIT answers of a stream wait here."""

    def __init__(self, endpoint: LinesEndpoint) -> None:
        self.engine = endpoint.engine
        self._endpoint = endpoint
        self._requests: dict[int, _Request] = {}
        self._answers: SimpleQueue[JSON] = SimpleQueue()
        self._taken: dict[int, int] = {}  # of streams, since room was made for more
        self._gone = False

    def rpc(self, topic: str, payload: JSON, timeout: float | None = None, user: int | None = None) -> JSON:
        """Return the one answer."""
        found: list[tuple[JSON | None, RequestRefused | None]] = []
        request = _Request(topic, lambda *answer: found.append(answer), streaming=False)
        number = self._open(request, {"topic": topic, "payload": payload}, user)
        end = None if timeout is None else time.monotonic() + timeout
        while not found:
            left = None if end is None else max(0.0, end - time.monotonic())
            self.dispatch(left)
            if not (found or left):
                self._finish(number)
                raise WaitTimeout(f"{topic}: no answer in {timeout:g} s")
        answer, refusal = found[0]
        if refusal is not None:
            raise refusal
        return answer or {}

    def stream(self, topic: str, payload: JSON, callback: Callback, user: int | None = None) -> int:
        """Ask for a stream of answers."""
        request = {"topic": topic, "payload": payload, "stream": True, "credit": CREDIT}
        return self._open(_Request(topic, callback, streaming=True), request, user)

    def _open(self, request: _Request, line: JSON, user: int | None) -> int:
        if user is not None:
            if self._endpoint.no_users:
                raise refusal_of(request.topic, errno.EPERM, self._endpoint.no_users)
            line = {**line, "user": user}
        number = self._endpoint.open(line, self._answers)
        self._requests[number] = request
        return number

    def _finish(self, number: int) -> _Request | None:
        self._endpoint.forget(number)
        self._taken.pop(number, None)
        return self._requests.pop(number, None)

    def cancel(self, number: int) -> None:
        """Ask for no more of a stream."""
        request = self._finish(number)
        if request is not None and request.streaming:
            with contextlib.suppress(InstanceGone):
                self._endpoint.send({"id": number, "cancel": True})

    def dispatch(self, timeout: float | None) -> None:
        """Wait for answers, for `wake`, or for `timeout` seconds; answers before the end are read first."""
        handed_out = not self._gone and self._hand_out(timeout)
        if self._gone and not handed_out:
            raise self._endpoint.gone()

    def _hand_out(self, timeout: float | None) -> bool:
        found = False
        with contextlib.suppress(Empty):
            found = self._take(self._answers.get(timeout=timeout))
            for _ in range(self._answers.qsize()):
                found = self._take(self._answers.get_nowait()) or found
        return found

    def _take(self, answer: JSON) -> bool:
        """Pass one answer to the callback of its request; False where there is no such request."""
        self._gone = self._gone or "gone" in answer
        number = answer.get("id", 0)
        request = self._requests.get(number)
        if request is None:
            return False  # the end, a call to wake up, or cancelled meanwhile
        if "errnum" in answer:
            self._finish(number)
            request.callback(None, refusal_of(request.topic, answer["errnum"], answer["errstr"]))
            return True
        if request.streaming:
            self._taken[number] = _made_room(self._endpoint, number, self._taken.get(number, 0) + 1)
        else:
            self._finish(number)
        request.callback(answer["payload"], None)
        return True

    def wake(self) -> None:
        """Have `dispatch` return."""
        self._answers.put({})

    def user_refusal(self, uid: int) -> str:
        """Ask the other end why no request can be of that user."""
        return self._endpoint.no_users or str(self.rpc("helper.check-user", {"user": uid})["refusal"])

    def submit(self, jobspec: JSON, urgency: int, flags: int = 0, timeout: float | None = None) -> int:
        """Have the other end sign a jobspec and submit it."""
        return int(self.rpc(SUBMIT, _submission(jobspec, urgency, flags), timeout)["id"])

    def request_submit(self, jobspec: JSON, urgency: int, flags: int, callback: Callback) -> int:
        """Have the other end sign a jobspec and submit it; `callback` gets the answer."""
        line = {"topic": SUBMIT, "payload": _submission(jobspec, urgency, flags)}
        return self._open(_Request(SUBMIT, callback, streaming=False), line, None)

    def dump(self, path: str) -> None:
        """Save the instance's data, beside the broker."""
        self.rpc("helper.dump", {"path": path})

    def close(self) -> None:
        """End what is under way; the channel stays."""
        for number in tuple(self._requests):
            self.cancel(number)


def _made_room(endpoint: LinesEndpoint, number: int, taken: int) -> int:
    """Let the other end send more of a stream once enough was taken; return how much is taken since."""
    if taken < CREDIT // 2:
        return taken
    with contextlib.suppress(InstanceGone):  # what came before the end is read first
        endpoint.send({"id": number, "credit": taken})
    return 0


def _submission(jobspec: JSON, urgency: int, flags: int) -> JSON:
    return {"jobspec": jobspec, "urgency": urgency, "flags": flags}


def _why_no_users(engine: str) -> str:
    return ONE_USER if engine == "embedded" else TOO_OLD


def _answer(line: bytes) -> JSON:
    """Return the message in a line; a line that is no JSON object counts as the end, and is quoted."""
    try:
        found = json.loads(line)
    except (RecursionError, ValueError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("id", 0), int):
        return {"gone": f"what answers there is no broker's helper: {line[:80].decode(errors='replace')!r}"}
    return found
