"""What the directory of a tunnel has: whose it is and what it connects, and how it is."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from burst.joining.records import LeadRoute
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
    lead: LeadRoute


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
        found = self._read("task.json")
        try:
            return ReachTask(**{**found, "lead": LeadRoute(**found["lead"])}) if found is not None else None
        except (TypeError, KeyError):
            return None

    def status(self) -> ReachStatus | None:
        """Return how it is; None before its process has begun."""
        found = self._read("status.json")
        try:
            return ReachStatus(**found) if found is not None else None
        except TypeError:
            return None

    def write(self, record: ReachTask | ReachStatus) -> None:
        """Write a record; a reader sees the former or the new one. Raises OSError."""
        values = {each.name: getattr(record, each.name) for each in dataclasses.fields(record)}
        name = "status.json"
        if isinstance(record, ReachTask):
            name, values = "task.json", {**values, "lead": record.lead._asdict()}
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
