"""What a job's tasks have written, as text: to be read, or saved as a file."""

from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from broker_config.formats.jobid import f58plain
from restful.jobs.output import text_now
from restful.jobs.output.encoders import TextEncoder
from restful.jobs.output.positions import START
from restful.jobs.output.selection import ChunkSelection
from restful.page.browser_sessions import BrowserSession, LoggedIn
from restful.page.page_route import PageRoute
from restful.page.page_stream import stream
from restful.page.responses import HEADERS
from restful.routes.admission import services_of

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MAX_BYTES = 8 << 20
"""Of output on one page, which is in memory as a whole."""
CUT = f"\n[This is the beginning: the output has more than {MAX_BYTES >> 20} MiB. Save it to have all.]\n"


@router.get("/jobs/{cluster}/{jobid}/output")
async def output(request: Request, cluster: str, jobid: str, session: LoggedIn) -> Response:
    """Return the output so far, to be read."""
    services = services_of(request)
    job = await services.following.followed(session.principal, cluster, jobid)
    with services.streams.limiter.one(session.principal.user):
        text, whole = await text_now.read(services.streams, job, MAX_BYTES)
    text += b"" if whole else CUT.encode()
    return Response(text, headers=HEADERS, media_type="text/plain; charset=utf-8")


@router.get("/jobs/{cluster}/{jobid}/output/file")
async def output_file(request: Request, cluster: str, jobid: str, session: LoggedIn) -> Response:
    """Return the output so far as a file, of any length."""
    services = services_of(request)
    job = await services.following.followed(session.principal, cluster, jobid)

    async def check(again: BrowserSession) -> None:
        await services.following.check(again.principal, cluster, jobid)

    follow = partial(services.streams.hub.read, job.output_now, START, job.owner)
    found = stream(request, session, TextEncoder(ChunkSelection()), follow, check)
    found.headers["Content-Disposition"] = f'attachment; filename="{f58plain(job.jobid)}.txt"'
    return found
