"""Benches whose jobs are elastic, and a job that holds all of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.embedded.engine.malleable.elastic_cluster import Cluster
from tests.embedded.engine.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def make(kit: Any, tmp_path: Any) -> Iterator[Callable[..., Cluster]]:
    made: list[Any] = []

    def bench(**options: Any) -> Any:
        made.append(kit.Bench(tmp_path, **options))
        return made[-1]

    yield lambda policy="priority-elastic", **table: Cluster(
        bench, {"queue-policy": policy, "scheduler-settings": table} if table else {"queue-policy": policy}
    )
    for each in made:
        each.engine.close()


@pytest.fixture
def cluster(make: Callable[..., Cluster]) -> Cluster:
    return make(gap=0)


@pytest.fixture
def whole(kit: Any, cluster: Cluster) -> tuple[Cluster, int, Program]:
    """A registered job that holds all four cores, and runs with one to four workers."""
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    return cluster, job, Program(cluster.bench, job)
