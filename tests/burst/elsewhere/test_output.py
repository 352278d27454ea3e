"""Output by byte offsets: on from any byte, and again from any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from burst.elsewhere import output
from burst.elsewhere.output import OutputReader, PacedReader
from minicluster.instance.records import OutputChunk

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = {"stdout": "stdout", "stderr": "stderr"}


class Log:
    """A job's output, of which each read is counted."""

    def __init__(self, *entries: tuple[str, bytes]) -> None:
        self.entries = entries
        self.read: list[int] = []
        self.jobs = self

    def output(self, _job: int, *, after: int) -> Any:
        self.read.append(after)
        return _Stream(self._chunks(after))

    def _chunks(self, after: int) -> Iterator[OutputChunk]:
        for number, (stream, data) in enumerate(self.entries):
            if number > after:
                yield OutputChunk(1, number, 0, stream, data)


class _Stream:
    def __init__(self, chunks: Iterator[OutputChunk]) -> None:
        self._chunks = chunks

    def __enter__(self) -> Iterator[OutputChunk]:
        return self._chunks

    def __exit__(self, *_raised: object) -> None: ...


def read(reader: OutputReader, log: Any, received: dict[str, int]) -> list[tuple[str, int, bytes]]:
    return [tuple(each) for each in reader.read(log, 1, received)]


def test_it_begins_at_any_byte_and_goes_on() -> None:
    log, reader = (
        Log(("stdout", b"abc"), ("log", b"x"), ("stderr", b"E"), ("stdout", b"def")),
        OutputReader(NAMES),
    )
    assert read(reader, log, {"stdout": 1}) == [("stdout", 1, b"bcdef"), ("stderr", 0, b"E")]
    assert read(reader, log, {"stdout": 3, "stderr": 1}) == [("stdout", 3, b"def")]
    assert read(reader, log, {"stdout": 6, "stderr": 1}) == []
    assert log.read == [-1, -1, 2]


def test_a_spool_that_lost_something_gets_it_again() -> None:
    log, reader = Log(("stdout", b"abc"), ("stdout", b"def")), OutputReader(NAMES)
    assert read(reader, log, {"stdout": 6}) == []
    assert read(reader, log, {}) == [("stdout", 0, b"abcdef")]
    assert log.read == [-1, -1]


@given(
    st.lists(st.tuples(st.sampled_from(("stdout", "stderr")), st.binary(max_size=9)), max_size=12), st.data()
)
def test_whatever_is_taken_all_of_it_comes_once(
    entries: list[tuple[str, bytes]], data: st.DataObject
) -> None:
    log, reader, spool = Log(*entries), OutputReader(NAMES), {"stdout": b"", "stderr": b""}
    for _ in range(200):
        parts = reader.read(log, 1, {stream: len(has) for stream, has in spool.items()})  # type: ignore[arg-type]
        if not parts:
            break
        for part in parts:
            assert part.offset == len(spool[part.stream])
            taken = data.draw(st.integers(0, len(part.data)))
            spool[part.stream] += part.data[:taken]
            if taken < len(part.data):
                break
        if data.draw(st.integers(0, 9)) == 0:
            spool = {stream: has[: len(has) // 2] for stream, has in spool.items()}
    else:
        return  # it was never taken
    for stream, has in spool.items():
        assert has == b"".join(written for name, written in entries if name == stream)


def test_much_of_it_comes_in_parts() -> None:
    entries = [("stdout", bytes(10_000))] * 600
    parts = OutputReader(NAMES).read(Log(*entries), 1, {})  # type: ignore[arg-type]
    assert output.MAX_BYTES <= sum(len(each.data) for each in parts) < output.MAX_BYTES + 10_000
    assert max(len(each.data) for each in parts) == output.PART_BYTES


def test_output_that_takes_long_to_read_is_read_seldom() -> None:
    """But for the last of it, which nobody is to wait for."""
    times = iter((100.0, 102.0, 119.9, 120.0, 121.0, 122.0, 124.0))
    log, reader = Log(("stdout", b"abc")), PacedReader(OutputReader(NAMES), lambda: next(times))
    seen = [bool(reader.read(log, 1, {}, whole=whole)) for whole in (False, False, False, True)]  # type: ignore[arg-type]
    assert seen == [True, False, True, True]
    assert len(log.read) == 3
