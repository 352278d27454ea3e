"""What is known of a job's tasks: their profile, and how many workers they make.

A *task worker* is some tasks of a job with one common set of cores. The workers of elastic jobs, which
`NodeRequest.workers` counts, are something else.
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class ProfileKind(enum.Enum):
    """What a job's tasks use most."""

    CPU = "cpu"
    MEMORY = "memory"
    NETWORK = "network"
    IO = "io"


class Profile(NamedTuple):
    """What a job's tasks use most and, where it is known, how much of it one core demands.

    Demands have one unit for all jobs of an instance; 0: unknown.
    """

    kind: ProfileKind
    bandwidth: float = 0.0
    """Of memory."""
    network: float = 0.0
    io: float = 0.0


class Affinity(enum.Enum):
    """How a worker's cores go with the domains of its node."""

    NONE = "none"  # any cores; tasks float over the node
    BEST_EFFORT = "best-effort"  # from the lowest domain that has enough of them, else from several
    REQUIRED = "required"  # from one domain, else the job waits


class TaskShape(NamedTuple):
    """What a request tells of a job's tasks."""

    profile: Profile | None = None
    """None: unknown."""
    tasks: int = 0
    """0: one a slot."""
    workers: int = 0
    """The number of task workers; 0: the placement decides."""
    affinity: Affinity | None = None
    """None: that of the placement."""
