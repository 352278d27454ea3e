"""Where a service listens, and whether that is allowed. Pure.

Passwords and tokens go over the connection. So plain HTTP is for this machine alone, or for a proxy that
speaks TLS with everybody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from restful.cli.errors import WrongOptions
from restful.front.origins import LOOPBACK, HostNames, is_loopback
from restful.front.proxies import networks

ANY = ("", "0.0.0.0", "::")  # noqa: S104 - they are refused, or need --url


@dataclass(frozen=True, slots=True)
class ServeEndpoint:
    """Where a service listens, and how it is reached there."""

    host: str = "127.0.0.1"
    port: int = 8080
    """0: a free one."""
    certificate: str = ""
    """A file with the chain, PEM; empty: plain HTTP."""
    key: str = ""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of the proxies in front."""
    url: str = ""
    """Where users reach it; empty: where it listens."""
    login: bool = True
    """Whether requests need one."""

    @property
    def loopback(self) -> bool:
        """Return whether this machine's own programs alone reach it."""
        return is_loopback(self.host)

    def address(self, port: int) -> str:
        """Return where users reach it, without a slash at the end; `port` is the one that it has."""
        if self.url:
            return self.url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{port}"

    @property
    def names(self) -> HostNames:
        """Return the names by which it is called."""
        own = {self.host.lower()} - set(ANY)
        stated = {urlsplit(self.url).hostname or ""} - {""}
        near = LOOPBACK if self.loopback or self.host in ANY else frozenset[str]()
        return HostNames(frozenset(own | stated | near))


def check(endpoint: ServeEndpoint) -> None:
    """Raise WrongOptions where a service may not listen so."""
    where = f"--listen {endpoint.host}:{endpoint.port}"
    if bool(endpoint.certificate) != bool(endpoint.key):
        raise WrongOptions("--tls-cert and --tls-key go together: give both, or neither")
    if not endpoint.login and (not endpoint.loopback or endpoint.proxies or endpoint.url):
        raise WrongOptions(
            f"--no-auth is for this machine alone, and {where} may be reached from others:"
            " leave out --no-auth, or --listen, --behind-proxy and --url"
        )
    if not endpoint.loopback and not endpoint.certificate and not endpoint.proxies:
        raise WrongOptions(
            f"{where} is reached from other machines, and passwords would go there unencrypted: give"
            " --tls-cert and --tls-key, or --behind-proxy with the address of a proxy that speaks TLS"
        )
    if endpoint.host in ANY and not endpoint.url:
        raise WrongOptions(f"{where} has no name: give --url, such as --url https://mc.example")
    if endpoint.url and not _is_good_url(endpoint.url):
        raise WrongOptions(
            f"--url {endpoint.url}: needed is https://HOST, perhaps with a port, without a path"
        )
    for proxy in endpoint.proxies:
        try:
            networks([proxy])
        except ValueError as error:
            raise WrongOptions(
                f"--behind-proxy {proxy}: needed is an address or a network, such as 10.0.0.7 or 10.0.0.0/8"
            ) from error


def _is_good_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if not parts.hostname or parts.path not in {"", "/"} or parts.query:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))
