"""The jobs of a scenario, one by one: those that are written, and those that are drawn by a seed."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats.jobspec import RequestedResources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.rehearsal.scenario import GeneratedJobs, ScenarioJobs


class JobSubmission(NamedTuple):
    """A job that is submitted at a time, in seconds from the begin on."""

    at: float
    request: RequestedResources
    seconds: float
    """How long it runs."""
    limit: float
    user: str
    wish: Any
    """True, the name of a provider, or None."""
    urgency: int = 16


def listed(written: ScenarioJobs) -> Iterator[JobSubmission]:
    """Yield the jobs of one entry."""
    whole = RequestedResources(written.nodes, 1, 1, written.gpus_per_task, exclusive=True)
    tasks = RequestedResources(0, written.tasks, written.cores_per_task, written.gpus_per_task)
    for number in range(written.count):
        yield JobSubmission(
            written.submit_seconds + number * written.every_seconds,
            whole if written.nodes else tasks,
            written.run_seconds,
            written.limit_seconds,
            written.user,
            written.burstable or None,
            written.urgency,
        )


def drawn(wanted: GeneratedJobs) -> Iterator[JobSubmission]:
    """Yield jobs: gaps are exponential, sizes uniform, run times uniform in their logarithm."""
    random, at = Random(wanted.seed), 0.0  # noqa: S311 - jobs, not keys
    least, most = sorted((wanted.least_nodes, wanted.most_nodes))
    shortest, longest = sorted((math.log(wanted.least_seconds), math.log(wanted.most_seconds)))
    for number in range(wanted.count):
        seconds = math.ceil(math.exp(random.uniform(shortest, longest)))
        yield JobSubmission(
            at,
            RequestedResources(random.randint(least, most), 1, 1, 0, exclusive=True),
            seconds,
            math.ceil(seconds * wanted.limit_factor),
            wanted.users[number % len(wanted.users)],
            True if random.random() < wanted.burstable_fraction else None,
        )
        if wanted.mean_gap_seconds:
            at += round(random.expovariate(1 / wanted.mean_gap_seconds), 3)
