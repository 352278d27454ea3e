"""The links to one broker that all threads of a program share."""

from __future__ import annotations

import contextlib
import errno
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self

from minicluster.broker_link.errors import InstanceGone, Refused, RequestRefused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from minicluster.broker_link.link import BrokerLink

JSON = Mapping[str, Any]


class Endpoint(Protocol):
    """The address of a broker, and how to connect to it."""

    @property
    def uri(self) -> str:
        """The broker's address."""

    @property
    def inherits_environment(self) -> bool:
        """Whether this process's environment and directories mean anything to the instance's jobs."""

    @property
    def user(self) -> int | None:
        """As whom its links ask; None: as who connects."""

    def link(self) -> BrokerLink:
        """Return a new link. Raises InstanceGone."""

    def close(self) -> None:
        """Close the connection that the links share."""


class SharedLinks:
    """A pool of links, made as they are needed and used again: each request has a link of its own.

    Every method may raise InstanceGone and RequestRefused, and may be called by any thread.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._closed = False
        self._streams: set[LinkStream] = set()
        self._idle: deque[BrokerLink] = deque()
        first = self.take()
        self.engine = first.engine
        self.give_back(first)

    @property
    def uri(self) -> str:
        """The broker's address."""
        return self._endpoint.uri

    @property
    def inherits_environment(self) -> bool:
        """Whether this process's environment and directories mean anything to the instance's jobs."""
        return self._endpoint.inherits_environment

    @property
    def user(self) -> int | None:
        """The uid as which every link asks; None: as who connects."""
        return self._endpoint.user

    def take(self) -> BrokerLink:
        """Return an idle link, or a new one, for the caller alone."""
        if self._closed:
            raise InstanceGone(f"{self.uri}: this connection was closed")
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        return self._endpoint.link()

    def give_back(self, link: BrokerLink) -> None:
        """Take back a link on which nothing is under way."""
        if self._closed:
            link.close()
        else:
            self._idle.append(link)

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[BrokerLink]:
        """Lend a link for the block."""
        link = self.take()
        try:
            yield link
        except Refused:  # the link is as good as before
            self.give_back(link)
            raise
        except BaseException:
            link.close()
            raise
        self.give_back(link)

    def rpc(self, topic: str, payload: JSON, timeout: float | None = None) -> JSON:
        """Return the one answer. Raises WaitTimeout after `timeout` seconds."""
        with self.borrowed() as link:
            return link.rpc(topic, dict(payload), timeout)

    call = rpc  # its name in release 0.1.0, for the queue clients of plug-ins

    def stream(self, topic: str, payload: JSON) -> LinkStream:
        """Send a streaming request."""
        stream = LinkStream(self, topic, payload)
        self._streams.add(stream)
        return stream

    def ended(self, stream: LinkStream) -> None:
        """Forget a stream."""
        self._streams.discard(stream)

    def submit(self, jobspec: JSON, urgency: int, flags: int) -> int:
        """Submit a jobspec and return the job's id."""
        with self.borrowed() as link:
            return link.submit(dict(jobspec), urgency, flags)

    def submit_many(self, jobs: Sequence[tuple[JSON, int, int]]) -> list[int | InstanceGone | RequestRefused]:
        """Submit jobspecs, each with its urgency and flags, without waiting for the answers in between.

        Return each one's id, or why it has none; InstanceGone: that is not known.
        """
        found: dict[int, int | InstanceGone | RequestRefused] = {}

        def take(number: int, answer: JSON | None, refusal: RequestRefused | None) -> None:
            found[number] = refusal or int((answer or {})["id"])

        try:
            with self.borrowed() as link:
                for number, (jobspec, urgency, flags) in enumerate(jobs):
                    try:
                        link.request_submit(dict(jobspec), urgency, flags, partial(take, number))
                    except RequestRefused as refusal:
                        found[number] = refusal
                while len(found) < len(jobs):
                    link.dispatch(None)
        except InstanceGone as error:
            return [found.get(number, error) for number in range(len(jobs))]
        return [found[number] for number in range(len(jobs))]

    def dump(self, path: str) -> None:
        """Save the instance's data to `path`."""
        with self.borrowed() as link:
            link.dump(path)

    def close(self) -> None:
        """Hang up; streams end."""
        self._closed = True
        for stream in tuple(self._streams):
            stream.close()
        while self._idle:
            self._idle.pop().close()
        self._endpoint.close()


class LinkStream:
    """The answers to one streaming request, on a link of its own, which is read only in `__next__`."""

    def __init__(self, links: SharedLinks, topic: str, payload: JSON) -> None:
        self._links = links
        self._arrived: deque[tuple[JSON | None, RequestRefused | None]] = deque()
        self._reading = threading.RLock()
        self._ended = False
        self._let_go = False
        self._link = links.take()
        try:
            self._link.stream(topic, dict(payload), lambda *answer: self._arrived.append(answer))
        except BaseException:
            self._link.close()
            raise

    def __iter__(self) -> Iterator[JSON]:
        return self

    def __next__(self) -> JSON:
        with self._reading:
            while not (self._arrived or self._ended):
                self._wait()
            if self._ended:
                raise StopIteration
            payload, refusal = self._arrived.popleft()
            if payload is not None:
                return payload
            self._end()
            self._let_go = True
            self._links.give_back(self._link)
        if refusal is None or refusal.errnum == errno.ENODATA:
            raise StopIteration
        raise refusal

    def _wait(self) -> None:
        try:
            self._link.dispatch(None)
        except (InstanceGone, OSError, ValueError):
            if self._ended:
                return  # a signal handler has closed it meanwhile, or the program all its links
            self._end()
            self._hang_up()
            raise

    def _end(self) -> None:
        self._ended = True
        self._links.ended(self)

    def close(self) -> None:
        """End the request; a reader that waits in another thread comes to its end."""
        if self._ended:
            return
        self._end()
        self._link.wake()
        with self._reading:
            self._hang_up()

    def _hang_up(self) -> None:
        if not self._let_go:
            self._let_go = True
            self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
