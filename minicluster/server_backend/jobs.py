"""The jobs of a cluster behind a service, as the port has them."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from broker_config.formats.jobid import f58, parse
from minicluster.backends.errors import NotOffered
from minicluster.client.errors import JobTimeout
from minicluster.instance.errors import JobInactive, NotResized, WaitTimeout
from minicluster.instance.records import Event, Job, JobFilter, JobState
from minicluster.server_backend.conversions import fields_of, fits, in_order, job_of, query_of
from minicluster.server_backend.errors import of_instance, of_submit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.client import Client, RemoteJob
    from minicluster.instance.records import JobRequest, OutputChunk

T = TypeVar("T")
EVERY_JOB = JobFilter()


def refuse(what: str) -> NoReturn:
    """Raise NotOffered for what a service has no route for."""
    raise NotOffered(f"{what}: is not offered for clusters of a server")


class ClosingStream(Iterator[T], Generic[T]):
    """Items that can be closed."""

    def __init__(self, items: Iterator[T], jobid: int) -> None:
        self._items = items
        self._jobid = jobid

    def __next__(self) -> T:
        with of_instance(self._jobid):
            return next(self._items)

    def close(self) -> None:
        """Read no more."""
        if (close := getattr(self._items, "close", None)) is not None:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class ServiceJobs:
    """One's jobs at a cluster. Times and ids are the instance's; all belong to the user who asks."""

    client: Client
    cluster: str

    def submit(self, request: JobRequest) -> int:
        """Submit a job and return its id. Raises SubmitRefused."""
        with of_submit():
            return parse(self.client.submit(self.cluster, **fields_of(request)).id)

    def unsatisfiable(self, request: JobRequest) -> str:
        """Return why a job could not run at the cluster as it is."""
        with of_submit():
            return self.client.unsatisfiable(self.cluster, **fields_of(request))

    def jobspec(self, jobid: int) -> Mapping[str, Any]:
        """Return a job's jobspec, without the environment. Raises JobNotFound."""
        with of_instance(jobid):
            return _job(self, jobid).jobspec()

    def resubmit(self, jobspec: Mapping[str, Any], *, urgency: int = 16, waitable: bool = False) -> int:  # noqa: ARG002
        """Raise NotOffered."""
        refuse("submit of a job as it was")

    def find(self, which: JobFilter = EVERY_JOB, limit: int = 1000) -> list[Job]:
        """List one's jobs: pending by priority, then running and inactive ones, latest first."""
        with of_instance():
            listed = self.client.jobs(self.cluster, **query_of(which))
            found = (job for each in listed if fits(job := job_of(each, os.getuid()), which))
            return in_order(itertools.islice(found, limit or None))

    def get(self, jobid: int) -> Job:
        """Return one job. Raises JobNotFound."""
        with of_instance(jobid):
            return job_of(_job(self, jobid).record(), os.getuid())

    def wait(self, jobid: int, timeout: float | None = None) -> Job:
        """Wait until the job is inactive and return it. Raises JobNotFound, WaitTimeout (seconds)."""
        try:
            with of_instance(jobid):
                return job_of(_job(self, jobid).wait(timeout), os.getuid())
        except JobTimeout as error:
            raise WaitTimeout(str(error)) from error

    def cancel(self, jobid: int, reason: str = "") -> None:
        """Cancel a job. Raises JobNotFound, JobInactive."""
        with of_instance(jobid):
            _job(self, jobid).cancel(reason)

    def cancel_all(self, states: JobState = JobState.ACTIVE, reason: str = "") -> int:
        """Cancel one's jobs that are in one of these states; return how many."""
        ids = [f58(each.id) for each in self.find(JobFilter(states=states), limit=0)]
        with of_instance():
            return sum(each.status == 202 for each in self.client.cancel(self.cluster, ids, reason))

    def raise_exception(self, jobid: int, kind: str, severity: int = 0, note: str = "") -> None:
        """Cancel a job where that is the exception; others raise NotOffered."""
        if (kind, severity) != ("cancel", 0):
            refuse(f"an exception of type {kind}")
        self.cancel(jobid, note)

    def kill(self, jobid: int, signum: int) -> None:
        """Send a signal to every task of a running job. Raises JobNotFound, JobInactive."""
        with of_instance(jobid):
            _job(self, jobid).kill(signal.Signals(signum).name.removeprefix("SIG"))

    def set_urgency(self, jobid: int, urgency: int) -> int:
        """Set a pending job's urgency; return the old one. Raises JobNotFound, JobInactive."""
        with of_instance(jobid):
            return _job(self, jobid).set_urgency(urgency)

    def resize(self, jobid: int, workers: int, *, wait: bool = True) -> int:  # noqa: ARG002
        """Raise NotResized: a service takes no such orders. Raises JobNotFound, JobInactive."""
        found = self.get(jobid)
        if found.result is not None:
            raise JobInactive(jobid)
        if found.state is not JobState.RUN:
            raise NotResized(jobid, "is not running")
        raise NotResized(jobid, "a server does not offer to resize jobs")

    def events(self, jobid: int | None = None, *, follow: bool = False) -> ClosingStream[Event]:
        """The eventlog of one job as it is now. Raises JobNotFound, NotOffered."""
        if jobid is None or follow:
            refuse("to follow events")
        with of_instance(jobid):
            found = _job(self, jobid).events()
        return ClosingStream(
            iter([Event(jobid, each.timestamp, each.name, each.context) for each in found]), jobid
        )

    def output(self, jobid: int, *, follow: bool = False, after: int = -1) -> ClosingStream[OutputChunk]:
        """A job's output behind entry `after`. Raises JobNotFound."""
        with of_instance(jobid):
            return ClosingStream(_job(self, jobid).output(after=after, follow=follow), jobid)


def _job(jobs: ServiceJobs, jobid: int) -> RemoteJob:
    return jobs.client.job(jobs.cluster, f58(jobid))
