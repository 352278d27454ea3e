"""A job's output over /v1: the lines that there are, or text as it comes."""

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
from restful.jobs.output import text_now
from restful.jobs.output.encoders import TextEncoder
from restful.jobs.output.entries import FeedEntry
from restful.jobs.output.selection import ChunkSelection
from restful.routes.access import requires
from restful.routes.live import live_response

router = APIRouter(route_class=CompatRoute, tags=["v1"], responses=RESPONSES)

ReadingUser = Annotated[Principal, Depends(requires("jobs:read"))]

MAX_BYTES = 8 << 20
"""Of output in one answer, which is in memory as a whole."""
LINE_BYTES = 64
"""That a line takes besides its data: four million lines are no 8 MiB."""
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
    with services.streams.limiter.one(principal.user):
        return json_answer(await answer_of(text_now.entries(services.streams, job)))


async def answer_of(entries: AsyncIterator[FeedEntry[OutputChunk]]) -> dict[str, Any]:
    """Return the lines of an output, up to the limit."""
    lines, size = OutputLines(), 0
    found: list[str] = []
    async for entry in entries:
        for chunk in entry.items:
            size += len(chunk.data) + LINE_BYTES * chunk.data.count(b"\n")
            if size > MAX_BYTES:
                return {"Output": found, "Message": CUT}
            found += lines.add(chunk)
    found += lines.rest()
    return {"Output": found} if found else {"Message": NO_OUTPUT}


@router.get(
    "/jobs/{jobid}/output/stream",
    summary="A job's output as it comes",
    responses={200: {"description": "Up to the job's end.", "content": {"text/plain": {}}}},
)
async def stream(request: Request, jobid: str, principal: ReadingUser) -> Response:
    """Return the text of all tasks up to the job's end; a request that may not read it gets none of it."""
    services, cluster = request.app.state.services, await cluster_of(request, principal)
    job = await services.following.followed(principal, cluster, jobid)
    follow = partial(services.streams.hub.follow, ("output", job.key), job.output, -1, job.owner)
    wanted = ChunkSelection(streams=frozenset(STREAMS))
    return LateRefusals(live_response(request, principal, (cluster, jobid), TextEncoder(wanted), follow))
