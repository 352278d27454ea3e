"""Records of a running cluster: containers, pods and its state."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class LocalPhase(enum.StrEnum):
    """The phase of a cluster."""

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
    """The hook that runs when it has started; empty: none."""
    pre_stop: tuple[str, ...] = ()
    """The hook that runs before it is terminated; empty: none."""


@dataclass(frozen=True, slots=True)
class LocalPod:
    """Containers that start and end together."""

    name: str
    containers: tuple[LocalContainer, ...]
    """The main container, then its sidecars."""
    rank: int | None = None
    """Of the broker; None for the services pod."""

    @property
    def is_lead(self) -> bool:
        """Whether this pod holds the lead broker."""
        return self.rank == 0

    @property
    def main(self) -> LocalContainer:
        """The main container."""
        return self.containers[0]


@dataclass(frozen=True, slots=True)
class EndedContainer:
    """A container that ended."""

    pod: LocalPod
    container: LocalContainer
    code: int
    """The exit code as of a shell: 128 + signal if a signal killed it."""
    signal: int = 0

    @property
    def is_main(self) -> bool:
        """Whether it is its pod's main container."""
        return self.container is self.pod.main

    def __str__(self) -> str:
        how = f"was killed by signal {self.signal}" if self.signal else f"ended with exit code {self.code}"
        return f"{self.container.name} of {self.pod.name} {how}"


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The content of state.json: a cluster and its supervisor."""

    name: str
    pid: int
    """Of the supervisor, or of `minicluster run`."""
    start_time: int
    """Of that process, in clock ticks since boot: it distinguishes processes with the same id."""
    engine: str
    size: int
    max_size: int
    phase: LocalPhase
    document: str
    """The document's name in messages."""
    created: float
    links: tuple[tuple[str, str], ...] = ()
    """The symbolic links that stand for volumes, with their targets."""
    reason: str = ""
    min_size: int = 1
