"""What the routes of live streams have in common: who may read, where a reader goes on, and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Header
from starlette.responses import Response

from restful.errors import MEDIA_TYPE as PROBLEM_TYPE
from restful.errors import PROBLEMS, HttpProblem
from restful.identity.principal import Principal
from restful.jobs.output.positions import AtEnd, position
from restful.jobs.output.responses import HEADERS, Form, Live, LiveResponse
from restful.routes.access import principal_of, requires

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from starlette.requests import Request

    from restful.jobs.output.responses import FeedReader
    from restful.jobs.output.streams import FollowServices

T = TypeVar("T")

SCOPE = "jobs:read"
READS = requires(SCOPE, stream=True)
JobReader = Annotated[Principal, Depends(READS)]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", description="As `after`; browsers send it when they connect again."),
]

_REFUSALS = {
    "malformed": "A parameter cannot be read.",
    "unauthenticated": "No token, or one that is not valid.",
    "forbidden": "The token may not read jobs.",
    "not-found": "There is no such job, or it is another user's.",
    "output-gone": "The instance is gone, and what it had of the job with it.",
    "invalid": "A parameter is not one of its values.",
    "too-many-requests": "Too many open streams of one user, or requests.",
    "instance-away": "The instance cannot be reached now, or too many streams are open.",
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    204: {"description": "The end was received before: a browser connects no more."},
    **{
        PROBLEMS[kind][0]: {"description": words, "content": {PROBLEM_TYPE: {}}}
        for kind, words in _REFUSALS.items()
    },
}
"""What every live stream may answer besides 200."""


def start_of(after: str | None, last_event_id: str | None) -> int | None:
    """Return the entry behind which to go on; None: the end was received. Raises HttpProblem."""
    try:
        return position(after, last_event_id)
    except AtEnd:
        return None


def live_response(
    request: Request,
    principal: Principal,
    what: tuple[str, ...],
    form: Form[T],
    follow: Callable[[], AbstractAsyncContextManager[FeedReader[T]]],
) -> Response:
    """Return what follows a cluster's jobs, or one of them: `what` is a name, and perhaps an id."""
    services: FollowServices = request.app.state.services
    if request.method == "HEAD":
        head = Response(headers=HEADERS, media_type=form.media_type)
        del head.headers["content-length"]  # as that of GET has none
        return head

    async def still_allowed() -> bool:
        """Ask again what was asked when the request came: token, user, scope, grant, and whose the job is."""
        try:
            await services.following.check(await principal_of(request, stream=True), *what)
        except HttpProblem as problem:
            if problem.status >= 500:
                raise
            return False
        return True

    live = Live(principal.user, follow, form, still_allowed, services.streams.limiter)
    return LiveResponse(live, services.streams.limits)
