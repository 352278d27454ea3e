"""All that routes work with, as one record: `app.state.services`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.database import new_id
from restful.clusters.access import ClusterAccess
from restful.clusters.follower import Context
from restful.clusters.registry import Clusters
from restful.clusters.views import ClusterViews
from restful.jobs.control import Control
from restful.jobs.cursor import Cursors
from restful.jobs.jobs import JobService, JobServiceParts
from restful.jobs.listing import JobListing
from restful.jobs.output.limits import StreamLimits
from restful.jobs.output.streams import streams
from restful.jobs.output.visible_jobs import VisibleJobs
from restful.jobs.seal import Seal
from restful.jobs.submit import Submitter, recover
from restful.jobs.usage_report import UsageReport
from restful.jobs.visibility import Visibility
from restful.limits.token_bucket import Rates
from restful.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.database import Database
    from restful.clusters.access import Grants
    from restful.identity.identities import Identities
    from restful.identity.oidc_logins import OidcLogins
    from restful.jobs.output.streams import LiveStreams


@dataclass(frozen=True, slots=True)
class Services:
    """See the module."""

    settings: Settings
    database: Database
    now: Callable[[], float]
    """Seconds since 1970."""
    identities: Identities | None
    """What is known of users."""
    access: ClusterAccess
    """Which clusters a user may use."""
    clusters: Clusters
    views: ClusterViews
    """Nodes and queues of clusters."""
    jobs: JobService
    visibility: Visibility
    """Which jobs a user may see."""
    usage: UsageReport
    """What users' jobs have used."""
    rates: Rates
    """Requests of users."""
    streams: LiveStreams
    """What is followed live."""
    following: VisibleJobs
    """Which jobs a user may follow."""
    oidc: OidcLogins | None = None
    """Logins at an OpenID provider; None: there is none."""


def open_services(
    database: Database,
    master: bytes,
    grants: Grants,
    identities: Identities | None = None,
    settings: Settings | None = None,
    now: Callable[[], float] = time.time,
    oidc: OidcLogins | None = None,
) -> Services:
    """Return the services over an open database; `clusters.start` begins to serve clusters.

    `master` is derived of the service's master key; the keys of marks and cursors are derived of it.
    `grants` and `identities` are one service's: `open_identities` makes them.
    """
    settings = settings or Settings()
    alone = database.url.startswith("sqlite")
    context = Context(database, Seal(master), settings.clusters, now, new_id(now()), alone)
    clusters = Clusters(context, recover)
    access = ClusterAccess(clusters, grants)
    visibility = Visibility(database, access)
    listing = JobListing(database, access, Cursors(master), settings.requests)
    parts = JobServiceParts(
        context, settings, access, visibility, listing, Submitter(context, settings.jobs), Control(context)
    )
    jobs = JobService(parts)
    return Services(
        settings=settings,
        database=database,
        now=now,
        identities=identities,
        access=access,
        clusters=clusters,
        views=ClusterViews(context, access),
        jobs=jobs,
        visibility=visibility,
        usage=UsageReport(database, access),
        rates=Rates(
            settings.requests.requests_per_second, settings.requests.burst, settings.requests.rate_users
        ),
        streams=streams(StreamLimits()),
        following=VisibleJobs(database, access, visibility, jobs, now),
        oidc=oidc,
    )
