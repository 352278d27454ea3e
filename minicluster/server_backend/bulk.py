"""Submits of many jobs to a cluster behind a service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from broker_config.formats.jobid import parse
from minicluster.client.errors import ServiceRefused
from minicluster.instance.errors import InstanceError
from minicluster.server_backend.conversions import fields_of
from minicluster.server_backend.errors import of_instance, of_submit
from minicluster.server_backend.jobs import refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.client import Client, RemoteJob
    from minicluster.instance.records import JobRequest, Resubmission


@dataclass(frozen=True, slots=True)
class ServiceBulk:
    """See `minicluster.instance.port.BulkSubmits`."""

    client: Client
    cluster: str

    def submit(self, requests: Sequence[JobRequest]) -> list[int | InstanceError]:
        """Submit jobs; return each one's id or error."""
        with of_instance():
            found = self.client.bulk.submit(self.cluster, [fields_of(each) for each in requests])
        return [_outcome(each) for each in found]

    def resubmit(self, jobs: Sequence[Resubmission]) -> NoReturn:  # noqa: ARG002
        """Raise NotOffered."""
        refuse("submit of jobs as they were")


def _outcome(found: RemoteJob | ServiceRefused) -> int | InstanceError:
    try:
        with of_submit():
            if isinstance(found, ServiceRefused):
                raise found
            return parse(found.id)
    except InstanceError as error:
        return error
