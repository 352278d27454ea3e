"""The live streams of a service, as one part of its services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from restful.jobs.output.hub import Hub
from restful.jobs.output.limits import StreamLimiter, StreamLimits

if TYPE_CHECKING:
    from restful.identity.principal import Principal
    from restful.jobs.output.followed import Followed
    from restful.jobs.output.job_changes import FollowedCluster


@dataclass(frozen=True, slots=True)
class LiveStreams:
    """Who follows what, and how much of it there may be. For one event loop."""

    hub: Hub
    limiter: StreamLimiter
    limits: StreamLimits


def streams(limits: StreamLimits) -> LiveStreams:
    """Return a service's streams.

    `hub.close` ends them. It must be called before the server waits for its requests to end: these do not.
    """
    return LiveStreams(Hub(limits), StreamLimiter(limits), limits)


class FollowedJobs(Protocol):
    """Which jobs somebody may follow: what the routes here need of the service's jobs."""

    async def followed(self, principal: Principal, cluster: str, jobid: str) -> Followed:
        """Return a job by its id in any form of RFC 19. Raises problem: others' jobs are as absent ones."""

    async def followed_cluster(self, principal: Principal, cluster: str) -> FollowedCluster:
        """Return a cluster, to follow one's own jobs there. Raises HttpProblem."""

    async def check(self, principal: Principal, cluster: str, jobid: str = "") -> None:
        """Raise a problem where somebody may not follow a job, or his own ones, any more; record nothing."""


class FollowServices(Protocol):
    """What the routes here need of the application's state."""

    @property
    def streams(self) -> LiveStreams:
        """The live streams."""

    @property
    def following(self) -> FollowedJobs:
        """Which jobs may be followed."""
