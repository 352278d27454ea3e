"""Many jobs with few requests."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from minicluster.client.addresses import path
from minicluster.client.connection import Call
from minicluster.client.errors import Invalid, QuotaExceeded, refusal
from minicluster.client.jobs import RemoteJob
from minicluster.client.records import member

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from minicluster.client.connection import ServiceConnection
    from minicluster.client.errors import ServiceRefused

MAX_JOBS = 100
"""Jobs of one request."""
MAX_BODY = 768 << 10
"""Bytes of these jobs, below the service's limit of a mebibyte; a larger job is sent alone."""


class BulkRequests:
    """Submits of many jobs."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def submit(
        self, cluster: str, jobs: Iterable[Mapping[str, Any]], *, key: str = ""
    ) -> list[RemoteJob | ServiceRefused]:
        """Submit jobs, each once; return each one's job in hand, or why it has none.

        The fields of each are those of `Client.submit`, `command` among them; `key` is as there. A request is
        refused as a whole where one of its jobs is wrong, or beyond a quota. Ids need not be in the order of
        the jobs. Raises the errors that are not about a job, such as ServerAway; some jobs may have been
        submitted before.
        """
        key = key or str(uuid.uuid4())
        target = path("v2", "clusters", cluster) + "/jobs:submit"
        found: list[RemoteJob | ServiceRefused] = []
        for batch in _batches(jobs):
            call = Call("POST", target, body={"jobs": batch}, key=f"{key} {len(found)}")
            try:
                found += [self._outcome(cluster, each) for each in self._connection.results(call)]
            except (Invalid, QuotaExceeded) as error:
                found += [error] * len(batch)
        return found

    def _outcome(self, cluster: str, result: Any) -> RemoteJob | ServiceRefused:
        status = int(member(result, "status"))
        if status != 201:
            return refusal(status, result)
        return RemoteJob(self._connection, cluster, str(member(result, "id")))


def _batches(jobs: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield jobs, as many at a time as one request may have."""
    batch: list[Mapping[str, Any]] = []
    size = 0
    for each in jobs:
        length = len(json.dumps(each))
        if batch and (len(batch) == MAX_JOBS or size + length > MAX_BODY):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += length
    if batch:
        yield batch
