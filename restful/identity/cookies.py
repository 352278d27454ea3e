"""A browser's cookie, and whether a request comes from a page of ours. No I/O.

Over HTTPS the cookie is `__Host-mc`: browsers accept that name only with Secure, for this host alone.
Over HTTP on loopback it has the port in its name, as cookies do not know ports, and SameSite=Strict.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class CookiePolicy:
    """How the cookie is called, and where it goes."""

    origin: str
    """Of the page: scheme, host and port."""
    name: str
    secure: bool
    same_site: str

    @property
    def attempt(self) -> CookiePolicy:
        """The policy of a login under way at a provider: its page leads back here, so it is never Strict."""
        return replace(self, name=f"{self.name}-oidc", same_site="Lax")

    def header(self, value: str) -> str:
        """Return a Set-Cookie header; the session's end is the server's business, so it has no age."""
        secure = "Secure; " if self.secure else ""
        return f"{self.name}={value}; Path=/; HttpOnly; {secure}SameSite={self.same_site}"

    def removal(self) -> str:
        """Return the header that takes the cookie away."""
        return f"{self.header('')}; Max-Age=0"

    def value(self, header: str) -> str:
        """Return the value in a Cookie header; empty if it is not there, or there twice."""
        if header.count(f"{self.name}=") != 1:
            return ""
        try:
            found = SimpleCookie(header).get(self.name)
        except CookieError:
            return ""
        return found.value if found is not None else ""


def policy(issuer: str) -> CookiePolicy:
    """Return the policy of a service by the address where users reach it."""
    address = urlsplit(issuer)
    origin = f"{address.scheme}://{address.netloc}"
    if address.scheme == "https":
        return CookiePolicy(origin, "__Host-mc", secure=True, same_site="Lax")
    return CookiePolicy(origin, f"mc-{address.port or 80}", secure=False, same_site="Strict")


def same_origin(headers: Mapping[str, str], origin: str) -> bool:
    """Return whether a request with a cookie comes from a page of ours (OWASP, Fetch Metadata).

    What browsers state decides: Sec-Fetch-Site, or Origin where an old browser lacks it. Without either
    it is no request of a browser's script or form. A page with the policy `no-referrer` has the Origin
    "null" in its own forms as well (Fetch, section 3.2): there Sec-Fetch-Site alone decides.
    """
    site, stated = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site not in {"same-origin", "none"}:
        return False
    if stated == "null":
        return site == "same-origin"
    return stated is None or stated == origin


def csrf_matches(session: str, sent: str) -> bool:
    """Return whether a form has its session's token, in constant time."""
    return bool(session) and hmac.compare_digest(session.encode(), sent.encode())
