"""Queues: the anonymous one, or those named by `[queues]`. Disabled: no submission. Stopped: no starting."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minicluster.embedded.errors import ConfigurationError, RpcError

JSON = dict[str, Any]


@dataclass(slots=True)
class Queue:
    """One queue's administrative state."""

    name: str | None
    requires: tuple[str, ...] = ()
    disabled: str | None = None  # the reason
    stopped: str | None = None  # the reason, "" where none was given
    temporary: bool = False  # the stop is not kept over a restart

    @property
    def started(self) -> bool:
        """Whether its jobs may start."""
        return self.stopped is None

    def status(self) -> JSON:
        """The answer of job-manager.queue-status."""
        answer: JSON = {"enable": self.disabled is None, "start": self.started}
        if self.disabled is not None:
            answer["disable_reason"] = self.disabled
        if self.stopped:
            answer["stop_reason"] = self.stopped
        return answer


class Queues:
    """All queues of the instance."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        named = config.get("queues", {})
        self._queues = {
            name: Queue(name, _requires(name, table), stopped="")  # as Flux: named queues begin stopped
            for name, table in named.items()
        }
        self._anonymous = None if self._queues else Queue(None)
        self.named = bool(self._queues)
        defaults = config.get("policy", {}).get("jobspec", {}).get("defaults", {}).get("system", {})
        self._defaults = {key: defaults[key] for key in ("queue", "duration") if key in defaults}

    def __iter__(self) -> Iterator[Queue]:
        return iter(self._queues.values() if self._anonymous is None else (self._anonymous,))

    def __getitem__(self, name: str | None) -> Queue:
        """The queue of that name. Raises RpcError with Flux's words."""
        found = self._anonymous if name is None else self._queues.get(name)
        if found is None:
            raise RpcError(
                errno.EINVAL, f"'{name}' is not a valid queue" if name else "a named queue is required"
            )
        return found

    def names(self) -> list[str]:
        """The named queues."""
        return list(self._queues)

    def complete(self, jobspec: JSON) -> JSON:
        """Fill in the configured defaults and what the job's queue requires, as Flux's ingest does."""
        system = jobspec.get("attributes", {}).get("system")
        if not isinstance(system, dict):
            return jobspec
        if "queue" not in system and "queue" in self._defaults:
            system["queue"] = self._defaults["queue"]
        if not system.get("duration") and "duration" in self._defaults:
            system["duration"] = seconds(self._defaults["duration"])
        name = system.get("queue")
        if self.named and isinstance(name, str) and name not in self._queues:
            raise RpcError(errno.EINVAL, f"Invalid queue '{name}' specified")
        queue = self._queues.get(name) if isinstance(name, str) else None
        if queue is not None and queue.requires:
            wanted = {"properties": list(queue.requires)}
            given = system.get("constraints")
            system["constraints"] = {"and": [given, wanted]} if given else wanted
        return jobspec

    def check_submit(self, name: str | None) -> None:
        """Refuse a submission to a queue that is unknown or disabled."""
        queue = self[name]
        if queue.disabled is not None:
            to = f" to {name}" if name else ""
            raise RpcError(errno.EINVAL, f"job submission{to} is disabled: {queue.disabled}")

    def choose(self, name: str | None, every: bool) -> Iterable[Queue]:
        """The queues that an administrative request means."""
        if name is not None:
            return (self[name],)
        if self.named and not every:
            raise RpcError(errno.EINVAL, "Use --all to apply this command to all queues")
        return tuple(self)

    def save(self) -> str:
        """The state to be kept over a restart."""
        return json.dumps([(q.name, q.disabled, None if q.temporary else q.stopped) for q in self])

    def restore(self, saved: str | None) -> None:
        """Take up a kept state; queues that are not configured any more are passed over."""
        known = {queue.name: queue for queue in self}
        for name, disabled, stopped in json.loads(saved or "[]"):
            if name in known:
                known[name].disabled, known[name].stopped = disabled, stopped


def seconds(duration: Any) -> float:
    """A Flux Standard Duration (RFC 23) as seconds: a number, or digits with ms, s, m, h or d."""
    if isinstance(duration, int | float) and not isinstance(duration, bool):
        return float(duration)
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    unit = next((name for name in units if str(duration).endswith(name)), "")
    try:
        return float(str(duration).removesuffix(unit)) * units.get(unit, 1.0)
    except ValueError:
        raise ConfigurationError(
            f"duration {duration!r} is no Flux Standard Duration such as 30, 90s, 5m, 1.5h or 2d"
        ) from None


def _requires(name: str, table: Any) -> tuple[str, ...]:
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"queue {name}: configuration must be a table")
    requires = table.get("requires", [])
    if not isinstance(requires, list) or not all(isinstance(each, str) for each in requires):
        raise ConfigurationError(f"queues.{name}.requires must be an array of property names")
    return tuple(requires)
