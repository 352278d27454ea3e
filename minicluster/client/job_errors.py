"""How a job ended that did not complete, as errors below ClientError."""

# ruff: noqa: N818 - errors are named for the state that they report

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.client.errors import ClientError

if TYPE_CHECKING:
    from minicluster.client.records import JobStatus


class JobFailure(ClientError):
    """A job ended otherwise than well."""

    def __init__(self, record: JobStatus) -> None:
        self.record = record
        super().__init__(f"job {record.id} {record.outcome}")


class JobCanceled(JobFailure):
    """A job was cancelled."""
