"""What jobs have used, in node-hours: by day, for admins by user; and what quotas leave."""

from typing import Any

from fastapi import APIRouter, Request, Response

from restful.jobs.usage_report import EVERYBODY, UsageQuery
from restful.page import charts
from restful.page.browser_sessions import BrowserSession, LoggedIn
from restful.page.nodes import ClusterName
from restful.page.page_route import PageRoute
from restful.page.quota_rows import quota_rows
from restful.page.responses import TEMPLATES, page
from restful.routes.admission import services_of
from restful.routes.parameters import ActorQuery
from restful.routes.usage import day_text
from restful.services import Services
from restful.store import users
from restful.store.usage import DAY, Sum

router = APIRouter(route_class=PageRoute, include_in_schema=False)

PERIODS = (7, 30, 90)
"""Days that are offered."""
USUAL = 30
MAX_USERS = 200
"""Users on one page: those who used the most."""
TEMPLATES.filters["hours"] = charts.hours


@router.get("/usage")
async def usage(
    request: Request,
    session: LoggedIn,
    days: str = "",
    cluster: ClusterName = "",
    user: ActorQuery = "",
) -> Response:
    """Show it. `user` is a user's id, or * for everybody; without it, one's own."""
    services, principal = services_of(request), session.principal
    period = next((each for each in PERIODS if str(each) == days), USUAL)
    today = int(services.now() // DAY)
    span = (today - period + 1, today)
    whose = "" if user == principal.user else user
    found = await services.usage.sums(principal, UsageQuery("day", span, whose, cluster))
    by_day = {int(each.key): each for each in found}
    values = {
        "session": session,
        "here": "/usage",
        "period": period,
        "periods": PERIODS,
        "clusters": [each.name for each in await services.views.clusters(principal)],
        "cluster": cluster,
        "user": whose,
        "name": await _name(services, whose),
        "days": [_day(number, by_day.get(number)) for number in range(span[1], span[0] - 1, -1)],
        "total": sum(each.node_seconds for each in found) / 3600,
        "columns": charts.columns(
            [
                (day_text(number)[5:], by_day[number].node_seconds / 3600 if number in by_day else 0.0)
                for number in range(span[0], span[1] + 1)
            ]
        ),
        "base": charts.BASE,
        "users": await _by_user(services, session, span, cluster),
        "quotas": await quota_rows(services, principal) if not whose else [],
    }
    return page("usage.html", values)


def _day(number: int, found: Sum | None) -> dict[str, Any]:
    return {"day": day_text(number), **_hours(found)}


def _hours(found: Sum | None) -> dict[str, float]:
    nodes, cores = (found.node_seconds, found.core_seconds) if found is not None else (0.0, 0.0)
    return {"node_hours": nodes / 3600, "core_hours": cores / 3600}


async def _name(services: Services, user: str) -> str:
    """Return whose use it is, for the page's heading; empty for one's own."""
    if user in ("", EVERYBODY):
        return user and "everybody"
    async with services.database.read() as connection:
        return (await users.names(connection, [user])).get(user, user)


async def _by_user(
    services: Services, session: BrowserSession, span: tuple[int, int], cluster: str
) -> list[dict[str, Any]]:
    """Return the users who used the most; empty for those who may not see who there is."""
    principal = session.principal
    if not (principal.may("users:read") and principal.may("jobs:read:all")):
        return []
    found = await services.usage.sums(principal, UsageQuery("user", span, EVERYBODY, cluster))
    largest = sorted(found, key=lambda each: each.node_seconds, reverse=True)[:MAX_USERS]
    async with services.database.read() as connection:
        names = await users.names(connection, [str(each.key) for each in largest])
    whole = largest[0].node_seconds if largest else 0.0
    return [
        {
            "id": str(each.key),
            "name": names.get(str(each.key), str(each.key)),
            "fraction": charts.fraction(each.node_seconds, whole),
            **_hours(each),
        }
        for each in largest
    ]
