"""What a tunnel connects and whose it is, and how it is; and the directory in which a process has both."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from burst.joining.records import LeadHost, LeadRoute
from minicluster.local import processes

if TYPE_CHECKING:
    from pathlib import Path

_SHOWN = 500
"""Characters of the end of its log."""


@dataclass(frozen=True, slots=True)
class ReachTask:
    """A burst's relay, and the lead that its followers are led to."""

    label: str
    installation: str
    nodes: int
    created: float
    """In seconds since 1970, as `until`."""
    until: float
    """When it ends, even if nobody is left to end it."""
    kubeconfig: str
    """Of the relay's cluster; nothing in it may run a program."""
    context: str
    namespace: str
    port: int
    """Of the relay, at its pod's loopback."""
    lead: LeadRoute | LeadHost


class ReachState(Protocol):
    """How the lead's side of a tunnel is, wherever it runs."""

    @property
    def is_ready(self) -> bool:
        """Whether a follower that comes now is led to the lead."""

    @property
    def reached(self) -> bool:
        """Whether the relay has ever answered."""

    @property
    def problem(self) -> str:
        """Why it is not ready; empty where that is not known."""

    @property
    def refused(self) -> bool:
        """Whether an API server does not allow it."""


def values_of(task: ReachTask) -> dict[str, Any]:
    """Return a task as JSON has it. Nothing in it is secret."""
    found = {each.name: getattr(task, each.name) for each in dataclasses.fields(task)}
    return {**found, "lead": task.lead._asdict()}


def task_of(found: Any) -> ReachTask | None:
    """Return a task from JSON; what is none is None."""
    try:
        lead = found["lead"]
        return ReachTask(**{**found, "lead": LeadHost(**lead) if "host" in lead else LeadRoute(**lead)})
    except (TypeError, KeyError):
        return None


@dataclass(frozen=True, slots=True)
class ReachStatus:
    """A process, and its connections to the relay."""

    pid: int
    start_time: int
    """In clock ticks since boot: it distinguishes processes with the same id."""
    idle: int = 0
    """Connections to the relay that wait for a follower."""
    pairs: int = 0
    """Connections of followers to the lead."""
    reached: bool = False
    """Whether the relay has ever answered."""
    problem: str = ""
    """Why the last connection failed; empty: it did not."""
    refused: bool = False
    """Whether an API server does not allow it."""

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return bool(self.start_time) and processes.start_time(self.pid) == self.start_time

    @property
    def is_ready(self) -> bool:
        """Whether a follower that comes now is led to the lead."""
        return self.is_alive and self.idle + self.pairs > 0


@dataclass(frozen=True, slots=True)
class ReachDirectory:
    """The paths of one tunnel, and its records; a record that is not there, or is no record, is None."""

    path: Path

    @property
    def log(self) -> Path:
        """What its process writes."""
        return self.path / "log"

    @property
    def lock(self) -> Path:
        """The process has it for as long as it lives, so that there is one."""
        return self.path / "lock"

    def task(self) -> ReachTask | None:
        """Return what it is for."""
        return task_of(self._read("task.json"))

    def status(self) -> ReachStatus | None:
        """Return how it is; None before its process has begun."""
        found = self._read("status.json")
        try:
            return ReachStatus(**found) if found is not None else None
        except TypeError:
            return None

    def write(self, record: ReachTask | ReachStatus) -> None:
        """Write a record; a reader sees the former or the new one. Raises OSError."""
        if isinstance(record, ReachTask):
            name, values = "task.json", values_of(record)
        else:
            name, values = "status.json", dataclasses.asdict(record)
        fresh = self.path / f"{name}.new"
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(values, file)
        fresh.replace(self.path / name)

    def log_tail(self) -> str:
        """Return the last line of its log; empty: there is none."""
        try:
            lines = self.log.read_text(errors="replace")[-_SHOWN:].splitlines()
        except OSError:
            return ""
        return lines[-1] if lines else ""

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self.path / name).read_text())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None
