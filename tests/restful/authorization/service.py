"""A service of everything in this process: /v2, /v1 and the page, over clusters in memory."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_config.formats.job_states import JobState
from broker_config.formats.jobid import f58plain
from minicluster.database import open_database
from minicluster.instance.records import Job
from restful.app import create_app
from restful.clusters.spec import ClusterSpec, Tenancy
from restful.compat.routes import router as compat
from restful.front.front import Front
from restful.front.origins import HostNames
from restful.identity.identities import open_identities
from restful.identity.scopes import GrantRole
from restful.identity.settings import IdentitySettings
from restful.page.routes import router as page
from restful.services import open_services
from restful.settings import ClusterLimits, JobLimits, RequestLimits, Settings
from restful.store import groups, jobs, usage
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from restful.store.jobs import JobRecord
from restful.store.schema import SCHEMA
from restful.store.usage import Charge
from tests.database import ready_file
from tests.restful.authorization.memory_instance import MemoryInstance
from tests.restful.authorization.requests import HOST, Answer, Sent, ask
from tests.restful.authorization.users import OTHER, ROLES, add_users
from tests.restful.identity.service import MASTER, Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from fastapi import FastAPI

    from minicluster.database import Database
    from restful.identity.identities import Identities
    from restful.services import Services
    from restful.store.users import UserRecord

SHARED, CLOSED = "shared", "closed"
"""The clusters with the tenancy `shared`; CLOSED is for the other user alone."""
MANY = 10**9
SETTINGS = Settings(
    requests=RequestLimits(burst=MANY),
    jobs=JobLimits(active=MANY),
    clusters=ClusterLimits(batch_seconds=0.005, first_retry=0.01, last_retry=0.05),
)
IDENTITY = IdentitySettings(
    issuer=f"https://{HOST}",
    argon2_memory=8,
    argon2_passes=1,
    login_burst=MANY,
    anonymous_burst=MANY,
    wrong_token_burst=MANY,
)
MEMORY = Path("/dev/shm")
"""Where a file is in memory: each of thousands of requests may write, and waits for the disk elsewhere."""
FIRST_JOB = 1 << 38
"""Ids of as many characters as those next to it."""


@dataclass
class Everything:
    """A service, its users and what they have."""

    services: Services
    identities: Identities
    app: FastAPI
    users: dict[str, UserRecord]
    instances: dict[str, MemoryInstance]
    clock: Clock
    job_of: dict[tuple[str, str], str] = field(default_factory=dict)
    """The id of the job that a user has at a cluster."""

    async def ask(self, sent: Sent, answer: Answer | None = None) -> Answer:
        """Send a request."""
        return await ask(self.app, sent, answer)


def own_cluster(user: str) -> str:
    """Return the name of a user's own cluster: all are equally long."""
    return f"own-{user:_<5}"


def specs_of(
    tenancy: Tenancy, users: dict[str, UserRecord], made: dict[str, MemoryInstance]
) -> list[ClusterSpec]:
    """Return the clusters of a tenancy, whose instances are put into `made`."""
    owners = {own_cluster(name): user.id for name, user in users.items()}
    if tenancy is Tenancy.SHARED:
        owners = {SHARED: "", CLOSED: ""}
    made |= {name: MemoryInstance() for name in owners}
    return [
        ClusterSpec(name, connect=partial(made.get, name), tenancy=tenancy, owner=owner)
        for name, owner in owners.items()
    ]


def _grants(tenancy: Tenancy, users: dict[str, UserRecord]) -> Iterable[tuple[str, str, GrantRole]]:
    """Yield who was granted what: cluster, user, role."""
    where = SHARED if tenancy is Tenancy.SHARED else EVERY_CLUSTER
    for name in ("alice", "otto", "work", OTHER):
        yield where, users[name].id, GrantRole.USE
    yield where, users["olga"].id, GrantRole.OPERATE
    if tenancy is Tenancy.SHARED:
        yield CLOSED, users[OTHER].id, GrantRole.USE


@contextlib.asynccontextmanager
async def opened(
    folder: Path, tenancy: Tenancy = Tenancy.SHARED, settings: Settings = SETTINGS, **identity: Any
) -> AsyncIterator[Everything]:
    """Give a service that has caught up with its clusters, where each user has a job."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else folder) as memory:
        file = Path(memory) / "rest.db"
        file.write_bytes(ready_file.content(SCHEMA))
        database = await open_database(f"sqlite:///{file}", SCHEMA)
        try:
            async with _opened_over(database, tenancy, settings, identity) as here:
                yield here
        finally:
            await database.close()


@contextlib.asynccontextmanager
async def _opened_over(
    database: Database, tenancy: Tenancy, settings: Settings, identity: dict[str, Any]
) -> AsyncIterator[Everything]:
    clock = Clock()
    identities = open_identities(database, replace(IDENTITY, **identity), clock, MASTER)
    services = open_services(
        database, MASTER.derived("jobs"), identities.authority, identities, settings=settings, now=clock
    )
    users, instances = await add_users(identities), dict[str, MemoryInstance]()
    here = Everything(services, identities, _app_over(services), users, instances, clock)
    async with identities.change() as connection:
        for cluster, user, role in _grants(tenancy, users):
            grant = GrantRecord(identities.new_id(), cluster, role, clock(), user)
            await groups.add_grant(connection, grant)
    await services.clusters.start(specs_of(tenancy, users, instances))
    try:
        for each in services.clusters:
            await asyncio.wait_for(each.caught_up.wait(), 30)
        await _add_jobs(here)
        yield here
    finally:
        await services.streams.hub.close()
        await services.clusters.close()
        for instance in instances.values():
            instance.close()


async def _add_jobs(here: Everything) -> None:
    """Give each user a job at each cluster, of which the instance knows too."""
    records = []
    for at, cluster in enumerate(here.services.clusters):
        for number, name in enumerate(ROLES):
            jobid = FIRST_JOB + 16 * at + number
            here.job_of[cluster.name, name] = f58plain(jobid)
            title = f"job-of-{name}"
            here.instances[cluster.name].known[jobid] = Job(jobid, JobState.SCHED, name=title)
            records.append(
                JobRecord(
                    cluster.id, cluster.row.instance, jobid, here.users[name].id, here.identities.new_id(),
                    status=int(JobState.SCHED), name=title, t_submit=here.clock(),
                )
            )  # fmt: skip
    async with here.services.database.write() as connection:
        await jobs.put(connection, records)
        for each in here.services.clusters:
            used = Charge(here.users[OTHER].id, int(here.clock() // usage.DAY), 3.0, 4.0)
            await usage.add(connection, each.id, [used])


_APPS: dict[RequestLimits, FastAPI] = {}


def _app_over(services: Services) -> FastAPI:
    """Return the application, which is made once for the same limits, as that takes long."""
    limits = services.settings.requests
    if limits not in _APPS:
        _APPS[limits] = create_app(services, (compat, page))
        _APPS[limits].add_middleware(Front, names=HostNames(frozenset({HOST})))
    _APPS[limits].state.services = services
    return _APPS[limits]
