"""What happens to one's own jobs, live: server-sent events."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response

from restful.jobs.output import sse
from restful.jobs.output.job_changes import ChangeEncoder, OwnChanges
from restful.jobs.output.positions import START
from restful.routes.live import RESPONSES, JobReader, LastEventId, live_response, start_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from restful.jobs.output.streams import FollowServices

router = APIRouter(prefix="/v2/clusters/{cluster}", tags=["output"])


@router.get(
    "/events",
    summary="Changes of your jobs",
    response_class=Response,
    responses={
        200: {
            "description": "An event for each job that has not ended, then one for each change.",
            "content": {sse.MEDIA_TYPE: {}},
        },
        **RESPONSES,
    },
)
@router.head("/events", include_in_schema=False)
async def job_changes(
    request: Request,
    principal: JobReader,
    cluster: str,
    after: Annotated[str | None, Query(description="The `id` received last.")] = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Return what happens to your jobs. Of each job the last event counts: some come twice after a break."""
    services: FollowServices = request.app.state.services
    start = start_of(after, last_event_id)
    found = await services.following.followed_cluster(principal, cluster)
    if start is None:
        return Response(status_code=204)
    streams, position = services.streams, found.position(start)

    @contextlib.asynccontextmanager
    async def follow() -> AsyncIterator[OwnChanges]:
        # What others follow too begins at the service's own time, never at one that a client names.
        if found.is_recent(position):
            key = ("changes", found.key)
            following = streams.hub.follow(key, found.changes, START, found.owner)
        else:
            following = streams.hub.read(found.changes, position, found.owner)
        async with following as reader:
            yield OwnChanges(reader, found.mine)

    form = ChangeEncoder(streams.limits.retry_delay)
    return live_response(request, principal, (cluster,), form, follow)
