"""What outlives its request, as tokens, passwords, roles and logins of devices: only a login makes it.

A personal token, or a service account's secret, is lost some day, and revoked. What it had made would go on.
And what is made while a service needs no login would be good when it needs one again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from restful.errors import HttpProblem

if TYPE_CHECKING:
    from restful.identity.principal import Principal

_WHO = {
    "pat": "A personal token",
    "client": "A service account",
    "loopback": "A request without a login",
}


def require_login(principal: Principal, act: str) -> None:
    """Raise the problem `forbidden` unless a user has logged in; `act` is what the request asks for."""
    if not principal.logged_in:
        raise HttpProblem("forbidden", f"{_WHO.get(principal.kind, 'This')} may not {act}: log in.")
