"""All parts of a service over one state directory, put together."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.database import migrate, open_database
from restful.app import create_app
from restful.cli.kept_instance import connect
from restful.cli.login_providers import oidc_logins
from restful.clusters.spec import ENVIRONMENT, ClusterSpec
from restful.compat.routes import router as compat
from restful.front.front import Front
from restful.front.proxies import networks
from restful.identity import web_sessions
from restful.identity.identities import open_identities
from restful.identity.master_key import load_master_key
from restful.identity.scopes import GrantRole
from restful.identity.settings import IdentitySettings
from restful.jobs.jobspecs import Base
from restful.page.routes import router as page
from restful.services import Services, open_services
from restful.store import groups
from restful.store import users as user_rows
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from restful.store.schema import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI

    from minicluster.backends.port import Backend
    from restful.cli.endpoint import ServeEndpoint
    from restful.cli.login_providers import LoginProviders
    from restful.cli.state import StateDirectory
    from restful.identity.identities import Identities

_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ")
"""What jobs get of this process's environment: nothing that may be a secret."""
ROUTERS = (compat, page)


@dataclass(frozen=True, slots=True)
class ComposedService:
    """An application, and what its process has to know of it."""

    app: FastAPI
    services: Services
    identities: Identities
    link: str
    """The token that lets the first admin in, once; empty: there is an admin who has logged in."""


def spec_of(backend: Backend, name: str) -> ClusterSpec:
    """Return the cluster of a back end as the service has it."""
    theirs: Mapping[str, str] = backend.job_environment(name) or {}
    environment = {**ENVIRONMENT, **{key: theirs[key] for key in _PASSED_ON if key in theirs}}
    return ClusterSpec(
        name, lambda: connect(backend, name), base=Base(environment, environment.get("HOME", "/"))
    )


async def compose(
    directory: StateDirectory,
    endpoint: ServeEndpoint,
    port: int,
    specs: tuple[ClusterSpec, ...],
    providers: LoginProviders,
) -> ComposedService:
    """Return the service. Raises DatabaseError, MasterKeyError."""
    master = load_master_key(directory.master_key)
    await migrate(directory.database, SCHEMA)
    database = await open_database(directory.database, SCHEMA)
    settings = IdentitySettings(
        issuer=endpoint.address(port),
        no_auth=not endpoint.login,
        session_lifetime=providers.session_lifetime,
    )
    identities = open_identities(database, settings, time.time, master, providers.authenticators)
    services = open_services(
        database, master.derived("jobs"), identities.authority, identities,
        oidc=oidc_logins(providers.oidc, identities),
    )  # fmt: skip
    app = create_app(services, ROUTERS, specs)
    app.add_middleware(Front, names=endpoint.names, trusted=networks(endpoint.proxies))
    await _grant_everyone(identities)
    link = await web_sessions.first_admin_link(identities) or ""
    return ComposedService(app, services, identities, link)


async def _grant_everyone(identities: Identities) -> None:
    """Let every user use the clusters, where nobody has decided who may: an admin may take that back."""
    async with identities.change() as connection:
        if await groups.grants(connection) or await user_rows.admins(connection):
            return
        grant = GrantRecord(identities.new_id(), EVERY_CLUSTER, GrantRole.USE, identities.now())
        await groups.add_grant(connection, grant)
