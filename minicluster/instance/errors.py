"""The errors of an instance: `minicluster.broker_link.errors`, and the port's own.

InstanceError
├── InstanceGone         no broker answers at the address (any more): no socket, broker ended, helper died
├── Refused
│   ├── RequestRefused   the instance refused a request; it has the error number and a text
│   │   └── NotAllowed   who asks may not ask this, or not for that user
│   └── WaitTimeout      an answer did not come in time
├── NoEngine             no engine serves the address: no real flux-core on PATH, or another kind of socket
├── JobNotFound          the instance has no job of that id
├── JobInactive          the job has ended: nothing can be done to it any more
├── NotResized           the job is not resized: by its instance, its program, or as time was over
└── SubmitRefused        the instance does not take this job: invalid, unsatisfiable, queue disabled
"""

from __future__ import annotations

from minicluster.broker_link.errors import (
    InstanceError,
    InstanceGone,
    NotAllowed,
    RequestRefused,
    WaitTimeout,
)

__all__ = [
    "InstanceError",
    "InstanceGone",
    "JobInactive",
    "JobNotFound",
    "NoEngine",
    "NotAllowed",
    "NotResized",
    "RequestRefused",
    "SubmitRefused",
    "WaitTimeout",
]


class NoEngine(InstanceError):  # noqa: N818 - named for what happened
    """No engine can serve the address."""


class JobNotFound(InstanceError):  # noqa: N818 - named for what happened
    """The instance has no job of that id."""

    def __init__(self, jobid: int) -> None:
        self.jobid = jobid
        super().__init__(f"job {jobid}: this instance has no such job")


class JobInactive(InstanceError):  # noqa: N818 - named for what happened
    """The job has ended."""

    def __init__(self, jobid: int) -> None:
        self.jobid = jobid
        super().__init__(f"job {jobid} has ended: it can be looked at, but no longer steered")


class NotResized(InstanceError):  # noqa: N818 - named for what happened
    """The job keeps its size."""

    def __init__(self, jobid: int, reason: str) -> None:
        self.jobid = jobid
        self.reason = reason
        super().__init__(f"job {jobid}: {reason}")


class SubmitRefused(InstanceError):  # noqa: N818 - named for what happened
    """The instance does not take this job; the message is the instance's own."""
