"""Whose a job is: what its mark claims, and whether that is proven.

A job that the submit itself has noted needs no proof. Any other one that bears a mark is examined in full:
its row has to be without a job, and its seal has to fit its jobspec. Of several jobs with one mark the first
is the request's; the others are restarts of it, or nobody's.

A restart that stands in for a job elsewhere has another program, which only prints what it is given: its seal
has to fit the jobspec of the request's own job.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats.job_states import JobResult
from broker_config.formats.jobspec import dependencies_of
from minicluster.instance.stand_ins import prints_alone
from restful.clusters.projection import Owned
from restful.jobs import seal
from restful.store.request_keys import PENDING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from restful.jobs.seal import Seal
    from restful.store.clusters import ClusterRow
    from restful.store.jobs import JobRecord
    from restful.store.request_keys import RequestRow

NOBODYS = Owned()
_AFTER_FAILURE = ("afternotok", "afterany")


class Claim(StrEnum):
    """What becomes of a job's mark."""

    NONE = "none"
    """It proves nothing."""
    KNOWN = "known"
    """The service itself has noted that this job is the request's."""
    LATER = "later"
    """A submit is under way that will note it."""
    FIRST = "first"
    """It may be the request's job, if the seal fits."""
    RESTART = "restart"
    """It may be a restart of the request's job, if the seal fits."""


class ClaimedJob(NamedTuple):
    """A job and what is known of the request that its mark names."""

    id: int
    attributes: Mapping[str, Any]
    row: RequestRow | None
    jobs: Sequence[JobRecord]
    """The request's job and its restarts."""


class Submits(NamedTuple):
    """Which submits are under way."""

    here: Collection[str]
    """The ids of this process's requests. A claim of its own counts no longer than that: where the database
    was away, it could not give it up."""
    process: str
    """This process's id."""
    until: float
    """How long another process's claim must last to count."""

    def has(self, row: RequestRow) -> bool:
        """Return whether somebody works on a request."""
        others = row.state == PENDING and row.claimer != self.process and row.claimed_until > self.until
        return others or row.id in self.here


def claimed(candidate: ClaimedJob, instance: str, submits: Submits) -> Claim:
    """Return what becomes of a candidate's mark."""
    row = candidate.row
    if row is None or row.instance != instance:
        return Claim.NONE
    if row.job == candidate.id or any(each.id == candidate.id for each in candidate.jobs):
        return Claim.KNOWN
    if row.state == PENDING and submits.has(row):
        return Claim.LATER
    if row.job is None:
        return Claim.FIRST
    old = seal.restart_of(candidate.attributes)
    jobs = {each.id: each for each in candidate.jobs}
    if old not in jobs or any(each.restart_of == old for each in jobs.values()):
        return Claim.NONE
    return Claim.NONE if jobs[old].result is JobResult.COMPLETED else Claim.RESTART


def waits_for(jobspec: Mapping[str, Any], old: int) -> bool:
    """Return whether a job can begin only after another one failed, as a restart does."""
    return any(
        each.get("scheme") in _AFTER_FAILURE and str(each.get("value")) == str(old)
        for each in dependencies_of(jobspec)
    )


@dataclass(slots=True)
class Rows:
    """What the database has of the requests that marks name, with what is found out meanwhile."""

    rows: dict[str, RequestRow]
    jobs: dict[str, list[JobRecord]]
    claims_until: float = math.inf
    """How long another process's claim to a request must last to count."""
    adopted: dict[str, int] = field(default_factory=dict)
    """The jobs that were found for requests without one."""

    def candidate(self, jobid: int, attributes: Mapping[str, Any], mark: seal.Mark | None) -> ClaimedJob:
        """Return a job with its request."""
        row = None if mark is None else self.rows.get(mark.row)
        return ClaimedJob(jobid, attributes, row, self.jobs.get(row.id, ()) if row else ())

    def adopt(self, row: RequestRow, jobid: int) -> None:
        """Note the job of a request that had none."""
        self.adopted[row.id] = jobid
        self.rows[row.id] = replace(row, job=jobid)


class Ownership:
    """Decides whose the jobs of one cluster are."""

    def __init__(self, cluster: ClusterRow, tenancy_owner: str, sealing: Seal) -> None:
        self._instance = cluster.instance
        self._default = Owned(tenancy_owner) if tenancy_owner else NOBODYS
        self._seal = sealing

    async def owned(
        self,
        candidate: ClaimedJob,
        rows: Rows,
        jobspec_of: Callable[[int], Awaitable[Mapping[str, Any]]],
        claim: Claim,
    ) -> Owned:
        """Return whose a job is; `claim` is not LATER."""
        row = candidate.row
        if claim is Claim.NONE or row is None:
            return self._default
        if claim is Claim.KNOWN:
            return Owned(row.user, row.id)
        spec = await jobspec_of(candidate.id)
        own = row.job if claim is Claim.RESTART and prints_alone(spec) else None
        sealed = spec if own is None else await jobspec_of(own)
        mark = seal.read(candidate.attributes)
        if mark is None or not self._seal.proves(
            mark, sealed, seal.SealedRequest(self._instance, row.user, row.id)
        ):
            return self._default
        if claim is Claim.FIRST:
            rows.adopt(row, candidate.id)
            return Owned(row.user, row.id)
        old = seal.restart_of(candidate.attributes)
        ended = any(each.id == old and not each.active for each in candidate.jobs)
        if old is None or not (ended or waits_for(spec, old)):
            return self._default
        return Owned(row.user, row.id, old)
