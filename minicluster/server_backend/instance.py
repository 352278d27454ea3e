"""The instance of a cluster behind a service, as far as the service shows it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Self

from minicluster.instance.errors import WaitTimeout
from minicluster.server_backend.bulk import ServiceBulk
from minicluster.server_backend.conversions import brokers_of, queue_of, resources_of, stats_of
from minicluster.server_backend.errors import of_instance
from minicluster.server_backend.jobs import ServiceJobs, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.client import Client
    from minicluster.instance.records import Broker, QueueResources, QueueStats, QueueStatus, Resources

IDLE_POLL = 1.0
"""Seconds between two looks at whether jobs hold resources."""


class ServiceQueues:
    """The queues of a cluster."""

    def __init__(self, client: Client, cluster: str) -> None:
        self._client = client
        self._cluster = cluster

    def all(self) -> list[QueueStatus]:
        """The queues."""
        with of_instance():
            found = self._client.queues(self._cluster)
        return [queue_of(each, alone=len(found) == 1) for each in found]

    def stats(self) -> QueueStats:
        """How many jobs there are; for who may not see all, how many own ones."""
        with of_instance():
            return stats_of(self._client.stats(self._cluster))

    def stop(self, name: str = "", reason: str = "") -> NoReturn:  # noqa: ARG002
        """Raise NotOffered."""
        refuse("to stop a queue")

    def start(self, name: str = "") -> NoReturn:  # noqa: ARG002
        """Raise NotOffered."""
        refuse("to start a queue")

    def update(self, jobid: int, *, queue: str = "", duration: float | None = None) -> NoReturn:  # noqa: ARG002
        """Raise NotOffered."""
        refuse("to change the queue or the time limit of a job")

    def wait_idle(self, timeout: float | None = None) -> int:
        """Wait until no job holds resources; return how many are pending. Raises WaitTimeout (seconds)."""
        end = None if timeout is None else time.monotonic() + timeout
        while (found := self.stats()).running:
            if end is not None and time.monotonic() + IDLE_POLL > end:
                raise WaitTimeout(f"{found.running} jobs run after {timeout:g} s")
            time.sleep(IDLE_POLL)
        return found.pending


class ServiceNodes:
    """The nodes of a cluster."""

    def __init__(self, client: Client, cluster: str) -> None:
        self._client = client
        self._cluster = cluster

    def brokers(self) -> list[Broker]:
        """The brokers, by rank."""
        with of_instance():
            return brokers_of(self._client.nodes(self._cluster))

    def resources(self) -> Resources:
        """The resources of its own nodes."""
        return self.by_queue().ordinary

    def by_queue(self) -> QueueResources:
        """The resources, by queue."""
        with of_instance():
            return resources_of(self._client.nodes(self._cluster))

    def drain(self, targets: str, reason: str = "") -> NoReturn:  # noqa: ARG002
        """Raise NotOffered."""
        refuse("to drain nodes")

    def undrain(self, targets: str) -> NoReturn:  # noqa: ARG002
        """Raise NotOffered."""
        refuse("to undrain nodes")


class ServiceLifecycle:
    """The life of an instance: not in the hands of its service's users."""

    def attributes(self) -> dict[str, str]:
        """Return none: they are the instance owner's."""
        return {}

    def dump(self, path: str) -> NoReturn:  # noqa: ARG002
        """Raise NotOffered."""
        refuse("to dump an instance")

    def shutdown(self, dump: str = "") -> NoReturn:  # noqa: ARG002
        """Raise NotOffered."""
        refuse("to end an instance")


@dataclass(frozen=True, slots=True)
class ServiceLinks:
    """Stands where an instance has links to its broker: there are none."""

    inherits_environment: bool = True
    """Whether users have the names that they have here: all jobs that are listed are one's own."""

    def take(self) -> NoReturn:
        """Raise NotOffered."""
        refuse("a link to the broker")


@dataclass(frozen=True, slots=True)
class ServiceSample:
    """One number of a queue (docs/metrics.md)."""

    name: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


class ServiceInstance:
    """The instance of a cluster. It also reads the numbers of the queue, which others read at the broker."""

    engine = "service"

    def __init__(self, client: Client, cluster: str) -> None:
        self.uri = client.server
        self.jobs = ServiceJobs(client, cluster)
        self.bulk = ServiceBulk(client, cluster)
        self.queues = ServiceQueues(client, cluster)
        self.nodes = ServiceNodes(client, cluster)
        self.life = ServiceLifecycle()
        self.links = ServiceLinks()

    def samples(self) -> Sequence[ServiceSample]:
        """Return the present numbers of the queue, as far as the service has them."""
        stats, resources = self.queues.stats(), self.nodes.resources()
        numbers: dict[str, Any] = {
            "flux_nodes_up": resources.up.nodes,
            "flux_nodes_free": resources.free.nodes,
            "flux_nodes_drained": resources.drained.nodes,
            "flux_jobs_pending": stats.pending,
            "flux_jobs_running": stats.running,
        }
        states = {"pending": stats.pending, "running": stats.running, "inactive": stats.inactive}
        return [
            *(ServiceSample(name, value) for name, value in numbers.items()),
            *(ServiceSample("flux_jobs", count, {"state": state}) for state, count in states.items()),
        ]

    def as_user(self, uid: int) -> NoReturn:  # noqa: ARG002
        """Raise NotOffered: the service knows its users by their tokens."""
        refuse("to ask as another user")

    def close(self) -> None:
        """Do nothing: the client is closed by who made it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
