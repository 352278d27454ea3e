"""A job's output over /v1: the lines that there are, or text as it comes."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from minicluster.instance.records import OutputChunk
from restful.compat.answers import RESPONSES, CompatRoute, LateRefusals, json_answer
from restful.compat.jobs import cluster_of
from restful.compat.lines import STREAMS, OutputLines
from restful.errors import HttpProblem
from restful.identity.principal import Principal
from restful.jobs.output.encoders import TextEncoder
from restful.jobs.output.endings import EndReason
from restful.jobs.output.selection import ChunkSelection
from restful.jobs.output.streams import LiveStreams
from restful.routes.asker import asker
from restful.routes.live import live_response

router = APIRouter(route_class=CompatRoute, tags=["v1"], responses=RESPONSES)

ReadingUser = Annotated[Principal, Depends(asker("jobs:read"))]

MAX_BYTES = 8 << 20
"""Of output in one answer, which is in memory as a whole."""
READ_TIMEOUT = 20.0
"""Seconds for all of it."""
NO_OUTPUT = "The output does not exist yet, or the jobid is incorrect."
CUT = f"This is the beginning: the output has more than {MAX_BYTES >> 20} MiB. Ask for output/stream."


@router.get("/jobs/{jobid}/output", summary="A job's output so far")
async def output(request: Request, jobid: str, principal: ReadingUser) -> Response:
    """Return the lines of all tasks."""
    services, cluster = request.app.state.services, await cluster_of(request, principal)
    try:
        job = await services.following.followed(principal, cluster, jobid)
    except HttpProblem as problem:
        if problem.type != "not-found":
            raise
        return json_answer({"Message": NO_OUTPUT})
    lines, size = OutputLines(), 0
    found: list[str] = []
    with services.streams.limiter.one(principal.user):
        async for chunk in _chunks(services.streams, job):
            size += len(chunk.data)
            if size > MAX_BYTES:
                return json_answer({"Output": found, "Message": CUT})
            found += lines.add(chunk)
    found += lines.rest()
    return json_answer({"Output": found} if found else {"Message": NO_OUTPUT})


@router.get(
    "/jobs/{jobid}/output/stream",
    summary="A job's output as it comes",
    responses={200: {"description": "Up to the job's end.", "content": {"text/plain": {}}}},
)
async def stream(request: Request, jobid: str, principal: ReadingUser) -> Response:
    """Return the text of all tasks up to the job's end; a request that may not read it gets none of it."""
    services, cluster = request.app.state.services, await cluster_of(request, principal)
    job = await services.following.followed(principal, cluster, jobid)
    follow = partial(services.streams.hub.follow, ("output", job.key), job.output, -1)
    wanted = ChunkSelection(streams=frozenset(STREAMS))
    return LateRefusals(live_response(request, principal, (cluster, jobid), TextEncoder(wanted), follow))


async def _chunks(streams: LiveStreams, job: Any) -> AsyncIterator[OutputChunk]:
    """Yield the output that there is now. Raises HttpProblem where it cannot be had."""
    deadline = asyncio.get_running_loop().time() + READ_TIMEOUT
    async with streams.hub.read(job.output_now, -1) as reader:
        while True:
            batch = await reader.batch(deadline - asyncio.get_running_loop().time())
            if batch is None:
                break
            if not batch:
                raise HttpProblem("instance-away", f"the output did not come within {READ_TIMEOUT:g} s")
            for entry in batch:
                for chunk in entry.items:
                    yield chunk
    reason = reader.end.reason if reader.end is not None else EndReason.CLOSED
    if reason is EndReason.GONE:
        raise HttpProblem("output-gone")
    if reason not in {EndReason.READ, EndReason.ENDED}:
        raise HttpProblem("instance-away", headers={"Retry-After": "2"})
