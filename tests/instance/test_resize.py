"""A job that is not resized: the errors of the port for what an instance answers."""

from __future__ import annotations

import errno
import json
from typing import Any, cast

import pytest

from minicluster.instance.errors import InstanceError, JobInactive, JobNotFound, NotResized, RequestRefused
from minicluster.instance.job_logs import JobLogs
from minicluster.instance.records import JobState
from minicluster.instance.rpc_jobs import RpcJobs

JOB = 7


class Links:
    """An instance that has one job, and refuses to resize it."""

    def __init__(self, state: JobState, errnum: int, text: str) -> None:
        self.state = state
        self.refusal = (errnum, text)
        self.asked: list[Any] = []

    def rpc(self, topic: str, payload: Any, _timeout: float | None = None) -> Any:
        """Answer one request."""
        if topic == "minicluster-sched.resize":
            self.asked.append(payload)
            raise RequestRefused(topic, *self.refusal)
        if payload["id"] != JOB:
            raise RequestRefused(topic, errno.ENOENT, "unknown job")
        if topic == "job-info.lookup":
            return {"jobspec": json.dumps({"attributes": {"system": {}}})}
        return {"job": {"id": JOB, "state": int(self.state)}}


def _error(job: int, state: JobState, errnum: int, text: str) -> InstanceError:
    links = cast("Any", Links(state, errnum, text))
    with pytest.raises(InstanceError) as error:
        RpcJobs(links, JobLogs(links)).resize(job, 2)
    assert links.asked == [{"id": job, "workers": 2, "wait": True}]
    return error.value


NO_ORDERS = (
    "the scheduler of its instance takes no orders by hand;"
    " on real Flux that of flux.scheduler.queuePolicy: minicluster/NAME does"
)


@pytest.mark.parametrize(
    ("errnum", "text", "reason"),
    [
        pytest.param(errno.ENOSYS, "No service matching minicluster-sched.resize", NO_ORDERS, id="scheduler"),
        pytest.param(errno.EINVAL, "is not running", "is not running", id="instance"),
        pytest.param(errno.ECANCELED, "refused: it is inactive", "refused: it is inactive", id="program"),
    ],
)
def test_why_a_job_is_not_resized(errnum: int, text: str, reason: str) -> None:
    error = _error(JOB, JobState.RUN, errnum, text)
    assert isinstance(error, NotResized)
    assert (error.jobid, error.reason, str(error)) == (JOB, reason, f"job 7: {reason}")


def test_a_job_that_ended_meanwhile() -> None:
    assert isinstance(_error(JOB, JobState.INACTIVE, errno.ECANCELED, "the job has ended"), JobInactive)


@pytest.mark.parametrize("errnum", [errno.ENOENT, errno.ENOSYS, errno.EINVAL])
def test_a_job_that_is_not_there(errnum: int) -> None:
    assert isinstance(_error(8, JobState.RUN, errnum, "whatever it says"), JobNotFound)
