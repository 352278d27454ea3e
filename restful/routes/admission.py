"""The rate that each user has, for every route and page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from restful.errors import HttpProblem

if TYPE_CHECKING:
    from starlette.requests import Request

    from restful.identity.principal import Principal
    from restful.services import Services


def services_of(request: Request) -> Services:
    """Return what the routes work with."""
    found: Services = request.app.state.services
    return found


def admit(services: Services, principal: Principal) -> None:
    """Count one request of a user. Raises HttpProblem "too-many-requests"."""
    decision = services.rates.take(principal.user, services.now())
    if decision.allowed:
        return
    limits = services.settings.requests
    raise HttpProblem(
        "too-many-requests",
        f"the limit is {limits.requests_per_second:g} requests a second, and {limits.burst} at once",
        headers={"Retry-After": str(max(1, math.ceil(decision.wait)))},
    )
