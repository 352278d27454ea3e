"""Queues: the anonymous one, or those named by `[queues]`. The jobs of a stopped queue wait.

A queue `requires` properties: its jobs run only on nodes that have them all. They are added to the
constraints of a job at its submission, as Flux's ingest does, and replace those of a job that is moved there.
Where bursts are managed, a job is routed before that: see `minicluster.burst_routing`.
"""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_config.formats import constraints
from broker_config.formats.errors import ConstraintError
from broker_config.formats.jobspec import system_of
from minicluster.burst_routing.errors import RoutingError
from minicluster.burst_routing.routing import route
from minicluster.embedded.errors import ConfigurationError, RpcError
from minicluster.embedded.settings import configured, job_defaults

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from minicluster.burst_routing.routing import Routing

JSON = dict[str, Any]


@dataclass(slots=True)
class JobQueue:
    """One queue: what its jobs need, and its administrative state."""

    name: str | None
    requires: tuple[str, ...] = ()
    """Properties of nodes."""
    stopped: str | None = None  # the reason, "" where none was given

    @property
    def started(self) -> bool:
        """Whether its jobs may start."""
        return self.stopped is None

    @property
    def constraints(self) -> JSON:
        """The constraints of a job that has none of its own (RFC 31)."""
        return {"properties": list(self.requires)} if self.requires else {}

    def status(self) -> JSON:
        """Return the answer of job-manager.queue-status."""
        reason = {"stop_reason": self.stopped} if self.stopped else {}
        return {"enable": True, "start": self.started, **reason}


class Queues:
    """All queues of the instance; `routing` is there where bursts are managed."""

    def __init__(self, config: Mapping[str, Any], routing: Routing | None = None) -> None:
        self._routing = routing
        named = config.get("queues", {})
        self._queues: dict[str | None, JobQueue] = {
            name: JobQueue(name, _required(name, table), "")  # as Flux: named queues begin stopped
            for name, table in named.items()
        } or {None: JobQueue(None)}
        self.named = bool(named)
        defaults = job_defaults(config)
        self._default = defaults.get("queue")
        self._duration = configured(defaults.get("duration", 0), "[policy.jobspec.defaults.system] duration")

    def __iter__(self) -> Iterator[JobQueue]:
        return iter(self._queues.values())

    def __getitem__(self, name: str | None) -> JobQueue:
        """Return the queue of that name. Raises RpcError with Flux's message."""
        found = self._queues.get(name)
        if found is None:
            raise RpcError(
                errno.EINVAL, f"'{name}' is not a valid queue" if name else "a named queue is required"
            )
        return found

    def names(self) -> list[str]:
        """The names of the named queues."""
        return [name for name in self._queues if name is not None]

    def complete(self, jobspec: JSON) -> None:
        """Fill in the configured defaults and route, as Flux's ingest does. Raises RpcError."""
        system = system_of(jobspec)
        if self._default is not None:
            system.setdefault("queue", self._default)
        if self._duration and not system.get("duration"):
            system["duration"] = self._duration
        self._route(jobspec, system)
        name = system.get("queue")
        if self.named and isinstance(name, str) and name not in self._queues:
            raise RpcError(errno.EPERM, f"Invalid queue '{name}' specified")
        queue = self._queues.get(name if isinstance(name, str) else None)
        if queue is not None and queue.requires:
            system["constraints"] = _with_properties(system.get("constraints"), queue)

    def _route(self, jobspec: JSON, system: JSON) -> None:
        try:
            queue = None if self._routing is None else route(jobspec, self._routing)
        except RoutingError as refusal:
            raise RpcError(errno.EPERM, str(refusal)) from refusal
        if queue is not None:
            system["queue"] = queue

    def choose(self, name: str | None, every: bool) -> Iterable[JobQueue]:
        """Return the queues of an administrative request. Raises RpcError."""
        if name is not None:
            return (self[name],)
        if self.named and not every:
            raise RpcError(errno.EINVAL, "Use --all to apply this command to all queues")
        return tuple(self)

    def save(self) -> str:
        """Return the state that is stored for a restart."""
        return json.dumps([(queue.name, queue.stopped) for queue in self])

    def restore(self, saved: str | None) -> None:
        """Restore a stored state; queues that are not configured any more are ignored."""
        for name, *_, stopped in json.loads(saved or "[]"):
            if name in self._queues:
                self._queues[name].stopped = stopped


def _required(name: str, table: Any) -> tuple[str, ...]:
    """Return what a queue requires. Raises ConfigurationError."""
    required = table.get("requires", []) if isinstance(table, dict) else None
    problem = f"broker.toml, [queues.{name}]"
    if not isinstance(required, list):
        raise ConfigurationError(f'{problem}: a table is right, with properties such as requires = ["gpu"]')
    try:
        constraints.parse({"properties": required})
    except ConstraintError as error:
        raise ConfigurationError(f"{problem} requires: {error}") from None
    return tuple(required)


def _with_properties(given: Any, queue: JobQueue) -> Any:
    """Return a job's own constraints, and those of its queue; what cannot be read is refused later."""
    if given is None:
        return queue.constraints
    if not isinstance(given, dict):
        return given
    if "properties" not in given:
        return {"and": [given, queue.constraints]}
    own = given["properties"]
    if not isinstance(own, list):
        return given
    return {**given, "properties": [*own, *(name for name in queue.requires if name not in own)]}
