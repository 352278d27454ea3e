"""Streams of records, made of the answers to a request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

    from minicluster.instance.port import Stream

JSON = Mapping[str, Any]
T = TypeVar("T")


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
