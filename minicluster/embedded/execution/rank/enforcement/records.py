"""The protocol of an enforcement of CPU quotas on one rank."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

Processes = Callable[[], Iterable[int]]
"""Returns the ids of a job's present processes on this rank."""


class Way(enum.Enum):
    """How quotas are enforced; the value is the word for users."""

    GROUPS_2 = "cgroup-v2"
    GROUPS_1 = "cgroup-v1"
    AFFINITY = "affinity"


@dataclass(frozen=True, slots=True)
class CpuLimit:
    """How much CPU time a job's processes on one rank may use."""

    cores: float | None = None
    """In cores, such as 1.5; None: no limit."""
    size: int = 1
    """How many cores the job has here: its weight in a control group where there is too little for all."""
    cpus: frozenset[int] = frozenset()
    """The CPUs that it runs on where whole cores are given; empty: all."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """What a job's processes on one rank have used."""

    cpu_seconds: float
    """Since the job's start."""
    memory_bytes: int
    """Now."""


class EnforcementLost(OSError):  # noqa: N818 - named for the state it reports
    """A way that held does not hold any more, such as after the hierarchy is full; the text is why."""


class JobEnforcement(Protocol):
    """The enforcement of one job on one rank."""

    def enter(self) -> None:
        """Put this process under it: called in a task's process before its program begins. Raises nothing."""

    def adopt(self, pid: int) -> None:
        """Make sure that a task's process is under it. Raises EnforcementLost."""

    def set_limit(self, limit: CpuLimit) -> None:
        """Limit the job from now on. Raises EnforcementLost."""

    def refresh(self) -> None:
        """Repeat what processes can undo, or what new ones are not under yet."""

    def consumption(self) -> Consumption:
        """Return what the job has used."""

    def close(self) -> bool:
        """Remove what was made for the job; return False where that has to be tried again."""


class Enforcement(Protocol):
    """One way of enforcement, for all jobs of a broker."""

    @property
    def way(self) -> Way:
        """Which one it is."""

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories of the broker's own groups, which whatever ends a broker's tasks removes."""

    def begin(self, job: int, processes: Processes) -> JobEnforcement:
        """Prepare for a job. Raises EnforcementLost."""

    def close(self) -> bool:
        """Remove what was made for the broker; return False where that has to be tried again."""
