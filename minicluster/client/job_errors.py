"""How a job ended that did not complete, as errors below ClientError."""

# ruff: noqa: N818 - errors are named for the state that they report

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.client.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.client.records import JobStatus


class JobFailure(ClientError):
    """A job ended otherwise than well. `stderr` has the last lines of its standard error, where it exited."""

    def __init__(self, record: JobStatus, stderr: Sequence[str] = ()) -> None:
        self.record = record
        self.stderr = tuple(stderr)
        end = "; its standard error ends with" if stderr else ""
        super().__init__("\n  ".join([f"job {record.id} {record.outcome}{end}", *stderr]))


class JobCanceled(JobFailure):
    """A job was cancelled."""
