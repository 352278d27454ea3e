"""The jobs of an instance, over links to a broker."""

from __future__ import annotations

import errno
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from broker_config.formats import signed_jobspec
from broker_config.formats.job_states import JobFlag
from broker_config.formats.jobspec import redacted, user_of
from minicluster.instance import jobspec as jobspecs
from minicluster.instance import wire
from minicluster.instance.errors import (
    JobInactive,
    NotAllowed,
    NotResized,
    RequestRefused,
    SubmitRefused,
    WaitTimeout,
)
from minicluster.instance.job_logs import JobLogs, OutputDecoder, raise_for
from minicluster.instance.port import EVERY_JOB, Stream
from minicluster.instance.records import Event, Job, JobFilter, JobRequest, JobState, OutputChunk
from minicluster.instance.streams import Collected, Decoded

if TYPE_CHECKING:
    from minicluster.instance.links.shared import SharedLinks

JSON = Mapping[str, Any]

_EVERY_USER = 0xFFFFFFFF
"""FLUX_USERID_UNKNOWN."""
_INFEASIBLE = {errno.EINVAL, errno.EOVERFLOW, errno.ENODEV}
"""How schedulers refuse what is not feasible; with ENOSYS they do not offer the check."""
_NO_ORDERS = (
    "the scheduler of its instance takes no orders by hand;"
    " on real Flux that of flux.scheduler.queuePolicy: minicluster/NAME does"
)


@dataclass(frozen=True, slots=True)
class RpcJobs:
    """See `minicluster.instance.port.Jobs`."""

    _links: SharedLinks
    _logs: JobLogs

    def submit(self, request: JobRequest) -> int:
        """Submit a job."""
        spec = jobspecs.jobspec(request, inherit=self._links.inherits_environment)
        return self.resubmit(spec, urgency=request.urgency, waitable=request.waitable)

    def unsatisfiable(self, request: JobRequest) -> str:
        """Return why the instance could never run a job."""
        spec = redacted(jobspecs.jobspec(request, inherit=False))
        try:
            self._links.rpc("feasibility.check", {"jobspec": spec})
        except RequestRefused as refusal:
            return refusal.text if refusal.errnum in _INFEASIBLE else ""
        return ""

    def resubmit(self, jobspec: JSON, *, urgency: int = 16, waitable: bool = False) -> int:
        """Submit a jobspec as it is."""
        try:
            return self._links.submit(jobspec, urgency, JobFlag.WAITABLE if waitable else 0)
        except RequestRefused as refusal:
            raise SubmitRefused(refusal.text) from refusal

    def jobspec(self, jobid: int) -> JSON:
        """The whole jobspec of a job."""
        try:
            signed = self._logs.lookup(jobid, "J")  # the `jobspec` key has no environment
        except RequestRefused as refusal:
            raise_for(jobid, refusal)
        return signed_jobspec.decode(signed)

    def find(self, which: JobFilter = EVERY_JOB, limit: int = 1000) -> list[Job]:
        """List jobs."""
        try:
            return _listed(self._links, which, limit)
        except RequestRefused as refusal:
            if which.submitted is None or refusal.errnum != errno.EPROTO:
                raise
        return _submitted(self._links, which, limit)

    def get(self, jobid: int) -> Job:
        """Return one job."""
        return _job(self._links, {"id": jobid, "attrs": ["all"]}, None)

    def wait(self, jobid: int, timeout: float | None = None) -> Job:
        """Wait until the job is inactive."""
        inactive = {"id": jobid, "attrs": ["all"], "state": int(JobState.INACTIVE)}
        try:
            return _job(self._links, inactive, timeout)
        except WaitTimeout:
            raise WaitTimeout(f"job {jobid} has not ended within {timeout:g} s") from None

    def cancel(self, jobid: int, reason: str = "") -> None:
        """Cancel a job."""
        self.raise_exception(jobid, "cancel", 0, reason)

    def cancel_all(self, states: JobState = JobState.ACTIVE, reason: str = "") -> int:
        """Cancel jobs by their states; those of a user, where it is he who asks."""
        userid = _EVERY_USER if self._links.user is None else self._links.user
        which = {"states": int(states), "userid": userid, "dry_run": False}
        note = {"note": reason} if reason else {}
        answer = self._links.rpc("job-manager.raiseall", {**which, "type": "cancel", "severity": 0, **note})
        return int(answer["count"])

    def raise_exception(self, jobid: int, kind: str, severity: int = 0, note: str = "") -> None:
        """Raise an exception on a job."""
        words = {"note": note} if note else {}
        steer(self._links, "job-manager.raise", jobid, type=kind, severity=severity, **words)

    def kill(self, jobid: int, signum: int) -> None:
        """Send a signal to every task."""
        steer(self._links, "job-manager.kill", jobid, signum=signum)

    def set_urgency(self, jobid: int, urgency: int) -> int:
        """Set a pending job's urgency."""
        return int(steer(self._links, "job-manager.urgency", jobid, urgency=urgency)["old_urgency"])

    def resize(self, jobid: int, workers: int, *, wait: bool = True) -> int:
        """Order a malleable job to have a number of workers."""
        order = {"id": jobid, "workers": workers, "wait": wait}
        try:
            return int(self._links.rpc("minicluster-sched.resize", order)["before"])
        except NotAllowed:
            raise
        except RequestRefused as refusal:
            if self.get(jobid).state == JobState.INACTIVE:
                raise JobInactive(jobid) from refusal
            reason = _NO_ORDERS if refusal.errnum == errno.ENOSYS else refusal.text
            raise NotResized(jobid, reason) from refusal

    def events(self, jobid: int | None = None, *, follow: bool = False) -> Stream[Event]:
        """The eventlog of one job or of all."""
        if jobid is None:
            return self._logs.journal(follow)
        if not follow:
            return Collected(wire.events(jobid, self._logs.eventlog(jobid)))
        self._logs.eventlog(jobid)  # raises for an unknown job now, not at the first item
        watch = self._logs.watch(jobid, "eventlog")
        return Decoded(watch, lambda item: wire.events(jobid, item["event"]))

    def output(self, jobid: int, *, follow: bool = False, after: int = -1) -> Stream[OutputChunk]:
        """A job's output."""
        text = self._logs.eventlog(jobid)
        found = (
            self._logs.follow_output(jobid, after, text)
            if follow
            else self._logs.present_output(jobid, after, text)
        )
        return Decoded(found, OutputDecoder(jobid, after))


def _listed(links: SharedLinks, which: JobFilter, limit: int) -> list[Job]:
    wanted = {
        "max_entries": limit,
        "attrs": ["all"],
        "since": which.since,
        "constraint": wire.constraint(which),
    }
    with links.stream("job-list.list", wanted) as answers:
        return [wire.job(entry) for answer in answers for entry in answer["jobs"]]


def _submitted(links: SharedLinks, which: JobFilter, limit: int) -> list[Job]:
    """List jobs of the embedded instance of release 0.1.0, which does not choose by times."""
    begin, end = which.submitted or (0.0, math.inf)
    every = _listed(links, replace(which, submitted=None), 0)
    found = [job for job in every if begin <= job.t_submit < end]
    return found[:limit] if limit else found


def _check(jobid: object) -> None:
    """Raise TypeError for an id that is a text."""
    if isinstance(jobid, str):
        of_text = "broker_config.formats.jobid.parse makes one of a text"
        message = f"{jobid!r}: job ids are numbers here; {of_text}"
        raise TypeError(message)


def _job(links: SharedLinks, wanted: JSON, timeout: float | None) -> Job:
    _check(wanted["id"])
    try:
        entry = links.rpc("job-list.list-id", wanted, timeout)["job"]
    except RequestRefused as refusal:
        raise_for(wanted["id"], refusal)
    spec = json.loads(JobLogs(links).lookup(wanted["id"], "jobspec"))
    return wire.job(entry, user_of(spec))


def steer(links: SharedLinks, topic: str, jobid: int, **payload: Any) -> JSON:
    """Return the answer to a request about a job. Raises JobNotFound, JobInactive."""
    _check(jobid)
    try:
        return links.rpc(topic, {"id": jobid, **payload})
    except RequestRefused as refusal:
        raise_for(jobid, refusal)
