"""What the options of `login_options` stand for, loaded: an OpenID provider, and PAM."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from restful.cli.errors import ServeError
from restful.identity.settings import IdentitySettings

if TYPE_CHECKING:
    from restful.cli.login_options import LoginOptions
    from restful.identity.authenticators import PasswordAuthenticator
    from restful.identity.identities import Identities
    from restful.identity.oidc_logins import OidcLogins

CALLBACK = "/callback"
"""Where the page takes who comes back from a provider."""
MAX_SECRET_BYTES = 4096
PAM_FOLDER = Path("/etc/pam.d")


@dataclass(frozen=True, slots=True)
class OidcClient:
    """This service at an OpenID provider."""

    issuer: str
    id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LoginProviders:
    """Who else than this service lets users in, and for how long."""

    authenticators: tuple[PasswordAuthenticator, ...] = ()
    oidc: OidcClient | None = None
    session_lifetime: float = IdentitySettings().session_lifetime


def load(options: LoginOptions) -> LoginProviders:
    """Return what options name, before anything is started. Raises ServeError."""
    oidc = None
    if options.oidc_issuer:
        secret = client_secret(options.oidc_client_secret_file)
        oidc = OidcClient(options.oidc_issuer, options.oidc_client_id, secret)
    authenticators = _authenticators(options.pam, options.pam_allow)
    return LoginProviders(authenticators, oidc, options.session_lifetime)


def require_no_root(options: LoginOptions) -> None:
    """Raise ServeError where who logs in by PAM would be root, as all jobs are this process's user's."""
    if options.pam and os.geteuid() == 0:
        raise ServeError(
            "--pam as root: all jobs run as the user of this service, so each user who logs in would be root."
            " Start it as a user of its own, who is in the group shadow where passwords are in /etc/shadow"
        )


def _authenticators(service: str, allowed: tuple[str, ...]) -> tuple[PasswordAuthenticator, ...]:
    if not service:
        return ()
    if not (PAM_FOLDER / service).is_file():
        raise ServeError(f"--pam {service}: there is no file {PAM_FOLDER / service}")
    from restful.identity import pam  # noqa: PLC0415 - few have python-pam

    try:
        return (pam.authenticator(service, allowed),)
    except ImportError as error:
        raise ServeError(
            "--pam needs a package that is not installed (python-pam): `pip install '.[pam]'` in a checkout"
        ) from error


def oidc_logins(client: OidcClient | None, identities: Identities) -> OidcLogins | None:
    """Return the logins at a provider; None without one."""
    if client is None:
        return None
    from restful.identity.oidc import Provider  # noqa: PLC0415 - a service without a provider starts faster
    from restful.identity.oidc_logins import OidcLogins, http_client  # noqa: PLC0415

    redirect = f"{identities.settings.issuer}{CALLBACK}"
    provider = Provider(client.issuer, client.id, client.secret, redirect)
    return OidcLogins(identities, provider, http_client())


def client_secret(path: str) -> str:
    """Return the secret in a file, without the line's end behind it. Raises ServeError, which quotes none."""
    name = f"--oidc-client-secret-file {path}"
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
    except OSError as error:
        raise ServeError(f"{name}: {error.strerror}") from error
    try:
        secret = content.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ServeError(f"{name}: is no text") from error
    if not secret or len(content) > MAX_SECRET_BYTES or not secret.isprintable():
        raise ServeError(f"{name}: needed is one line with the secret, of {MAX_SECRET_BYTES} bytes at most")
    return secret
