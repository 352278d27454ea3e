"""An instance's jobs over a link to a broker. Both engines have the same topics."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING

from broker_config.formats import eventlog, idset, signed_jobspec
from broker_config.formats.job_states import JobResult, JobState
from minicluster.broker_link.errors import Refused
from minicluster.save_restore.errors import JobRefused
from minicluster.save_restore.losses import FailedJob
from minicluster.save_restore.restarts import Waiting

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from minicluster.broker_link.link import BrokerLink

    JSON = dict[str, Any]

TIMEOUT = 20.0
"""Seconds that the broker has for one answer."""
_POLL_INTERVAL = 0.05
_OVER = (errno.ENOENT, errno.EINVAL)  # Flux's answers about an inactive job


class LinkJobs:
    """Implements `restarts.RestartableJobs` and `losses.History`.

    `timeout` is the seconds to wait for jobs that were canceled.
    """

    def __init__(self, link: BrokerLink, timeout: float) -> None:
        self._link = link
        self._timeout = timeout

    def listed(self, states: int, since: float = 0.0) -> list[JSON]:
        """Return the jobs in these states, as job-list has them; inactive ones that ended after `since`."""
        wanted = {
            "max_entries": 0,
            "attrs": ["all"],
            "since": since,
            "constraint": {"states": [int(states)]},
        }
        answers = streamed(self._link, "job-list.list", wanted)
        return [job for answer in answers for job in answer["jobs"]]

    def idle(self, timeout: float) -> int | None:
        """Return how many jobs wait, as soon as none runs; None after `timeout` seconds."""
        try:
            return int(self._link.rpc("job-manager.idle", {}, timeout)["pending"])
        except Refused as error:
            if error.errnum != errno.ETIMEDOUT:
                raise
            return None

    def lookup(self, jobid: int, key: str) -> str:
        """Return what the job's KVS directory has under a key, such as `jobspec`."""
        answer = self._link.rpc("job-info.lookup", {"id": jobid, "keys": [key], "flags": 0}, TIMEOUT)
        return str(answer[key])

    # -- for restarts ----------------------------------------------------------------------------------

    def urgency(self, jobid: int) -> int | None:
        """Return the urgency of a job whose tasks run; None if they do not (any more)."""
        job = self._listed(jobid)
        return int(job["urgency"]) if job.get("state") == JobState.RUN else None

    def pends(self, jobid: int) -> bool:
        """Return whether the job has not started."""
        return bool(int(self._listed(jobid)["state"]) & JobState.PENDING)

    def waiting(self) -> list[Waiting]:
        """Return the jobs with dependencies that are not satisfied."""
        return [Waiting(int(job["id"]), int(job["urgency"])) for job in self.listed(JobState.DEPEND)]

    def jobspec(self, jobid: int) -> JSON:
        """Return the jobspec as it was submitted, with its environment."""
        spec: JSON = signed_jobspec.decode(self.lookup(jobid, "J"))
        return spec

    def submit(self, jobspec: JSON, urgency: int) -> int:
        """Submit a jobspec as it is, and return the id. Raises JobRefused."""
        try:
            return self._link.submit(jobspec, urgency, timeout=TIMEOUT)
        except Refused as error:
            raise JobRefused(error.text) from error

    def cancel(self, jobid: int, reason: str) -> None:
        """Cancel a job; one that is inactive stays as it is."""
        request = {"id": jobid, "severity": 0, "type": "cancel", "note": reason}
        try:
            self._link.rpc("job-manager.raise", request, TIMEOUT)
        except Refused as error:
            if error.errnum not in _OVER:
                raise

    def await_ends(self, jobids: Iterable[int]) -> None:
        """Wait until these jobs are inactive, or the timeout is over."""
        end = time.monotonic() + self._timeout
        for jobid in jobids:
            while self._listed(jobid).get("result") is None and time.monotonic() < end:
                time.sleep(_POLL_INTERVAL)

    def finished(self, jobid: int) -> bool:
        """Return whether the job's tasks ended by themselves, before it was canceled."""
        for event in eventlog.events(self.lookup(jobid, "eventlog")):
            if event["name"] == "finish":
                return True
            if event["name"] == "exception" and event["context"]["severity"] == 0:
                return False
        return False

    # -- for jobs that were lost -----------------------------------------------------------------------

    def failed(self, since: float) -> list[FailedJob]:
        """Return the jobs that were ended by an exception after a time."""
        return [
            FailedJob(
                int(job["id"]),
                int(job["urgency"]),
                float(job["t_inactive"]),
                str(job["exception_type"]),
                str(job.get("exception_note", "")),
                ranks_of_job(job),
            )
            for job in self.listed(JobState.INACTIVE, since)
            if job["result"] == JobResult.FAILED and job["exception_occurred"]
        ]

    def submitted(self, since: float) -> list[int]:
        """Return the jobs that were submitted after a time, in any state."""
        listed = self.listed(JobState.ACTIVE | JobState.INACTIVE, since)  # active jobs are always listed
        return [int(job["id"]) for job in listed if job["t_submit"] > since]

    def _listed(self, jobid: int) -> JSON:
        answer = self._link.rpc("job-list.list-id", {"id": jobid, "attrs": ["all"]}, TIMEOUT)
        job: JSON = answer["job"]
        return job


def ranks_of_job(job: JSON) -> frozenset[int]:
    """Return the ranks on which a listed job runs, or ran."""
    return frozenset(idset.decode(str(job["ranks"]).strip("[]"))) if job.get("ranks") else frozenset()


def streamed(link: BrokerLink, topic: str, payload: JSON) -> list[JSON]:
    """Return all answers of a stream that ends. Raises Refused."""
    answers: list[JSON] = []
    ended: list[Refused] = []

    def take(answer: JSON | None, refusal: Refused | None) -> None:
        if answer is not None:
            answers.append(answer)
        if refusal is not None:
            ended.append(refusal)

    number = link.stream(topic, payload, take)
    end = time.monotonic() + TIMEOUT
    while not ended:
        left = end - time.monotonic()
        if left <= 0:
            link.cancel(number)
            raise Refused(errno.ETIMEDOUT)
        link.dispatch(left)
    if ended[0].errnum != errno.ENODATA:
        raise ended[0]
    return answers
