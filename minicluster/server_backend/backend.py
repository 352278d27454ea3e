"""Clusters behind a service of the RESTful API, with the rights of one's login there.

This module imports the client only within functions: commands for other back ends must not wait for it.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from minicluster.backends.port import Backend, BackendKind, BackendOption, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from minicluster.backends.port import Reporter, Write
    from minicluster.backends.records import (
        ClusterListing,
        ClusterSample,
        ClusterSummary,
        Following,
        StatusReport,
        Watched,
    )
    from minicluster.client import Client
    from minicluster.client.records import ClusterRecord
    from minicluster.instance.port import Instance
    from minicluster.server_backend.instance import ServiceInstance

T = TypeVar("T")
COLUMNS = ("name", "phase", "tenancy", "namespace", "reason")
FIELDS = (
    *("name", "server", "phase", "size", "tenancy", "namespace"),
    *("brokers_online", "cores", "cores_free"),
    *("jobs_pending", "jobs_running", "jobs_ended"),
)


@dataclass(frozen=True, slots=True)
class ServerBackend(Backend):
    """The clusters that one may use at a server."""

    given: Mapping[str, Any]
    reporter: Reporter
    location: ClassVar[str] = "a server"

    @property
    def words(self) -> str:
        """The options that lead to the same server."""
        return f" --on server --server {_server(self)}"

    def clusters(self) -> ClusterListing:
        """Return the clusters that one may use."""
        from minicluster.backends import records

        with _client(self) as client:
            found = tuple(_summary(client, each) for each in client.clusters())
        return records.ClusterListing(found, COLUMNS, "there is no cluster that you may use")

    def status(self, name: str, view: Callable[[Instance, int], T]) -> tuple[StatusReport, T | None]:
        """Return the status of a cluster, and what `view` returns of its instance."""
        from minicluster.instance.errors import InstanceError

        with _cluster(self, name) as (client, found, instance):
            if found.state != "ready":
                return _away(client, found), None
            report = _report(client, found, instance)
            try:
                return report, view(cast("Instance", instance), 1)
            except InstanceError as error:
                self.reporter.notice(f"its queue cannot be shown: {error}")
                return report, None

    def watch(self, name: str, work: Callable[[Instance, Watched], T]) -> T:
        """Run `work`, which samples the cluster at intervals."""
        from minicluster.backends import records

        with _cluster(self, name) as (client, _, instance):
            sample = records.Watched(lambda: _sample(client, name))
            return work(cast("Instance", instance), sample)

    def attach(self, name: str, write: Write, work: Callable[[Instance, Following], int] | None) -> int:  # noqa: ARG002
        """Follow a job."""
        from minicluster.backends import records

        if work is None:
            refuse(self, "attach without a JOB")
        return self.ask(name, lambda instance: work(instance, records.Following()))

    def ask(self, name: str, work: Callable[[Instance], T]) -> T:
        """Run `work` with a cluster's instance."""
        with _cluster(self, name) as (_, _, instance):
            return work(cast("Instance", instance))

    def job_environment(self, name: str, *, whole: bool = False) -> Mapping[str, str] | None:
        """Return an empty one, if the whole is needed: the service puts what a job has over its own."""
        if not whole:
            return None
        with _cluster(self, name):
            return {}


def _server(backend: ServerBackend) -> str:
    """Return the address of the server: that of --server, else the only one that one is logged in to."""
    from minicluster.backends.errors import WrongRequest
    from minicluster.client.addresses import server_of
    from minicluster.client.credentials import server_in
    from minicluster.client.logins import LoginFile
    from minicluster.server_backend.errors import of_backend

    with of_backend():
        given = backend.given["server"]
        server = server_of(given) if given else server_in()
        if server:
            return server
        found = LoginFile().servers()
    if len(found) == 1:
        return found[0]
    known = (
        f"you are logged in to {', '.join(found)}"
        if found
        else "`minicluster login --server URL` comes first"
    )
    raise WrongRequest(f"which server? Give --server, or set MINICLUSTER_SERVER: {known}")


@contextlib.contextmanager
def _client(backend: ServerBackend, cluster: str = "") -> Iterator[Client]:
    """Yield a client; its errors are raised as those of a back end."""
    from minicluster.client import Client
    from minicluster.server_backend.errors import of_backend

    server = _server(backend)
    with of_backend(cluster), Client(server, ca_file=backend.given["ca_file"]) as client:
        yield client


@contextlib.contextmanager
def _cluster(backend: ServerBackend, name: str) -> Iterator[tuple[Client, ClusterRecord, ServiceInstance]]:
    """Yield a client, a cluster of its server, and its instance. Raises NoCluster."""
    from minicluster.server_backend.instance import ServiceInstance

    with _client(backend, name) as client:
        yield client, client.cluster(name), ServiceInstance(client, name)


def _summary(client: Client, found: ClusterRecord, size: int | None = None) -> ClusterSummary:
    from minicluster.backends import records

    more = {
        "server": client.server,
        "tenancy": found.tenancy,
        "namespace": found.namespace,
        "reason": found.reason,
    }
    if size is None:
        size = len(client.nodes(found.name).nodes) if found.state == "ready" else 0
    return records.ClusterSummary(found.name, _phase(found), size, None, 0.0, more)


def _phase(found: ClusterRecord) -> str:
    return {"ready": "Running", "away": "Away"}.get(found.state, found.state)


def _sample(client: Client, name: str) -> ClusterSample:
    from minicluster.backends import records

    found = client.cluster(name)
    size = len(client.nodes(name).nodes) if found.state == "ready" else 0
    return records.ClusterSample({"name": name, "phase": _phase(found), "size": size, "max_size": None})


def _away(client: Client, found: ClusterRecord) -> StatusReport:
    from minicluster.backends import records

    return records.StatusReport(
        _summary(client, found, 0), ("name", "server", "phase", "reason", "tenancy", "namespace")
    )


def _report(client: Client, found: ClusterRecord, instance: ServiceInstance) -> StatusReport:
    from minicluster.backends import records

    nodes = client.nodes(found.name)
    stats, resources = instance.queues.stats(), instance.nodes.resources()
    rows = tuple(
        {"rank": each.rank, "host": each.host, "state": each.state, "drained": each.drained is not None}
        for each in nodes.nodes
    )
    values = {
        "brokers_online": resources.all.nodes - resources.offline.nodes,
        "cores": resources.all.cores,
        "cores_free": resources.free.cores,
        "jobs_pending": stats.pending,
        "jobs_running": stats.running,
        "jobs_ended": stats.inactive,
    }
    table = records.StatusTable("brokers", rows, ("rank", "state", "drained", "host"))
    return records.StatusReport(_summary(client, found, len(rows)), FIELDS, values, tables=(table,))


def _servers(given: Mapping[str, Any]) -> Mapping[str, str]:  # noqa: ARG001 - see BackendOption
    """Return the servers that one is logged in to."""
    from minicluster.client.logins import LoginFile

    return dict.fromkeys(LoginFile().servers(), "")


def _is_set() -> bool:
    return bool(os.environ.get("MINICLUSTER_SERVER"))


KIND = BackendKind(
    ServerBackend,
    (
        BackendOption(
            ("--server",),
            "Clusters behind this server, or that of $MINICLUSTER_SERVER; implies --on server.",
            metavar="URL",
            values=_servers,
            chooses=_is_set,
        ),
        BackendOption(
            ("--ca-file",),
            "Server: certificates (PEM) of those who may vouch for it.",
            metavar="FILE",
        ),
    ),
)
