"""The address of a service, and whether a token may go there. Pure."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, quote, urlsplit

from minicluster.client.errors import WrongServer

_PORTS = {"http": 80, "https": 443}


def server_of(text: str) -> str:
    """Return an address in one form: scheme, host in small letters, port where it is not the usual one, path.

    Raises WrongServer, also for one to which a token would go in the clear: plain http beyond loopback.
    """
    shown = repr(text if len(text) <= 80 else f"{text[:80]}…")
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError as error:
        raise WrongServer(f"{shown} is no address of a server: {error}") from error
    if parts.username is not None or parts.password is not None:
        raise WrongServer(
            "the address of the server has a user or a password in it: `minicluster login` asks"
        )
    if parts.scheme not in _PORTS or not parts.hostname or parts.query or parts.fragment:
        raise WrongServer(f"{shown} is no address of a server; right would be https://mc.example.org")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise WrongServer(
            f"{shown}: a token would be sent in the clear, for everyone on the way; use https://{parts.netloc}"
        )
    return _written(parts, port)


def _written(parts: SplitResult, port: int | None) -> str:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    number = "" if port in {None, _PORTS[parts.scheme]} else f":{port}"
    return f"{parts.scheme}://{host}{number}{parts.path.rstrip('/')}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name or its address."""
    if host.lower() in {"localhost", "localhost."}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_plain(server: str) -> bool:
    """Whether a server is spoken to without TLS."""
    return server.startswith("http:")


def path(*segments: str) -> str:
    """Return the path of these segments, each quoted as a whole (RFC 3986)."""
    return "".join(f"/{quote(each, safe='')}" for each in segments)
