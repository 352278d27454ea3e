"""The client of one service."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Self

from minicluster.client import records
from minicluster.client.addresses import path, server_of
from minicluster.client.administration import PersonalTokens, UserAccounts
from minicluster.client.bulk import BulkRequests
from minicluster.client.connection import Call, ServiceConnection
from minicluster.client.credentials import GivenToken, server_in, token_in
from minicluster.client.errors import WrongServer
from minicluster.client.jobs import RemoteJob
from minicluster.client.logins import LoginFile
from minicluster.client.quotas import QuotaRules
from minicluster.client.records import member, read
from minicluster.client.timing import SYSTEM, Timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from minicluster.client.records import (
        CancelResult,
        ClusterRecord,
        JobCounts,
        JobStatus,
        NodesRecord,
        QueueRecord,
    )
    from minicluster.client.retries import RetryPolicy

PAGE = 200
MAX_CANCELED = 1000
"""Jobs of one request."""


class Client:
    """What a user can do at a service. Raises the errors of `minicluster.client.errors`.

    Without a server it is that of MINICLUSTER_SERVER. Without a token it is that of MINICLUSTER_TOKEN, else
    the login that `minicluster login` has stored. `ca_file` names the certificates (PEM) of those who may
    vouch for the server, in place of the usual ones. It may be used by several threads.
    """

    def __init__(
        self,
        server: str = "",
        token: str = "",
        *,
        ca_file: str = "",
        logins: LoginFile | None = None,
        retry: RetryPolicy | None = None,
        timing: Timing = SYSTEM,
    ) -> None:
        self.server = server_of(server) if server else server_in()
        if not self.server:
            raise WrongServer("which server? Give its address, or set MINICLUSTER_SERVER")
        token = token or token_in(self.server)
        if token:
            self._connection = ServiceConnection(
                self.server, GivenToken(token), ca_file=ca_file, retry=retry, timing=timing
            )
        else:
            from minicluster.client.stored import stored_connection  # noqa: PLC0415 - OAuth, if it is needed

            self._connection = stored_connection(
                self.server, logins or LoginFile(), ca_file=ca_file, retry=retry, timing=timing
            )
        self.bulk = BulkRequests(self._connection)
        self.tokens = PersonalTokens(self._connection)
        self.users = UserAccounts(self._connection)
        self.quotas = QuotaRules(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are open."""
        self._connection.close()

    def me(self) -> Mapping[str, Any]:
        """Return who asks: id, name, role, scopes, and the scopes at each cluster."""
        found: Mapping[str, Any] = self._connection.get("/v2/me")
        return found

    def clusters(self) -> list[ClusterRecord]:
        """Return the clusters that one may use."""
        found = member(self._connection.get("/v2/clusters"), "clusters")
        return [read(records.ClusterRecord, each) for each in found]

    def cluster(self, name: str) -> ClusterRecord:
        """Return one of them. Raises NotFound."""
        return read(records.ClusterRecord, self._connection.get(_of(name)))

    def nodes(self, cluster: str) -> NodesRecord:
        """Return the nodes of a cluster, and their resources."""
        return records.nodes_record(self._connection.get(f"{_of(cluster)}/nodes"))

    def queues(self, cluster: str) -> list[QueueRecord]:
        """Return the queues of a cluster."""
        found = member(self._connection.get(f"{_of(cluster)}/queues"), "queues")
        return [read(records.QueueRecord, each) for each in found]

    def stats(self, cluster: str) -> JobCounts:
        """Return how many jobs there are; for who may not see all, how many own ones."""
        found = self._connection.get(f"{_of(cluster)}/stats")
        return read(records.JobCounts, member(found, "all") or member(found, "own"))

    def submit(self, cluster: str, command: Sequence[str] = (), *, key: str = "", **fields: Any) -> RemoteJob:
        """Submit a job, once, however often the request has to be sent.

        The fields are those of POST /v2/clusters/{cluster}/jobs: tasks, nodes, cores_per_task, time_limit,
        environment, script, … `cwd` is a directory where the cluster runs; without it jobs run where
        `minicluster serve` was started, or in the MiniCluster's `workingDir`.

        `key` is the Idempotency-Key, to be given by who may have to try again after
        an end of this process. Raises Invalid, QuotaExceeded.
        """
        body = {**({"command": list(command)} if command else {}), **fields}
        call = Call("POST", f"{_of(cluster)}/jobs", body=body, key=key or str(uuid.uuid4()))
        return self.job(cluster, str(member(self._connection.call(call), "id")))

    def unsatisfiable(self, cluster: str, command: Sequence[str] = (), **fields: Any) -> str:
        """Return why a job could not run at a cluster as it is; empty: it could."""
        body = {**({"command": list(command)} if command else {}), **fields}
        call = Call("POST", f"{_of(cluster)}/jobs:validate", body=body, repeatable=True)
        return str(member(self._connection.call(call), "reason"))

    def job(self, cluster: str, id: str) -> RemoteJob:  # noqa: A002 - the service's name
        """Return a job in hand; nothing is asked of the service."""
        return RemoteJob(self._connection, cluster, id)

    def jobs(self, cluster: str, *, limit: int = PAGE, **filters: Any) -> Iterator[JobStatus]:
        """Yield jobs, latest first, page by page.

        The filters are those of GET /v2/clusters/{cluster}/jobs: state, result, queue, name, owner, since,
        until; `limit` is how many one request asks for. Raises Invalid.
        """
        query = {name: value for name, value in filters.items() if value} | {"limit": limit}
        while True:
            page = self._connection.get(f"{_of(cluster)}/jobs", query)
            yield from map(records.job_record, member(page, "jobs"))
            cursor = member(page, "next")
            if cursor is None:
                return
            query["cursor"] = str(cursor)

    def cancel(self, cluster: str, ids: Iterable[str], reason: str = "") -> list[CancelResult]:
        """Cancel jobs, and return what became of each."""
        listed, found = list(ids), []
        for start in range(0, len(listed), MAX_CANCELED):
            body = {"ids": listed[start : start + MAX_CANCELED], "reason": reason}
            call = Call("POST", f"{_of(cluster)}/jobs:cancel", body=body, repeatable=True)
            found += member(self._connection.call(call), "results")
        return [read(records.CancelResult, each) for each in found]


def _of(cluster: str) -> str:
    return path("v2", "clusters", cluster)
