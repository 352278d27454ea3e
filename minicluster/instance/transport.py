"""How an adapter speaks to its broker: requests by topic, answers as JSON objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

    from minicluster.instance.port import Stream

JSON = Mapping[str, Any]
T = TypeVar("T")


class Transport(Protocol):
    """One connection to a broker. Every method may raise InstanceGone and RequestRefused."""

    @property
    def engine(self) -> str:
        """Either "flux" or "embedded"."""

    @property
    def uri(self) -> str:
        """The broker's address."""

    @property
    def shares_surroundings(self) -> bool:
        """Whether this process's environment and directories mean anything to the instance's jobs."""

    def call(self, topic: str, payload: JSON, *, timeout: float | None = None) -> JSON:
        """Ask for one answer. Raises WaitTimeout after `timeout` seconds."""

    def stream(self, topic: str, payload: JSON) -> Stream[JSON]:
        """Ask for many answers."""

    def submit(self, jobspec: JSON, urgency: int, flags: int) -> int:
        """Submit a jobspec and return the job's id."""

    def dump(self, path: str) -> None:
        """Save the instance's data to `path`."""

    def close(self) -> None:
        """Hang up."""


class Decoded(Generic[T]):
    """A stream of records made from a stream of payloads; each payload gives none, one or many."""

    def __init__(self, source: Stream[JSON], decode: Callable[[JSON], Iterable[T]]) -> None:
        self._source = source
        self._decode = decode
        self._ready: Iterator[T] = iter(())

    def prepend(self, records: Iterable[T]) -> None:
        """Give these first."""
        self._ready = iter(records)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while True:
            for record in self._ready:
                return record
            self._ready = iter(self._decode(next(self._source)))

    def close(self) -> None:
        """End the request."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Collected(Decoded[T]):
    """A stream of records that are all there already."""

    def __init__(self, records: Iterable[T]) -> None:
        super().__init__(_Nothing(), lambda _payload: ())
        self.prepend(records)


class _Nothing:
    """A stream at its end."""

    def __iter__(self) -> Iterator[JSON]:
        return self

    def __next__(self) -> JSON:
        raise StopIteration

    def close(self) -> None:
        """Nothing is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
