"""What policies read of jobs that share cores."""

from __future__ import annotations

import enum
import math
from typing import NamedTuple


class Usage(NamedTuple):
    """What a job was seen to use. While it is under a quota, it cannot use more than that."""

    cpu: float
    """The fraction of its cores' time (of its size), from 0 to 1."""
    memory: float = 0.0
    """The fraction of the memory that goes with its cores, from 0 to 1."""
    busy: int = 0
    """How many of its cores were busy: one where its program runs alone on one of them. 0: unknown."""
    since: float = 0.0
    """When it was begun to measure. No earlier than the last change of its quota or of its neighbours."""
    slowdown: float = 0.0
    """How much slower its program was as a host than its quota explains, by earlier runs or by this one: 1 is
    twice as slow. 0: not at all, or unknown."""


class SharingConsent(enum.Enum):
    """What a job says about sharing cores (`user.share`); without it, it shares with its own user's jobs."""

    NEVER = "never"  # it has its cores alone
    GUEST = "guest"  # it may start on another job's cores, also on those of another user's
    HOST = "host"  # others may start on its cores, also those of other users


class JobEnd(NamedTuple):
    """How a running job ended: what a policy learns from, as the job is in no view any more."""

    job: int
    started: float
    ended: float
    limit: float = math.inf
    """Its run time limit, in seconds."""
    done: float | None = None
    """The fraction of its work that it had done. None: unknown."""
    quotas: tuple[tuple[float, float], ...] = ()
    """The times at which its quota changed, each with the new one. It began with 1."""
    host: int | None = None
    """The job on whose cores it ran to its end as a guest."""


class CoreSharing(NamedTuple):
    """What can be enforced here, where jobs may share cores."""

    guests: int = 1
    """The most guests on one job's cores."""
    least: float = 0.01
    """The least quota that can be enforced."""
    whole_cores: bool = False
    """Whether a quota must come out at a whole number of cores, as jobs are bound to some of them."""
