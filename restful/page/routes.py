"""All routes of the page."""

from fastapi import APIRouter, Response

from restful.errors import HttpProblem
from restful.page import (
    account,
    device,
    job_form,
    job_list,
    job_output,
    job_page,
    job_ticks,
    login,
    nodes,
    provider_login,
    usage,
)
from restful.page.admin import routes as admin
from restful.page.page_route import PageRoute
from restful.page.responses import HEADERS
from restful.page.static_files import BY_PATH

router = APIRouter(include_in_schema=False)
_static = APIRouter(route_class=PageRoute, include_in_schema=False)


@_static.get("/static/{digest}/{name}")
async def static_file(digest: str, name: str) -> Response:
    """Return a style sheet, a script or the icon; its path changes with it."""
    file = BY_PATH.get(f"/static/{digest}/{name}")
    if file is None:
        raise HttpProblem("not-found", "there is no such file: load the page again")
    headers = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(file.content, headers=headers, media_type=file.media_type)


router.include_router(_static)
for each in (
    *(login, provider_login, job_list, job_ticks, job_form, job_page, job_output),
    *(nodes, usage, account, device, admin),
):
    router.include_router(each.router)
