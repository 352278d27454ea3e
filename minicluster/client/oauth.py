"""OAuth's grants: a device's code (RFC 8628), a password, a refresh token (RFC 6749), a link; their end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minicluster.client.connection import Call
from minicluster.client.errors import BadAnswer, LoginFailed, NotLoggedIn, ServerAway, ServiceRefused
from minicluster.client.logins import Login

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.client.connection import ServiceConnection

CLIENT = "minicluster"
"""The id of this program: it has no secret."""
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
LINK_GRANT = "urn:flux-framework.org:grant-type:login-link"
MIN_INTERVAL = 1.0
"""Seconds between two requests at least, whatever the service asks for."""
SLOWER = 5.0
"""Seconds that "slow_down", or a request without an answer, adds to the interval (RFC 8628, 3.5)."""
REFRESH_SECONDS = 8.0
"""In which a refresh token may be sent again: the service gives the same successor for 10 s."""


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """The codes of a login that waits for its user."""

    device_code: str = field(repr=False)
    user_code: str
    """What the user types at the page."""
    verification_uri: str
    verification_uri_complete: str
    """The page with the code in it; empty: there is none."""
    expires_in: float
    """Seconds."""
    interval: float
    """Seconds between two requests."""


def device_code(connection: ServiceConnection, scope: str = "") -> DeviceCode:
    """Begin a login. Raises LoginFailed for a scope that is not known."""
    form = {"client_id": CLIENT, **({"scope": scope} if scope else {})}
    try:
        found = connection.call(Call("POST", "/v2/oauth/device", form=form, repeatable=True))
    except ServiceRefused as error:
        raise LoginFailed(error.detail, error.type) from error
    try:
        return DeviceCode(
            device_code=_text(found["device_code"]),
            user_code=_text(found["user_code"]),
            verification_uri=_text(found["verification_uri"]),
            verification_uri_complete=_text(found.get("verification_uri_complete", "")),
            expires_in=float(found["expires_in"]),
            interval=float(found.get("interval", 5)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadAnswer(f"{connection.server} answers a login with no device code") from error


def approved(connection: ServiceConnection, code: DeviceCode) -> Login:
    """Wait until the user has approved a code, and return the login. Raises LoginFailed.

    The interval grows by more with each "slow_down" in a row: who missed one would be too early for ever.
    """
    timing, interval, slower = connection.timing, max(MIN_INTERVAL, code.interval), SLOWER
    end = timing.monotonic() + code.expires_in
    form = {"client_id": CLIENT, "grant_type": DEVICE_GRANT, "device_code": code.device_code}
    while timing.monotonic() + interval < end:
        timing.sleep(interval)
        try:
            return _login(connection, connection.call(Call("POST", "/v2/oauth/token", form=form)))
        except ServerAway:
            interval += SLOWER
        except ServiceRefused as error:
            if error.type == "slow_down" or error.status in {429, 502, 503, 504}:
                interval, slower = interval + slower, slower + SLOWER
            elif error.type == "authorization_pending":
                slower = SLOWER
            else:
                raise LoginFailed(_denial(error), error.type) from error
    raise LoginFailed("the code has expired before it was approved: log in again", "expired_token")


def refreshed(connection: ServiceConnection, login: Login) -> Login:
    """Return the login that follows one. Raises NotLoggedIn where the login has ended."""
    form = {"client_id": CLIENT, "grant_type": "refresh_token", "refresh_token": login.refresh_token}
    try:
        found = connection.call(Call("POST", "/v2/oauth/token", form=form, repeatable=True))
    except ServiceRefused as error:
        if error.type != "invalid_grant":
            raise
        raise NotLoggedIn(
            f"the login has ended ({error.detail}): `minicluster login --server {connection.server}`"
        ) from error
    return _login(connection, found, login)


def by_password(connection: ServiceConnection, name: str, password: str, scope: str = "") -> Login:
    """Log in by a name and a password. Raises LoginFailed."""
    form = {"grant_type": "password", "username": name, "password": password}
    return _granted(connection, {**form, **({"scope": scope} if scope else {})})


def by_link(connection: ServiceConnection, token: str) -> Login:
    """Log in by the token of a link, which is used up by that. Raises LoginFailed."""
    return _granted(connection, {"grant_type": LINK_GRANT, "token": token})


def _granted(connection: ServiceConnection, form: Mapping[str, str]) -> Login:
    """Return what a grant gives that is asked for once."""
    try:
        found = connection.call(Call("POST", "/v2/oauth/token", form={"client_id": CLIENT, **form}))
    except ServiceRefused as error:
        raise LoginFailed(error.detail, error.type) from error
    return _login(connection, found)


def revoke(connection: ServiceConnection, token: str) -> None:
    """End a refresh token with all that followed it, or a personal token."""
    form = {"client_id": CLIENT, "token": token}
    connection.call(Call("POST", "/v2/oauth/revoke", form=form, repeatable=True))


def _login(connection: ServiceConnection, found: Mapping[str, Any], before: Login | None = None) -> Login:
    try:
        refresh = _text(found.get("refresh_token") or (before.refresh_token if before else ""))
        expires = connection.timing.now() + float(found["expires_in"])
        return Login(_text(found["access_token"]), expires, refresh, connection.ca_file)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadAnswer(f"{connection.server} answers a login with no token") from error


def _denial(error: ServiceRefused) -> str:
    return {
        "access_denied": "the login was denied at the page",
        "expired_token": "the code has expired before it was approved: log in again",
    }.get(error.type, error.detail)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("is no text")
    return value
