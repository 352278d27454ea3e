"""How much of an output is in one answer of /v1: lines count as what they take in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from minicluster.instance.records import OutputChunk
from restful.compat import output
from restful.jobs.output.entries import FeedEntry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CHUNK = 64 << 10


def answer(data: bytes, chunks: int) -> dict[str, Any]:
    """Return the answer for an output of some chunks that are the same."""

    async def entries() -> AsyncIterator[FeedEntry[OutputChunk]]:
        for number in range(chunks):
            yield FeedEntry(number, (OutputChunk(7, number, 0, "stdout", data, last=True),), len(data))

    return asyncio.run(output.answer_of(entries()))


def test_many_short_lines_are_cut() -> None:
    found = answer(b"a\n" * (CHUNK // 2), 128)
    assert found["Message"] == output.CUT
    assert 90_000 < len(found["Output"]) <= 130_000


def test_as_many_bytes_in_long_lines_are_not() -> None:
    found = answer(b"a" * (CHUNK - 65) + b"\n", 128)
    assert found == {"Output": ["a" * (CHUNK - 65) + "\n"] * 128}


def test_no_output_has_a_message() -> None:
    assert answer(b"", 1) == {"Message": output.NO_OUTPUT}
