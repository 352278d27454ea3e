"""Who asks, within the rate that each user has."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fastapi import Depends
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations

from restful.errors import HttpProblem
from restful.routes.access import requires

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

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
    wait = max(1, -int(-decision.wait // 1))
    raise HttpProblem(
        "too-many-requests",
        f"the limit is {limits.requests_per_second:g} requests a second, and {limits.burst} at once",
        headers={"Retry-After": str(wait)},
    )


@cache
def asker(scope: str) -> Callable[..., Awaitable[Principal]]:
    """Return the dependency that gives who asks; it raises what `requires` and `admit` raise."""
    shown = Depends(requires(scope))

    async def limited(request: Request, principal: Principal = shown) -> Principal:
        admit(services_of(request), principal)
        return principal

    return limited
