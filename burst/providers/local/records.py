"""What the directory of a burst has: whose it is, what its supervisor is to run, and how it is."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from burst.joining import broker_logs
from minicluster.lead_client import termination_message
from minicluster.local import processes, state_directory
from minicluster.local.state_directory import ClusterDirectory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

T = TypeVar("T")

ENDED = "end"
"""The termination message of a broker's start script, in its run directory."""
LEFTOVER = ".part-"
"""How a directory's name begins while it is being made or removed."""


@dataclass(frozen=True, slots=True)
class BurstOwner:
    """Whose a directory is."""

    label: str
    installation: str
    nodes: int
    created: float
    """In seconds since 1970."""


@dataclass(frozen=True, slots=True)
class FollowerTask:
    """What a supervisor is to run."""

    cluster: str
    """The MiniCluster's directory."""
    hosts: Mapping[str, int]
    """The ranks of the burst's hosts, by name."""
    until: float
    """When all of it ends, in seconds since 1970."""
    fence: int
    """Seconds without an answer of the lead after which a broker is killed with its jobs."""
    leave_after: int
    """Seconds without a lead after which a follower leaves for good."""
    document: str = ""
    """Of an instance of its own: its MiniCluster, in JSON. Empty: brokers follow the MiniCluster's lead."""
    engine: str = ""
    """Of such an instance: "flux" or "embedded"."""


@dataclass(frozen=True, slots=True)
class SupervisorStatus:
    """A supervisor, and how its brokers are."""

    pid: int
    start_time: int
    """In clock ticks since boot: it distinguishes processes with the same id."""
    ready: bool = False
    """Whether all brokers run."""
    problem: str = ""
    """Why they will never run; empty: they may."""

    @property
    def is_alive(self) -> bool:
        """Whether the supervisor runs."""
        return bool(self.start_time) and processes.start_time(self.pid) == self.start_time


@dataclass(frozen=True, slots=True)
class BurstDirectory:
    """The paths of one burst, and its records; a record that is not there, or is no record, is None."""

    path: Path

    @property
    def brokers(self) -> ClusterDirectory:
        """Run directories and logs of its brokers, as those of a cluster."""
        return ClusterDirectory(self.path)

    @property
    def supervisor_log(self) -> Path:
        """What its supervisor writes."""
        return self.brokers.log("supervisor")

    @property
    def lock(self) -> Path:
        """A supervisor has it for as long as it lives, so that there is one."""
        return self.path / "lock"

    @property
    def going(self) -> Path:
        """It is there once the burst is being deleted."""
        return self.path / "going"

    def owner(self) -> BurstOwner | None:
        """Return whose it is."""
        return _record(BurstOwner, self.path / "owner.json")

    def task(self) -> FollowerTask | None:
        """Return what is to be run."""
        return _record(FollowerTask, self.path / "task.json")

    def status(self) -> SupervisorStatus | None:
        """Return how it is; None before a supervisor has begun."""
        return _record(SupervisorStatus, self.path / "status.json")

    def write(self, record: BurstOwner | FollowerTask | SupervisorStatus) -> None:
        """Write a record; a reader sees the former or the new one. Raises OSError."""
        names = {BurstOwner: "owner.json", FollowerTask: "task.json", SupervisorStatus: "status.json"}
        path = self.path / names[type(record)]
        fresh = path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(dataclasses.asdict(record), file)
        fresh.replace(path)

    def remove(self) -> None:
        """Remove it: it is there with all of its records, or not at all."""
        aside = self.path.with_name(f"{LEFTOVER}{self.path.name}")
        try:
            self.path.rename(aside)
        except FileNotFoundError:
            return  # somebody else did
        state_directory.remove(ClusterDirectory(aside))

    def refusal(self, rank: int) -> str:
        """Return why a broker's start script gave up; empty if it did not."""
        try:
            message = (self.brokers.run(rank) / ENDED).read_text(errors="replace")
        except OSError:
            return ""
        return termination_message.refusal({"message": message})

    def broker_problem(self) -> str:
        """Return why a broker has not joined, by its log, else its supervisor's last line; or nothing."""
        from minicluster.local.output import last_lines  # noqa: PLC0415 - for what went wrong only

        logs = [path for path in sorted(self.path.glob("log/*.log")) if path != self.supervisor_log]
        found = (broker_logs.problem(last_lines(path, broker_logs.TAIL_LINES)) for path in logs)
        return next(filter(None, found), "") or "".join(last_lines(self.supervisor_log, 1))


def _record(kind: type[T], path: Path) -> T | None:
    try:
        return kind(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
