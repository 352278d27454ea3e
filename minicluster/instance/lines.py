"""A broker spoken to in lines of JSON, through somebody beside it: a process here, or one in a far pod.

Who is at the other end, flux_helper.py or the embedded instance's relay, says what the lines are; a thread
here reads them and hands each to whoever waits for it.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import threading
from collections.abc import Generator, Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, Self

from minicluster.instance.errors import InstanceGone, RequestRefused, WaitTimeout

if TYPE_CHECKING:
    from types import TracebackType

JSON = Mapping[str, Any]

CREDIT = 256
"""Items of one stream on their way to a reader that has not asked for them yet."""
GRACE = 5.0
"""Seconds that the other end has for ending after this one hung up."""


class Channel(Protocol):
    """A pair of byte streams, to and from whoever is beside the broker."""

    def write(self, data: bytes) -> None:
        """Send. Raises OSError or ValueError where that is not possible any more."""

    def lines(self) -> Generator[bytes]:
        """Yield each line that comes, until the other end or `close` ends it."""

    def last_words(self) -> str:
        """Say how the other end ended, as a clause; waits until it has."""

    def close(self) -> None:
        """Hang up; harmless if repeated."""


class LinesTransport:
    """A transport over a channel; `shares_surroundings`: the other end is a process of this machine.

    Raises InstanceGone where the other end does not greet.
    """

    def __init__(self, uri: str, channel: Channel, *, shares_surroundings: bool = True) -> None:
        self.uri = uri
        self.shares_surroundings = shares_surroundings
        self._channel = channel
        self._numbers = itertools.count(1)
        self._waiting: dict[int, SimpleQueue[JSON]] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()  # one of its own: who answers may write to us before it reads on
        self._gone: str | None = None
        self._lines = channel.lines()
        self.engine = self._greeted()
        self._reader = threading.Thread(target=self._read, name="instance-lines", daemon=True)
        self._reader.start()

    def _greeted(self) -> str:
        """Return the engine that the greeting names."""
        line = next(self._lines, b"")
        greeting = _answer(line) if line else {"gone": self._channel.last_words()}
        if "gone" in greeting:
            self._lines.close()
            self._channel.close()
            raise InstanceGone(f"{self.uri}: {greeting['gone']}")
        return str(greeting["engine"])

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
        self._end(reason or self._channel.last_words())

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
        self._reader.join(GRACE)
        return InstanceGone(self._gone or f"{self.uri}: this connection was closed")

    def open(self, request: dict[str, Any]) -> tuple[int, SimpleQueue[JSON]]:
        """Send a request and return its number and the queue of its answers."""
        number, answers = next(self._numbers), SimpleQueue[JSON]()
        with self._lock:
            gone = self._gone is not None
            self._waiting[number] = answers
        if gone:
            raise self.gone()
        self.send({"id": number, **request})
        return number, answers

    def forget(self, number: int) -> None:
        """Drop whatever still comes for a request."""
        with self._lock:
            self._waiting.pop(number, None)

    def call(self, topic: str, payload: JSON, *, timeout: float | None = None) -> JSON:
        """Ask for one answer."""
        number, answers = self.open({"topic": topic, "payload": dict(payload)})
        try:
            answer = answers.get(timeout=timeout)
        except Empty:
            raise WaitTimeout(f"{topic}: no answer in {timeout:g} s") from None
        finally:
            self.forget(number)
        if "gone" in answer:
            raise self.gone()
        if "errnum" in answer:
            raise RequestRefused(topic, answer["errnum"], answer["errstr"])
        result: JSON = answer["payload"]
        return result

    def stream(self, topic: str, payload: JSON) -> LinesStream:
        """Ask for many answers."""
        return LinesStream(self, topic, payload)

    def submit(self, jobspec: JSON, urgency: int, flags: int) -> int:
        """Have the other end sign and submit a jobspec."""
        payload = {"jobspec": jobspec, "urgency": urgency, "flags": flags}
        return int(self.call("helper.submit", payload)["id"])

    def dump(self, path: str) -> None:
        """Save the instance's data, beside the broker."""
        self.call("helper.dump", {"path": path})

    def close(self) -> None:
        """Hang up; the instance goes on."""
        self._channel.close()
        self._reader.join()


class LinesStream:
    """The answers to one streaming request; at most CREDIT of them wait here for their reader."""

    def __init__(self, transport: LinesTransport, topic: str, payload: JSON) -> None:
        self._transport = transport
        self._topic = topic
        self._taken = 0
        self._ended = False
        request = {"topic": topic, "payload": dict(payload), "stream": True, "credit": CREDIT}
        self._number, self._answers = transport.open(request)

    def __iter__(self) -> Iterator[JSON]:
        return self

    def __next__(self) -> JSON:
        if self._ended:
            raise StopIteration
        answer = self._answers.get()
        if "payload" in answer:
            self._make_room()
            result: JSON = answer["payload"]
            return result
        self._finish()
        if "gone" in answer:
            raise self._transport.gone()
        if answer["errnum"] == errno.ENODATA:
            raise StopIteration
        raise RequestRefused(self._topic, answer["errnum"], answer["errstr"])

    def _make_room(self) -> None:
        self._taken += 1
        if self._taken >= CREDIT // 2:
            taken, self._taken = self._taken, 0
            with contextlib.suppress(InstanceGone):  # what came before the end is read first
                self._transport.send({"id": self._number, "credit": taken})

    def _finish(self) -> None:
        self._ended = True
        self._transport.forget(self._number)

    def close(self) -> None:
        """End the request; a reader that waits in another thread comes to its end."""
        if self._ended:
            return
        self._finish()
        with contextlib.suppress(InstanceGone):
            self._transport.send({"id": self._number, "cancel": True})
        self._answers.put({"errnum": errno.ENODATA})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _answer(line: bytes) -> JSON:
    """Return what a line says; one that is no JSON object is the end, and quoted."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        return {"gone": f"what answers there is no broker's helper: {line[:80].decode(errors='replace')!r}"}
    return found
