"""All routes of the page."""

from fastapi import APIRouter, Response

from restful.page import account, device, home, jobs, login
from restful.page.page_route import PageRoute
from restful.page.responses import HEADERS, STYLE, STYLE_PATH

router = APIRouter(include_in_schema=False)
_static = APIRouter(route_class=PageRoute, include_in_schema=False)


@_static.get(STYLE_PATH)
async def style() -> Response:
    """Return the style sheet; its path changes with it."""
    headers = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(STYLE, headers=headers, media_type="text/css")


for each in (_static, login.router, home.router, account.router, jobs.router, device.router):
    router.include_router(each)
