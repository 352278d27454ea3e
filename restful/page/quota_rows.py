"""What one's quotas allow, and what is used of them, as rows of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from restful.jobs.quota import hours
from restful.page import charts
from restful.routes.quotas import uses_of
from restful.store.groups import EVERY_CLUSTER

if TYPE_CHECKING:
    from restful.identity.principal import Principal
    from restful.jobs.quota import Use
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
    return [row for each in await uses_of(services, principal) for row in rows(each)]


def rows(found: QuotaUse) -> list[QuotaRow]:
    """Return one row for each limit of a quota."""
    quota, use = found
    limits = quota.limits
    days = f"{limits.window / 86_400:g}"
    at = "all clusters" if quota.cluster == EVERY_CLUSTER else quota.cluster
    origin = f"group {quota.group}" if quota.group else quota.origin
    node_seconds = use.spent + use.committed
    return [
        QuotaRow(what, at, origin, text, words(limit), charts.fraction(used, limit), used >= limit)
        for what, used, text, limit, words in (
            ("Jobs that have not ended", use.jobs, str(use.jobs), limits.jobs, str),
            ("Jobs that have not begun", use.queued, str(use.queued), limits.queued_jobs, str),
            ("Nodes of these jobs", use.nodes, str(use.nodes), limits.nodes, str),
            (
                f"Node-hours in {days} days, with what these jobs may use",
                node_seconds,
                _used(use),
                limits.node_seconds,
                hours,
            ),
        )
        if limit is not None
    ]


def _used(use: Use) -> str:
    """Return the node-hours that count, for people."""
    if math.isinf(use.committed):
        return f"{charts.hours(use.spent / 3600)}, and a job without a time limit has not ended"
    return charts.hours((use.spent + use.committed) / 3600)
