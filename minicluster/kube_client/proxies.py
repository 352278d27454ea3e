"""Which proxy is between this machine and an API server."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from minicluster.kube_client.errors import AccessError


def of_environment(server: str) -> str | None:
    """Return the environment's proxy for a server; None: there is none for it."""
    return None if is_bypassed(server) else getproxies().get("https")


def is_bypassed(server: str) -> bool:
    """Whether the environment names a server as one without a proxy."""
    return bool(proxy_bypass(urlsplit(server).hostname or ""))


def usable(server: str, proxy: str | None) -> str | None:
    """Return a proxy if it can be used, or None for none. Raises AccessError."""
    scheme = urlsplit(proxy).scheme if proxy else "http"
    if scheme not in {"http", "https"}:
        raise AccessError(f"{server} is behind a proxy of the kind {scheme}: only http ones can be used")
    return proxy or None
