"""What one's quotas allow, and what is used of them, as rows of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from restful.jobs import reserved
from restful.page import charts
from restful.store.groups import EVERY_CLUSTER

if TYPE_CHECKING:
    from restful.identity.principal import Principal
    from restful.jobs.reserved import QuotaUse
    from restful.services import Services


class QuotaRow(NamedTuple):
    """One limit."""

    what: str
    cluster: str
    origin: str
    used: str
    limit: str
    fraction: str
    """How much of it is used, in percent."""
    full: bool


async def quota_rows(services: Services, principal: Principal) -> list[QuotaRow]:
    """Return the limits of somebody's jobs at all clusters that he may use."""
    there = [each.row for each in await services.access.usable(principal)]
    async with services.database.read() as connection:
        found = await reserved.uses(connection, principal.user, there, services.settings.jobs, services.now())
    return [row for each in found for row in rows(each)]


def rows(found: QuotaUse) -> list[QuotaRow]:
    """Return one row for each limit of a quota."""
    quota, use = found
    limits = quota.limits
    days = f"{limits.window / 86_400:g}"
    at = "all clusters" if quota.cluster == EVERY_CLUSTER else quota.cluster
    origin = f"group {quota.group}" if quota.group else quota.origin
    node_hours = None if limits.node_seconds is None else limits.node_seconds / 3600
    return [
        QuotaRow(what, at, origin, _amount(used), _amount(limit), charts.fraction(used, limit), used >= limit)
        for what, used, limit in (
            ("Jobs that have not ended", use.jobs, limits.jobs),
            ("Jobs that have not begun", use.queued, limits.queued_jobs),
            ("Nodes of these jobs", use.nodes, limits.nodes),
            (
                f"Node-hours in {days} days, with what these jobs may use",
                (use.spent + use.committed) / 3600,
                node_hours,
            ),
        )
        if limit is not None
    ]


def _amount(value: float) -> str:
    if math.isinf(value):
        return "no limit"
    return str(value) if isinstance(value, int) else charts.hours(value)
