"""Queues: the anonymous one, or those named by `[queues]`. The jobs of a stopped queue wait."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_config.formats.jobspec import system_of
from minicluster.embedded.errors import RpcError
from minicluster.embedded.settings import configured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

JSON = dict[str, Any]


@dataclass(slots=True)
class JobQueue:
    """One queue's administrative state."""

    name: str | None
    stopped: str | None = None  # the reason, "" where none was given

    @property
    def started(self) -> bool:
        """Whether its jobs may start."""
        return self.stopped is None

    def status(self) -> JSON:
        """Return the answer of job-manager.queue-status."""
        reason = {"stop_reason": self.stopped} if self.stopped else {}
        return {"enable": True, "start": self.started, **reason}


class Queues:
    """All queues of the instance."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        named = config.get("queues", {})
        self._queues: dict[str | None, JobQueue] = {
            name: JobQueue(name, stopped="")  # as Flux: named queues begin stopped
            for name in named
        } or {None: JobQueue(None)}
        self.named = bool(named)
        defaults = config.get("policy", {}).get("jobspec", {}).get("defaults", {}).get("system", {})
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
        """Fill in the configured defaults, as Flux's ingest does."""
        system = system_of(jobspec)
        if self._default is not None:
            system.setdefault("queue", self._default)
        if self._duration and not system.get("duration"):
            system["duration"] = self._duration
        name = system.get("queue")
        if self.named and isinstance(name, str) and name not in self._queues:
            raise RpcError(errno.EINVAL, f"Invalid queue '{name}' specified")

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
