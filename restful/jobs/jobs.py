"""The jobs of all users: what the routes, the page and /v1 call.

A Principal goes in, records come out, HttpProblem is raised. What everything here may raise besides:
"not-found" for a cluster or a job that is not there or not the user's, "forbidden" for a scope that he has
not there, and DatabaseError.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats.jobid import f58
from minicluster.instance.errors import JobNotFound
from restful import audit
from restful.clusters import instance_calls
from restful.errors import FieldError, HttpProblem
from restful.jobs import dependencies, jobspecs, rules, views
from restful.jobs.submit_order import SubmitOrder
from restful.jobs.visibility import Visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from restful.clusters.access import ClusterAccess
    from restful.clusters.cluster import ServedCluster
    from restful.clusters.follower import Context
    from restful.identity.principal import Principal
    from restful.jobs.control import Control, ControlOutcome
    from restful.jobs.listing import JobListing, ListingQuery
    from restful.jobs.pages import Page
    from restful.jobs.schema import Submission
    from restful.jobs.submit import Submitter
    from restful.jobs.submit_order import Submitted
    from restful.jobs.visibility import Visibility
    from restful.settings import Settings
    from restful.store.jobs import JobRecord

USERS_URGENCY = 16
"""The highest that a user may give, as with real Flux's guests."""
KEY_SEPARATOR = "\x1f"
"""Between the key of a request that submits several jobs and a job's number: no client's key has it."""
READ_INTERVAL = 600.0
"""Seconds in which an operator's reading of one object is recorded once."""


class JobServiceParts(NamedTuple):
    """What the jobs are served by."""

    context: Context
    settings: Settings
    access: ClusterAccess
    visibility: Visibility
    listing: JobListing
    submitter: Submitter
    control: Control


class Feasibility(NamedTuple):
    """Whether a job could run."""

    feasible: bool
    reason: str
    """Why not; empty if it could."""
    jobspec: Mapping[str, Any]
    """What would be submitted, without the environment."""


class JobService:
    """See the module."""

    def __init__(self, parts: JobServiceParts) -> None:
        self._parts = parts
        self._read: dict[tuple[str, str], float] = {}

    async def submit(
        self, principal: Principal, cluster_name: str, submission: Submission, key: str | None = None
    ) -> Submitted:
        """Submit a job, once for each `key`.

        Raises HttpProblem "invalid", "quota", "under-way", "instance-away", "busy".
        """
        at = await self._parts.access.cluster(principal, cluster_name, "jobs:submit")
        order = await ordered(self._parts, principal, at, submission, (key, fingerprint([submission])))
        return await self._parts.submitter.submit(order)

    async def submit_many(
        self,
        principal: Principal,
        cluster_name: str,
        submissions: Sequence[Submission],
        key: str | None = None,
    ) -> list[Submitted | HttpProblem]:
        """Submit jobs side by side, once for each `key`; each has an outcome of its own.

        What is wrong with one of them before the instance has it refuses them all. Raises HttpProblem
        "invalid", "quota", "under-way", "instance-away".
        """
        at = await self._parts.access.cluster(principal, cluster_name, "jobs:submit")
        _check_many(len(submissions), self._parts.settings.requests.bulk_submit, "submits", "/jobs")
        mark, orders = fingerprint(submissions), []
        for number, each in enumerate(submissions):
            own_key = None if key is None else f"{key}{KEY_SEPARATOR}{number}"
            try:
                orders.append(await ordered(self._parts, principal, at, each, (own_key, mark)))
            except HttpProblem as problem:
                raise _of_one(problem, number) from problem
            await asyncio.sleep(0)  # others have their turn
        return await self._parts.submitter.submit_many(orders)

    async def validate(self, principal: Principal, cluster_name: str, submission: Submission) -> Feasibility:
        """Return whether a job could ever run. Raises HttpProblem "invalid", "instance-away"."""
        cluster, scopes = await self._parts.access.cluster(principal, cluster_name, "jobs:submit")
        spec = await checked(self._parts, principal, (cluster, scopes), submission)
        reason = await cluster.connection.call(lambda i: instance_calls.unsatisfiable(i, spec))
        return Feasibility(not reason, reason, views.shown_jobspec(spec))

    async def get(self, principal: Principal, cluster_name: str, text: str) -> JobRecord:
        """Return a job by its id in any form."""
        return (await self.visible(principal, cluster_name, text)).record

    async def page(self, principal: Principal, cluster_name: str, query: ListingQuery) -> Page:
        """Return a page of jobs, latest first. Raises HttpProblem "cursor", "invalid"."""
        cluster, wanted = await self._parts.listing.which(principal, cluster_name, query)
        if wanted.owner != principal.user:
            await self._audit_read(principal, "job.list", f"cluster:{cluster.name}")
        return await self._parts.listing.page(cluster, wanted, query)

    async def count(self, principal: Principal, cluster_name: str, query: ListingQuery) -> int:
        """Return how many jobs a listing has in all. Raises HttpProblem "invalid"."""
        cluster, wanted = await self._parts.listing.which(principal, cluster_name, query)
        return await self._parts.listing.count(cluster, wanted)

    async def jobspec(self, principal: Principal, cluster_name: str, text: str) -> Mapping[str, Any]:
        """Return a job's jobspec without its environment. Raises problem "instance-away", "output-gone"."""
        job = await self.visible(principal, cluster_name, text)
        if not job.present:
            raise HttpProblem("output-gone", f"the jobspec of {text[:60]} went with its instance")
        try:
            spec = await job.cluster.connection.call(lambda i: i.jobs.jobspec(job.record.id))
        except JobNotFound:
            raise HttpProblem(
                "output-gone", f"the instance has forgotten the jobspec of {text[:60]}"
            ) from None
        return views.shown_jobspec(spec)

    async def why(self, principal: Principal, cluster_name: str, text: str) -> str:
        """Return why a job waits, in a sentence; empty: it does not. Raises HttpProblem "instance-away"."""
        job = await self.visible(principal, cluster_name, text)
        if not job.present or not job.record.active or job.record.t_run:
            return ""
        bursts = job.cluster.spec.bursts
        try:
            return await job.cluster.connection.call(lambda i: instance_calls.why(i, job.record.id, bursts))
        except JobNotFound:
            raise views.absent(text) from None

    async def cancel(self, principal: Principal, cluster_name: str, text: str, reason: str = "") -> JobRecord:
        """Cancel a job. Raises HttpProblem "ended", "instance-away"."""
        job = await self._parts.visibility.job(principal, cluster_name, text, "jobs:cancel")
        await self._parts.control.cancel(principal, job, reason)
        return job.record

    async def kill(self, principal: Principal, cluster_name: str, text: str, name: str) -> JobRecord:
        """Send a signal, such as "TERM", to all tasks. Raises HttpProblem "ended", "conflict"."""
        job = await self._parts.visibility.job(principal, cluster_name, text, "jobs:cancel")
        await self._parts.control.kill(principal, job, name)
        return job.record

    async def urgency(self, principal: Principal, cluster_name: str, text: str, urgency: int) -> int:
        """Set a waiting job's urgency; return the former one. Raises HttpProblem.

        Of his own jobs a user sets up to 16; `jobs:urgency` is for any urgency of any job.
        """
        cluster, scopes = await self._parts.access.cluster(principal, cluster_name, "jobs:cancel")
        if "jobs:urgency" in scopes:
            job = await self._parts.visibility.any_job(principal, cluster, text)
        else:
            job = await self._parts.visibility.job(principal, cluster_name, text, "jobs:cancel")
            if urgency > USERS_URGENCY:
                raise HttpProblem(
                    "forbidden", f"an urgency above {USERS_URGENCY} needs the scope jobs:urgency"
                )
        return await self._parts.control.urgency(principal, job, urgency)

    async def cancel_many(
        self, principal: Principal, cluster_name: str, which: list[str] | ListingQuery, reason: str = ""
    ) -> list[ControlOutcome]:
        """Cancel jobs by their ids, or those of a filter that have not ended; each has its own outcome."""
        most = self._parts.settings.requests.bulk
        if isinstance(which, list):
            at = await self._parts.access.cluster(principal, cluster_name, "jobs:cancel")
            _check_many(len(which), most, "cancels", "/ids")
            jobs = await self._parts.visibility.many(principal, at, which, "jobs:cancel")
            cluster, found = at[0], list(jobs.items())
        else:
            cluster, wanted = await self._parts.listing.which(principal, cluster_name, which, "jobs:cancel")
            records = await self._parts.listing.records(cluster, wanted, None, most + 1)
            _check_many(len(records), most, "cancels", "/filter")
            found = [
                (f58(record.id), Visible(cluster, record, record.owner == principal.user))
                for record in records
            ]
        return await self._parts.control.cancel_many(principal, cluster, found, reason)

    async def visible(self, principal: Principal, cluster_name: str, text: str) -> Visible:
        """Return a job that somebody may read; that it is another's is recorded."""
        job = await self._parts.visibility.job(principal, cluster_name, text, "jobs:read")
        if not job.own:
            await self._audit_read(principal, "job.read", f"cluster:{cluster_name} job:{job.record.id}")
        return job

    async def _audit_read(self, principal: Principal, action: str, what: str) -> None:
        """Record that somebody reads what is not his; once in a while, as a page asks each second."""
        now, key = self._parts.context.now(), (principal.user, f"{action} {what}")
        if 0 <= now - self._read.get(key, -math.inf) < READ_INTERVAL:  # clocks may step back
            return
        if len(self._read) > 10_000:
            self._read.clear()
        self._read[key] = now
        async with self._parts.context.database.write() as connection:
            await audit.record(connection, audit.by(principal, action, what), now)


async def ordered(
    parts: JobServiceParts,
    principal: Principal,
    at: tuple[ServedCluster, frozenset[str]],
    submission: Submission,
    mark: tuple[str | None, str],
) -> SubmitOrder:
    """Return the order of a checked submission; `mark` is its key and the fingerprint of its request."""
    cluster = at[0]
    spec = await checked(parts, principal, at, submission)
    summary = jobspecs.summary_of(spec, cluster.connection.cores_per_node)
    return SubmitOrder(principal, cluster, spec, summary, submission.urgency, *mark)


async def checked(
    parts: JobServiceParts,
    principal: Principal,
    at: tuple[ServedCluster, frozenset[str]],
    submission: Submission,
) -> Mapping[str, Any]:
    """Return the jobspec of a submission that this user may make at a cluster. Raises problem "invalid"."""
    cluster, scopes = at
    if submission.urgency > USERS_URGENCY and "jobs:urgency" not in scopes:
        message = f"is at most {USERS_URGENCY} here, not {submission.urgency}"
        raise HttpProblem("invalid", f"urgency {message}", (FieldError("/urgency", message),))
    limits = rules.Rules(parts.settings.jobs, cluster.spec.any_output_path)
    spec = jobspecs.jobspec_of(submission, cluster.spec.base, limits)
    targets, wrong = dependencies.targets(spec)
    for target in targets:
        if not await _sees(parts, principal, cluster, target.text):
            wrong.append(dependencies.missing(target))
    if wrong:
        errors = tuple(jobspecs.at(submission, each) for each in wrong)
        raise HttpProblem("invalid", f"dependencies: {wrong[0].message}", errors)
    return spec


async def _sees(parts: JobServiceParts, principal: Principal, cluster: ServedCluster, text: str) -> bool:
    try:
        job = await parts.visibility.job(principal, cluster.name, text, "jobs:read")
    except HttpProblem:
        return False
    return job.present


def _check_many(count: int, most: int, does: str, path: str) -> None:
    if count > most:
        message = f"one request {does} at most {most} jobs"
        raise HttpProblem("invalid", message, (FieldError(path, message),))


def _of_one(problem: HttpProblem, number: int) -> HttpProblem:
    """Return the problem of one of several submissions, counted from 0."""
    errors = tuple(replace(each, path=f"/jobs/{number}{each.path}") for each in problem.errors)
    return HttpProblem(problem.type, f"jobs/{number}: {problem.detail}", errors, problem.headers)


def fingerprint(submissions: Sequence[Submission]) -> str:
    """Return the SHA-256 of what was sent, in hex: the same for the same fields in any order."""
    fields = [each.model_dump(mode="json", exclude_unset=True) for each in submissions]
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
