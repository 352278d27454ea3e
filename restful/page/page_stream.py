"""An answer of a page that goes on while something is followed, as long as its reader may read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from restful.errors import HttpProblem
from restful.jobs.output.responses import Live, LiveResponse
from restful.page.browser_sessions import BrowserSession, identify
from restful.page.page_route import LoginNeeded
from restful.routes.admission import services_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from starlette.requests import Request

    from restful.jobs.output.responses import FeedReader, Form

T = TypeVar("T")


def stream(
    request: Request,
    session: BrowserSession,
    form: Form[T],
    follow: Callable[[], AbstractAsyncContextManager[FeedReader[T]]],
    check: Callable[[BrowserSession], Awaitable[object]],
) -> LiveResponse[T]:
    """Return the answer; `check` raises HttpProblem where somebody may not read it any more."""

    async def still_allowed() -> bool:
        try:
            again = await identify(request)
            await check(again)
        except LoginNeeded:
            return False
        except HttpProblem as problem:
            if problem.status >= 500:
                raise
            return False
        return again.principal.user == session.principal.user

    streams = services_of(request).streams
    live = Live(session.principal.user, follow, form, still_allowed, streams.limiter)
    return LiveResponse(live, streams.limits)
