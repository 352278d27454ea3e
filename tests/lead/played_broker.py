"""A broker in memory, and links to it: requests come back, and streams give what a test pushes."""

from __future__ import annotations

import errno
import itertools
import queue
import threading
from typing import TYPE_CHECKING, Any

from minicluster.broker_link.errors import InstanceGone, RequestRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.link import Callback

JSON = dict[str, Any]


class PlayedBroker:
    """`entries` are those of every eventlog; other streams give what is pushed."""

    def __init__(self, engine: str = "embedded", entries: int = 0) -> None:
        self.engine = engine
        self.entries = entries
        self.links: list[PlayedLink] = []
        self.begun: list[str] = []
        """The topics of the streams, in their order."""
        self.users: list[int | None] = []
        """As whom each was asked for."""

    def connect(self) -> PlayedLink:
        self.links.append(PlayedLink(self))
        return self.links[-1]

    def push(self, item: JSON) -> None:
        """Send an item on every stream."""
        for link in self.links:
            link.post(lambda link=link: link.push(item))

    def gone(self) -> None:
        """End."""
        for link in self.links:
            link.post(link.fail)


class PlayedLink:
    """See `LeadLink`."""

    def __init__(self, broker: PlayedBroker) -> None:
        self.engine = broker.engine
        self._broker = broker
        self._numbers = itertools.count(1)
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.streams: dict[int, Callback] = {}
        self.thread = threading.get_ident()
        self.handed_out = 0
        self.is_closed = False

    def post(self, event: Callable[[], None]) -> None:
        self._events.put(event)

    def push(self, item: JSON) -> None:
        for callback in tuple(self.streams.values()):
            self.handed_out += 1
            callback(item, None)

    def fail(self) -> None:
        raise InstanceGone("the broker ended the connection")

    def request(self, topic: str, payload: JSON, callback: Callback, user: int | None = None) -> int:
        refusal = RequestRefused(topic, errno.EINVAL, "no") if payload.get("fails") else None
        answer = None if refusal else {"topic": topic, **payload, **({"user": user} if user else {})}
        self.post(lambda: callback(answer, refusal))
        return next(self._numbers)

    def request_submit(self, jobspec: JSON, urgency: int, flags: int, callback: Callback) -> int:
        return self.request("submit", {"jobspec": jobspec, "urgency": urgency, "flags": flags}, callback)

    def stream(self, topic: str, payload: JSON, callback: Callback, user: int | None = None) -> int:
        number = next(self._numbers)
        self._broker.begun.append(topic)
        self._broker.users.append(user)
        self.streams[number] = callback
        if topic == "job-info.eventlog-watch":
            for entry in range(self._broker.entries):
                self.post(lambda entry=entry: self._entry(number, {"event": f"{entry}\n", **payload}))
            self.post(lambda: self._end(number, topic))
        return number

    def _entry(self, number: int, item: JSON) -> None:
        callback = self.streams.get(number)
        if callback is not None:
            self.handed_out += 1
            callback(item, None)

    def _end(self, number: int, topic: str) -> None:
        callback = self.streams.pop(number, None)
        if callback is not None:
            callback(None, RequestRefused(topic, errno.ENODATA))

    def cancel(self, number: int) -> None:
        self.streams.pop(number, None)

    def dispatch(self, timeout: float | None) -> None:
        assert threading.get_ident() == self.thread, "a link is for one thread"
        self._events.get(timeout=timeout)()

    def wake(self) -> None:
        self.post(lambda: None)

    def close(self) -> None:
        self.is_closed = True
