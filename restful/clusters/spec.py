"""Which clusters a service serves: as records, from what starts it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from restful.jobs.jobspecs import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.instance.port import Instance
    from minicluster.instance.records import BurstSummary


class Tenancy(StrEnum):
    """How users are kept apart at a cluster."""

    SHARED = "shared"
    """All jobs run as one account, the instance's owner; this service alone knows whose a job is."""
    OWN = "own"
    """The cluster is one user's, and so are all its jobs."""


ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"}  # noqa: S108 - a default for jobs
"""What jobs get where the cluster has nothing of its own. Never the service's."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One cluster."""

    name: str
    """By which routes name it."""
    connect: Callable[[], Instance]
    """Connects to its instance. Blocks; raises InstanceError."""
    namespace: str = ""
    uid: str = ""
    """Of its MiniCluster; another uid under the same name is another cluster's life."""
    tenancy: Tenancy = Tenancy.SHARED
    owner: str = ""
    """The id of the user whose it is, with the tenancy "own"."""
    base: Base = field(default_factory=lambda: Base(ENVIRONMENT, "/"))
    """What its jobs get."""
    bursts: Callable[[], Sequence[BurstSummary]] = tuple
    """Returns its open bursts. Blocks; what cannot be read now is as if there were none."""
    any_output_path: bool = False
    """Whether output may go to files outside a job's working directory."""
