"""What an instance's queue demands, seen by whoever may speak to the instance, without its door.

The same numbers, by the same code, as the lead's door serves. The command line finds this by the entry point
group `minicluster.onlookers`, as it imports nothing from here.
"""

from __future__ import annotations

import contextlib
import errno
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from metrics_api.lead.groups import group_of
from metrics_api.lead.ledger import Ledger
from metrics_api.lead.sampler import Following, InstanceEndsError
from minicluster.flux_modules.door.errors import BrokerGone, Refused
from minicluster.instance.errors import InstanceGone, RequestRefused, WaitTimeout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from metrics_api.numbers.records import Sample
    from minicluster.flux_modules.door.link import JSON, Taker
    from minicluster.instance.port import Stream
    from minicluster.instance.transport import Transport

PATIENCE = 60.0
"""Seconds that reading the queue's history may take; 100,000 jobs take some 5 s."""


class Onlooker:
    """Follows an instance's jobs from its making until it is closed; belongs to one thread.

    Raises InstanceGone, and RequestRefused where the instance does not answer as one does.
    """

    def __init__(self, transport: Transport, minimum: int = 1) -> None:
        self._link = TransportLink(transport)
        self._minimum = minimum
        until = time.monotonic() + PATIENCE
        with _as_instance_errors():
            self._following = Following(self._link, Ledger(group_of))
            self._following.catch_up(lambda: time.monotonic() > until)
            if not self._following.ledger.ready:
                raise Refused(errno.ETIMEDOUT, f"its jobs were not all read within {PATIENCE:g} s")

    def samples(self) -> Sequence[Sample]:
        """Return what holds now, all news taken in."""
        with _as_instance_errors():
            self._following.dispatch(0.0)
            return self._following.sample(self._minimum, time.monotonic).samples

    def close(self) -> None:
        """Ask for no more; the transport stays."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def _as_instance_errors() -> Iterator[None]:
    """Turn the door's errors into those of whoever speaks to an instance."""
    try:
        yield
    except BrokerGone as error:
        raise InstanceGone(str(error)) from error
    except InstanceEndsError as error:
        raise InstanceGone("the instance ends") from error
    except Refused as error:
        raise RequestRefused("the job journal", error.errnum, error.text) from error


class TransportLink:
    """What a sample needs of a door's `Link` (`Asking`), over any way to an instance."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._answers: SimpleQueue[tuple[Taker, JSON | None, Exception | None]] = SimpleQueue()
        self._streams: list[Stream[Any]] = []

    def call(self, topic: str, payload: JSON, taker: Taker) -> int:
        """Ask for a stream of answers, which a thread of its own reads."""
        try:
            stream = self._transport.stream(topic, payload)
        except InstanceGone as error:
            raise BrokerGone(str(error)) from error
        self._streams.append(stream)
        threading.Thread(target=self._read, args=(stream, taker), daemon=True, name="onlooker").start()
        return len(self._streams)

    def _read(self, stream: Stream[Any], taker: Taker) -> None:
        end: Exception = Refused(errno.ENODATA, "it ended")
        try:
            for answer in stream:
                self._answers.put((taker, dict(answer), None))
        except RequestRefused as refusal:
            end = Refused(refusal.errnum, refusal.text)
        except InstanceGone as error:
            end = BrokerGone(str(error))
        self._answers.put((taker, None, end))

    def rpc(self, topic: str, payload: JSON, timeout: float) -> JSON:
        """Return the one answer."""
        try:
            return dict(self._transport.call(topic, payload, timeout=timeout))
        except RequestRefused as refusal:
            raise Refused(refusal.errnum, refusal.text) from refusal
        except WaitTimeout as late:
            raise Refused(errno.ETIMEDOUT, str(late)) from late
        except InstanceGone as error:
            raise BrokerGone(str(error)) from error

    def dispatch(self, timeout: float) -> None:
        """Wait for answers of streams, or for `timeout` seconds; hand out what came."""
        wait = timeout
        while True:
            try:
                taker, answer, end = self._answers.get(timeout=wait) if wait else self._answers.get_nowait()
            except Empty:
                return
            if isinstance(end, BrokerGone):
                raise end
            taker(answer, end if isinstance(end, Refused) else None)
            wait = 0.0

    def close(self) -> None:
        """End the streams."""
        for stream in self._streams:
            stream.close()
