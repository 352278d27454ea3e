"""Who else than this service lets users in: options of commands that serve, and whether they go together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from restful.identity.settings import DAY, IdentitySettings

if TYPE_CHECKING:
    from collections.abc import Sequence

OidcIssuerOption = Annotated[
    str, typer.Option("--oidc-issuer", metavar="URL", help="An OpenID provider by which users log in.")
]
OidcClientOption = Annotated[
    str, typer.Option("--oidc-client-id", metavar="ID", help="What this service is called there.")
]
OidcSecretOption = Annotated[
    str,
    typer.Option("--oidc-client-secret-file", metavar="FILE", help="The file of its client secret there."),
]
PamOption = Annotated[
    str,
    typer.Option("--pam", metavar="SERVICE", help="Users of this machine log in by a service of /etc/pam.d."),
]
PamAllowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pam-allow",
        metavar="USER|@GROUP",
        help="By PAM let in these only; may be repeated. Without it: people, but not this service's user.",
    ),
]
SessionLifetimeOption = Annotated[
    str,
    typer.Option(
        "--session-lifetime",
        metavar="FSD",
        help="After it a browser logs in again, however it was used, such as 12h.",
    ),
]
SESSION_LIFETIME = "7d"
"""As `IdentitySettings` has it."""
MIN_SESSION_SECONDS, MAX_SESSION_SECONDS = 900.0, 90 * DAY
_SERVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """Other ways to log in than this service's own passwords; empty: not that one."""

    oidc_issuer: str = ""
    """The provider's issuer, as its metadata state it."""
    oidc_client_id: str = ""
    oidc_client_secret_file: str = ""
    pam: str = ""
    """A service of PAM."""
    pam_allow: tuple[str, ...] = ()
    """Accounts, and groups as @GROUP, that may log in by it; none: all accounts of people."""
    session_lifetime: float = IdentitySettings().session_lifetime
    """Seconds after which a browser's session ends, however it is used."""

    @property
    def any(self) -> bool:
        """Return whether there is another way."""
        return bool(self.oidc_issuer or self.pam)


OWN_PASSWORDS = LoginOptions()
"""No other way."""


def given(
    texts: tuple[str, str, str, str], allowed: Sequence[str] | None, session_lifetime: str, *, login: bool
) -> LoginOptions:
    """Return the options of a command line, the first four as texts. Raises WrongOptions."""
    options = LoginOptions(*texts, tuple(allowed or ()), lifetime(session_lifetime))
    check(options, login=login)
    return options


def check(options: LoginOptions, *, login: bool) -> None:
    """Raise WrongOptions where options do not go together; `login` is whether requests need one at all."""
    from restful.cli.errors import WrongOptions  # noqa: PLC0415 - a command's help comes without it

    oidc = {
        "--oidc-issuer": options.oidc_issuer,
        "--oidc-client-id": options.oidc_client_id,
        "--oidc-client-secret-file": options.oidc_client_secret_file,
    }
    missing = [name for name, value in oidc.items() if not value]
    if missing and len(missing) < len(oidc):
        raise WrongOptions(f"{', '.join(oidc)} go together: give {' and '.join(missing)} as well")
    if options.oidc_issuer and not _is_issuer(options.oidc_issuer):
        raise WrongOptions(
            f"--oidc-issuer {options.oidc_issuer}: needed is https://HOST, perhaps with a path, as the"
            " provider's metadata have it"
        )
    if options.pam and not _SERVICE.fullmatch(options.pam):
        raise WrongOptions(f"--pam {options.pam}: needed is the name of a file in /etc/pam.d")
    _check_allowed(options)
    if not MIN_SESSION_SECONDS <= options.session_lifetime <= MAX_SESSION_SECONDS:
        raise WrongOptions(f"--session-lifetime {options.session_lifetime:g}s: needed is from 15m to 90d")
    if options.any and not login:
        raise WrongOptions("--no-auth needs no login: leave out --no-auth, or --oidc-issuer and --pam")


def lifetime(text: str) -> float:
    """Return the seconds of `--session-lifetime`. Raises WrongOptions."""
    from broker_config.formats import durations  # noqa: PLC0415 - as above
    from broker_config.formats.errors import DurationError  # noqa: PLC0415
    from restful.cli.errors import WrongOptions  # noqa: PLC0415

    try:
        return durations.given(text)
    except DurationError as error:
        raise WrongOptions(f"--session-lifetime {error}") from error


def _check_allowed(options: LoginOptions) -> None:
    from restful.cli.errors import WrongOptions  # noqa: PLC0415 - as above
    from restful.identity.pam_accounts import is_allowance  # noqa: PLC0415

    if options.pam_allow and not options.pam:
        raise WrongOptions("--pam-allow is about logins by PAM: give --pam as well")
    for each in options.pam_allow:
        if not is_allowance(each):
            raise WrongOptions(f"--pam-allow {each}: needed is the name of a user, or @ and that of a group")


def _is_issuer(url: str) -> bool:
    from restful.front.origins import is_loopback  # noqa: PLC0415 - as above

    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.query or parts.fragment or parts.username is not None:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
