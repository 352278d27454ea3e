"""The experiments of "Fine-Grained Scheduling for Containerized HPC Workloads in Kubernetes Clusters".

Liu and Guitart, 2022. Four nodes of two domains of 16 cores; jobs of 16 tasks, a core each. A variant is what
divides the tasks into workers, and what places these. What the model of contention is made of was fitted by
`benchmarks/reproduce_granularity.py`, on the rows of NONE, CM and CM_S and the run times of experiment 1.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from queue_policies.placement import plugins
from queue_policies.placement.records import Affinity, Profile, ProfileKind, TaskShape
from queue_policies.simulator.cost import PerWorker
from queue_policies.simulator.domain_contention import DomainContention, KindOfJob
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.node_cluster import alike
from queue_policies.simulator.speedup import Fixed
from queue_policies.simulator.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queue_policies.placement.protocol import Placement

NODES, DOMAINS, CORES = 4, 2, 16
TASKS = 16
STARTS = ((1, 4.0), (4, 7.0), (16, 11.0))
"""Seconds of a start by the number of workers, read off the traces."""
RELEASE = 36.0
"""Seconds after an end until its cores are free, read off the traces."""

PROFILES = {
    "DGEMM": ProfileKind.CPU,
    "STREAM": ProfileKind.MEMORY,
    "MiniFE": ProfileKind.MEMORY,
    "RR": ProfileKind.NETWORK,
    "FFT": ProfileKind.NETWORK,
}
EXPERIMENT_1 = tuple(("DGEMM", 60.0 * number) for number in range(10))
EXPERIMENT_2 = (
    ("RR", 0.0), ("DGEMM", 42.0), ("STREAM", 154.0), ("MiniFE", 195.0), ("FFT", 255.0),
    ("MiniFE", 272.0), ("STREAM", 385.0), ("RR", 472.0), ("FFT", 498.0), ("DGEMM", 553.0),
    ("STREAM", 584.0), ("RR", 612.0), ("DGEMM", 651.0), ("FFT", 684.0), ("MiniFE", 708.0),
    ("RR", 747.0), ("MiniFE", 810.0), ("STREAM", 853.0), ("DGEMM", 896.0), ("FFT", 1167.0),
)  # fmt: skip
"""Kind and submission of each job; those of experiment 3 are the same."""
GENERATED_SPAN = 1200
"""Seconds over which the submissions of a generated set are drawn."""


@dataclass(frozen=True, slots=True)
class Variant:
    """How the tasks of a job become workers, and where these go."""

    placement: str
    """Its name."""
    granularity: str = "none"
    """Algorithm 1 (none, scale or granularity), or `placement`: that decides how many workers there are."""
    affinity: Affinity | None = Affinity.BEST_EFFORT
    network: bool = True
    """Whether a network-intensive job keeps its one worker."""

    def shape(self, profile: ProfileKind) -> TaskShape:
        """Return the shape of a job with this profile, on the nodes of this testbed."""
        workers = {"none": 1, "scale": NODES, "granularity": TASKS, "placement": 0}[self.granularity]
        if self.network and profile is ProfileKind.NETWORK and workers:
            workers = 1
        return TaskShape(Profile(profile), TASKS, workers, self.affinity)


VARIANTS = {
    "NONE": Variant("spread", affinity=Affinity.NONE),
    "CM": Variant("spread"),
    "CM_S": Variant("random", "scale"),
    "CM_G": Variant("random", "granularity"),
    "CM_S_TG": Variant("task-group", "scale"),
    "CM_G_TG": Variant("task-group", "granularity"),
    "KUBEFLOW": Variant("spread"),
    "VOLCANO": Variant("random", "granularity", network=False),
    "PLACEMENT": Variant("balanced", "placement", None),
}
"""KUBEFLOW and VOLCANO are those of experiment 3. With PLACEMENT the placement decides about workers, too."""


@dataclass(frozen=True, slots=True)
class Constants:
    """What the model of contention is made of."""

    kinds: Mapping[str, KindOfJob]
    knee: float
    slope: float
    unpinned: float

    def contention(self, nodes: int = NODES, domains: int = DOMAINS, cores: int = CORES) -> DomainContention:
        """Return the model for such nodes."""
        each = tuple(((1 << cores) - 1) << number * cores for number in range(domains))
        return DomainContention(self.kinds, (each,) * nodes, self.knee, self.slope, self.unpinned)


FITTED = Constants(
    {
        "DGEMM": KindOfJob(1193.33, by_worker=((1, 0.85485), (4, 0.96129), (16, 1.0)), unpinned=1.48156),
        "STREAM": KindOfJob(110.97, 93.614, 1.0),
        "MiniFE": KindOfJob(364.38, 502.81, 0.45922),
        "RR": KindOfJob(432.0, unpinned=1.7037, scattered=121300.0),
        "FFT": KindOfJob(236.3, scattered=5427.2),
    },
    knee=5.3525,
    slope=0.25656,
    unpinned=1.36127,
)
"""`scattered` is the run time of native Volcano."""


def workload(
    arrivals: Sequence[tuple[str, float]],
    variant: Variant,
    constants: Constants = FITTED,
    seed: int = 0,
    *,
    name: str = "scanflow",
    wrong: int = 0,
) -> Workload:
    """Return the workload of these kinds and submissions; the seed is that of a random placement.

    Every so many jobs, at `wrong`, one has a profile that is not its own.
    """
    jobs = tuple(
        WorkloadJob(
            id=index + 1,
            submitted=submitted,
            min=TASKS,
            max=TASKS,
            time=Fixed(constants.kinds[kind].compute + constants.kinds[kind].memory),
            kind=kind,
            shape=variant.shape(_profile(kind, wrong=bool(wrong) and index % wrong == wrong - 1)),
        )
        for index, (kind, submitted) in enumerate(arrivals)
    )
    return Workload(
        name,
        jobs,
        NODES * DOMAINS * CORES,
        "cores",
        PerWorker(release=RELEASE, starts=STARTS),
        contention=constants.contention(),
        nodes=alike(NODES, DOMAINS, CORES),
        placement=_placement(variant.placement, seed),
    )


def generated(seed: int) -> tuple[tuple[str, float], ...]:
    """Return a set of arrivals: four jobs of each kind in random order, submitted over 20 minutes."""
    stream = random.Random(seed)  # noqa: S311 - a simulation's
    kinds = [kind for kind in PROFILES for _ in range(4)]
    stream.shuffle(kinds)
    return tuple(zip(kinds, sorted(stream.uniform(0, GENERATED_SPAN) for _ in kinds), strict=True))


def _profile(kind: str, *, wrong: bool) -> ProfileKind:
    """Return the profile of a kind; a wrong one is the next of cpu, memory and network."""
    order = (ProfileKind.CPU, ProfileKind.MEMORY, ProfileKind.NETWORK)
    return order[(order.index(PROFILES[kind]) + wrong) % len(order)]


@cache
def _placement(name: str, seed: int) -> Placement:
    return plugins.load(name, {"seed": seed} if name == "random" else {})
