"""The output that a job has now, as a whole and up to a size: for pages and /v1, which do not follow it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from restful.errors import HttpProblem
from restful.jobs.output.encoders import TextEncoder
from restful.jobs.output.endings import EndReason, FeedEnd
from restful.jobs.output.selection import ChunkSelection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from minicluster.instance.records import OutputChunk
    from restful.jobs.output.entries import FeedEntry
    from restful.jobs.output.followed import Followed
    from restful.jobs.output.streams import LiveStreams

READ_TIMEOUT = 20.0
"""Seconds for all of it."""


async def entries(streams: LiveStreams, job: Followed) -> AsyncIterator[FeedEntry[OutputChunk]]:
    """Yield the output that there is now. Raises HttpProblem "output-gone", "instance-away"."""
    deadline = asyncio.get_running_loop().time() + READ_TIMEOUT
    async with streams.hub.read(job.output_now, -1, job.owner) as reader:
        while True:
            batch = await reader.batch(deadline - asyncio.get_running_loop().time())
            if batch is None:
                break
            if not batch:
                raise HttpProblem("instance-away", f"the output did not come within {READ_TIMEOUT:g} s")
            for entry in batch:
                yield entry
    reason = reader.end.reason if reader.end is not None else EndReason.CLOSED
    if reason is EndReason.GONE:
        raise HttpProblem("output-gone")
    if reason not in {EndReason.READ, EndReason.ENDED}:
        raise HttpProblem("instance-away", headers={"Retry-After": "2"})


async def read(streams: LiveStreams, job: Followed, most: int) -> tuple[bytes, bool]:
    """Return the text of all tasks in UTF-8, and whether that is all of it: at most so many bytes.

    Raises HttpProblem as `entries`.
    """
    encoder, parts, size = TextEncoder(ChunkSelection()), [], 0
    async for entry in entries(streams, job):
        for part in encoder.entry(entry):
            parts.append(part)
            size += len(part)
        if size > most:
            text = b"".join(parts)[:most]
            return text.decode(errors="ignore").encode(), False
    parts.append(encoder.end(FeedEnd(EndReason.READ)))
    return b"".join(parts), True
