"""The application over a database, put together: the same on one machine, on Kubernetes and in benchmarks."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from restful.app import create_app
from restful.cli.login_providers import LoginProviders, oidc_logins
from restful.compat.routes import router as compat
from restful.front.front import Front
from restful.front.proxies import networks
from restful.identity.identities import ignore, open_identities
from restful.jobs.seal import Seal
from restful.page.routes import router as page
from restful.services import Services, open_services
from restful.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastapi import FastAPI

    from minicluster.database import Database
    from restful.clusters.spec import ClusterSpec
    from restful.front.origins import HostNames
    from restful.identity.identities import Identities
    from restful.identity.master_key import MasterKey
    from restful.identity.settings import IdentitySettings

_JOBS = "jobs"
"""What the keys of marks and cursors are derived for."""


ROUTERS = (compat, page)


@dataclass(frozen=True, slots=True)
class ApplicationSettings:
    """What one service has otherwise than another one."""

    identity: IdentitySettings
    names: HostNames
    """By which it is called."""
    proxies: Sequence[str] = ()
    """Addresses whose X-Forwarded-For is believed."""
    providers: LoginProviders = field(default_factory=LoginProviders)
    """They also decide how long sessions live."""
    limits: Settings = field(default_factory=Settings)
    specs: tuple[ClusterSpec, ...] = ()
    """The clusters that it serves from its start to its end."""
    logged_in: Callable[[str], None] = ignore
    """Called with what became of each login."""


@dataclass(frozen=True, slots=True)
class Application:
    """An application and what it works with."""

    app: FastAPI
    services: Services
    identities: Identities


def payer_key(master: MasterKey) -> str:
    """Return the public key by which a burst service verifies who pays for a job: no secret."""
    return Seal(master.derived(_JOBS)).payer_key


def application(database: Database, master: MasterKey, settings: ApplicationSettings) -> Application:
    """Return the application over an open database."""
    providers = settings.providers
    own = replace(settings.identity, session_lifetime=providers.session_lifetime)
    identities = open_identities(
        database, own, time.time, master, providers.authenticators, settings.logged_in
    )
    services = open_services(
        database, master.derived(_JOBS), identities.authority, identities, settings.limits,
        oidc=oidc_logins(providers.oidc, identities),
    )  # fmt: skip
    app = create_app(services, ROUTERS, settings.specs)
    app.add_middleware(Front, names=settings.names, trusted=networks(settings.proxies))
    return Application(app, services, identities)
