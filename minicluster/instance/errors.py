"""What can go wrong between us and an instance, as one tree.

InstanceError
├── NoEngine           no engine can serve the address: no real flux-core on PATH, or the wrong kind of socket
├── InstanceGone       nobody answers at the address (any more): socket absent, broker ended, helper died
├── JobNotFound        the instance has no job of that id
├── JobInactive        the job has ended: nothing can be done to it any more
├── SubmitRefused      the instance does not take this job: invalid, unsatisfiable, queue disabled
├── RequestRefused     the instance refused anything else; carries its error number and words
└── WaitTimeout        what was waited for did not come in time
"""

from __future__ import annotations

import os


class InstanceError(Exception):
    """Root of the tree."""


class NoEngine(InstanceError):  # noqa: N818 - named for what happened
    """No engine can serve the address."""


class InstanceGone(InstanceError):  # noqa: N818 - named for what happened
    """Nobody answers at the address (any more)."""


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


class SubmitRefused(InstanceError):  # noqa: N818 - named for what happened
    """The instance does not take this job; the words are the instance's own."""


class RequestRefused(InstanceError):  # noqa: N818 - named for what happened
    """The instance refused a request: `errnum` as in errno.h, `text` in its own words."""

    def __init__(self, topic: str, errnum: int, text: str = "") -> None:
        self.topic = topic
        self.errnum = errnum
        self.text = text or os.strerror(errnum)
        super().__init__(f"{topic}: {self.text}")


class WaitTimeout(InstanceError, TimeoutError):  # noqa: N818 - named for what happened
    """What was waited for did not come in time."""
