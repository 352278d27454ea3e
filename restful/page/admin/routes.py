"""All pages for admins."""

from fastapi import APIRouter, Response

from restful.page.admin import audit_log, clients, grants, groups, quotas, users
from restful.page.admin.access import ViewerHere
from restful.page.page_route import PageRoute
from restful.page.responses import see_other

router = APIRouter(include_in_schema=False)
_first = APIRouter(route_class=PageRoute, include_in_schema=False)


@_first.get("/admin")
async def first(_: ViewerHere) -> Response:
    """Show the users."""
    return see_other("/admin/users")


for each in (_first, *(part.router for part in (users, groups, grants, clients, quotas, audit_log))):
    router.include_router(each)
