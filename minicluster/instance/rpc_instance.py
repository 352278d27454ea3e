"""The port over links to a broker of either engine: the topics are the same."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from broker_config.formats import hostlist
from minicluster.instance import resource_sets, wire
from minicluster.instance.errors import InstanceGone, RequestRefused, WaitTimeout
from minicluster.instance.job_logs import JobLogs
from minicluster.instance.links.shared import SharedLinks
from minicluster.instance.links.user import of_user
from minicluster.instance.records import Broker, QueueResources, QueueStats, QueueStatus, Resources
from minicluster.instance.rpc_bulk import RpcBulk
from minicluster.instance.rpc_jobs import RpcJobs, steer
from minicluster.instance.rpc_overview import RpcOverview

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from minicluster.instance.links.shared import Endpoint

LOG_INFO = 6


class RpcInstance:
    """A running instance, by its topics; see `minicluster.instance.port`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._views: WeakSet[RpcInstance] = WeakSet()
        self._links = SharedLinks(endpoint)
        self.jobs = RpcJobs(self._links, JobLogs(self._links))
        self.bulk = RpcBulk(self._links)
        self.queues = RpcQueues(self._links)
        self.nodes = RpcNodes(self._links)
        self.overview = RpcOverview(self._links, self.jobs, self.queues, self.nodes)
        self.life = RpcLifecycle(self._links)

    @property
    def engine(self) -> str:
        """Either "flux" or "embedded"."""
        return self._links.engine

    @property
    def uri(self) -> str:
        """The broker's address."""
        return self._links.uri

    @property
    def links(self) -> SharedLinks:
        """The links to the broker, for requests that the port does not have."""
        return self._links

    def as_user(self, uid: int) -> RpcInstance:
        """Return a view whose every request is this user's."""
        view = RpcInstance(of_user(self._links, self._endpoint, uid))
        self._views.add(view)
        return view

    def close(self) -> None:
        """Hang up."""
        for view in tuple(self._views):
            view.close()
        self._links.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RpcQueues:
    """See `minicluster.instance.port.JobQueues`."""

    def __init__(self, links: SharedLinks) -> None:
        self._links = links

    def stats(self) -> QueueStats:
        """How many jobs are in which state."""
        return wire.stats(self._links.rpc("job-list.job-stats", {}))

    def all(self) -> list[QueueStatus]:
        """The queues."""
        names = [str(name) for name in self._links.rpc("job-manager.queue-list", {})["queues"]]
        return [self._queue(name) for name in names or [""]]

    def _queue(self, name: str) -> QueueStatus:
        named = {"name": name} if name else {}
        return wire.queue(name, self._links.rpc("job-manager.queue-status", named))

    def stop(self, name: str = "", reason: str = "") -> None:
        """Start no more jobs."""
        self._start_queue(name, start=False, **({"reason": reason} if reason else {}))

    def start(self, name: str = "") -> None:
        """Start jobs again."""
        self._start_queue(name, start=True)

    def _start_queue(self, name: str, **payload: Any) -> None:
        which = {"name": name, "all": False} if name else {"all": True}
        self._links.rpc("job-manager.queue-start", {**payload, **which})

    def update(self, jobid: int, *, queue: str = "", duration: float | None = None) -> None:
        """Move a job to another queue, or set its time limit."""
        updates: dict[str, Any] = {"attributes.system.queue": queue} if queue else {}
        updates |= {} if duration is None else {"attributes.system.duration": float(duration)}
        steer(self._links, "job-manager.update", jobid, updates=updates)

    def wait_idle(self, timeout: float | None = None) -> int:
        """Wait until no job holds resources."""
        try:
            return int(self._links.rpc("job-manager.idle", {}, timeout)["pending"])
        except WaitTimeout:
            raise WaitTimeout(f"jobs still hold resources after {timeout:g} s") from None


class RpcNodes:
    """See `minicluster.instance.port.Nodes`."""

    def __init__(self, links: SharedLinks) -> None:
        self._links = links

    def brokers(self) -> list[Broker]:
        """Every configured broker."""
        health = self._links.rpc("overlay.health", {})
        states = {child["rank"]: child["status"] for child in health.get("children", ())}
        states[health["rank"]] = health["status"]
        hosts = hostlist.decode(_attribute(self._links, "hostlist"))
        return [Broker(rank, host, states.get(rank, "offline")) for rank, host in enumerate(hosts)]

    def resources(self) -> Resources:
        """The resources: all, allocated and free."""
        sched = self._links.rpc("resource.sched-status", {})
        return resource_sets.resources(sched, self._links.rpc("resource.status", {}))

    def by_queue(self) -> QueueResources:
        """The resources of jobs, by their queues."""
        sched = self._links.rpc("resource.sched-status", {})
        return resource_sets.by_queue(sched, self._links.rpc("resource.status", {}))

    def drain(self, targets: str, reason: str = "") -> None:
        """Give no new work to these brokers."""
        self._links.rpc("resource.drain", {"targets": targets, **({"reason": reason} if reason else {})})

    def undrain(self, targets: str) -> None:
        """Give work to drained brokers again."""
        self._links.rpc("resource.undrain", {"targets": targets})


class RpcLifecycle:
    """See `minicluster.instance.port.Lifecycle`."""

    def __init__(self, links: SharedLinks) -> None:
        self._links = links

    def attributes(self) -> Mapping[str, str]:
        """The broker attributes."""
        values: dict[str, str] = {}
        for name in sorted(self._links.rpc("attr.list", {})["names"]):
            with contextlib.suppress(RequestRefused):  # real Flux lists some that have no value
                values[name] = _attribute(self._links, name)
        return values

    def dump(self, path: str) -> None:
        """Save the instance's data."""
        self._links.dump(path)

    def shutdown(self, dump: str = "") -> None:
        """End the instance."""
        if dump:
            self._links.rpc("attr.set", {"name": "content.dump", "value": dump})
        with (
            contextlib.suppress(InstanceGone),
            self._links.stream("shutdown.start", {"loglevel": LOG_INFO}) as log,
        ):
            for _line in log:
                pass
        self._links.close()  # the lead waits for that


def _attribute(links: SharedLinks, name: str) -> str:
    value: str = links.rpc("attr.get", {"name": name})["value"]
    return value
