"""All parts of a service over one state directory, put together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.backends.errors import BackendError
from minicluster.backends.kept_instance import connect
from minicluster.database import migrate, open_database
from minicluster.instance.errors import InstanceError
from restful.cli.application import ApplicationSettings, application, payer_key
from restful.clusters.spec import ENVIRONMENT, ClusterSpec
from restful.identity import web_sessions
from restful.identity.master_key import load_master_key
from restful.identity.scopes import GrantRole
from restful.identity.settings import IdentitySettings
from restful.jobs.jobspecs import Base
from restful.store import groups
from restful.store import users as user_rows
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from restful.store.schema import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI

    from minicluster.backends.port import Backend
    from minicluster.instance.records import BurstSummary
    from restful.cli.endpoint import ServeEndpoint
    from restful.cli.login_providers import LoginProviders
    from restful.cli.state import StateDirectory
    from restful.identity.identities import Identities
    from restful.services import Services

_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ")
"""What jobs get of this process's environment: nothing that may be a secret."""


@dataclass(frozen=True, slots=True)
class ComposedService:
    """An application, and what its process has to know of it."""

    app: FastAPI
    services: Services
    identities: Identities
    link: str
    """The token that lets the first admin in, once; empty: an admin can log in, or nobody has to."""
    directory: str
    """Where jobs run that name no directory."""


def spec_of(backend: Backend, name: str) -> ClusterSpec:
    """Return the cluster of a back end as the service has it."""
    theirs: Mapping[str, str] = backend.job_environment(name) or {}
    environment = {**ENVIRONMENT, **{key: theirs[key] for key in _PASSED_ON if key in theirs}}
    base = Base(environment, jobs_directory(environment))

    def bursts() -> Sequence[BurstSummary]:
        try:
            return backend.watch(name, lambda _, watched: watched.sample().bursts)
        except (BackendError, InstanceError):
            return ()

    return ClusterSpec(name, lambda: connect(backend, name), base=base, bursts=bursts)


def jobs_directory(environment: Mapping[str, str]) -> str:
    """Return where jobs run that name no directory: where the service was started, as with `flux submit`.

    What systemd starts is in /, where programs have no files: then it is the home directory.
    """
    here = Path.cwd()
    return environment.get("HOME", "/") if here == Path("/") else str(here)


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
    own = IdentitySettings(issuer=endpoint.address(port), no_auth=not endpoint.login)
    settings = ApplicationSettings(own, endpoint.names, endpoint.proxies, providers, specs=specs)
    made = application(database, master, settings)
    directory.publish(payer_key(master))
    await _grant_everyone(made.identities)
    # It makes the first admin, who is who asks without a login.
    link = await web_sessions.first_admin_link(made.identities) or ""
    shown = link if endpoint.login else ""
    return ComposedService(made.app, made.services, made.identities, shown, specs[0].base.cwd)


async def _grant_everyone(identities: Identities) -> None:
    """Let every user use the clusters, where nobody has decided who may: an admin may take that back."""
    async with identities.change() as connection:
        if await groups.grants(connection) or await user_rows.admins(connection):
            return
        grant = GrantRecord(identities.new_id(), EVERY_CLUSTER, GrantRole.USE, identities.now())
        await groups.add_grant(connection, grant)
