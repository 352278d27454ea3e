"""What a running cluster consists of: frozen records."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class LocalPhase(enum.StrEnum):
    """Where in its life a cluster is."""

    STARTING = "Starting"
    RUNNING = "Running"
    SCALING = "Scaling"
    SAVING = "Saving"
    ENDING = "Ending"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class LocalContainer:
    """One container as a process: what to start, with which environment, in which directory."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    post_start: tuple[str, ...] = ()
    pre_stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LocalPod:
    """Containers that live and end together. `rank` is the broker's, None for the services pod.

    The first container is the one that counts; the others are its sidecars.
    """

    name: str
    containers: tuple[LocalContainer, ...]
    rank: int | None = None

    @property
    def is_lead(self) -> bool:
        """Whether this pod holds the lead broker."""
        return self.rank == 0

    @property
    def main(self) -> LocalContainer:
        """The container that counts."""
        return self.containers[0]


@dataclass(frozen=True, slots=True)
class EndedContainer:
    """A container that ended, with its wait status as a shell would say it: 128 + signal if killed."""

    pod: LocalPod
    container: LocalContainer
    code: int
    signal: int = 0

    @property
    def is_main(self) -> bool:
        """Whether it is the container of its pod that counts."""
        return self.container is self.pod.main

    def __str__(self) -> str:
        how = f"was killed by signal {self.signal}" if self.signal else f"ended with exit code {self.code}"
        return f"{self.container.name} of {self.pod.name} {how}"


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What state.json says: who looks after a cluster, and what it is.

    `start_time` tells processes of one id apart; `links` are the symbolic links that stand for volumes, with
    where they lead.
    """

    name: str
    pid: int
    start_time: int
    engine: str
    size: int
    max_size: int
    phase: LocalPhase
    document: str
    created: float
    links: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    min_size: int = 1
