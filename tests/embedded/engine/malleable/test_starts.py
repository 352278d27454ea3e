"""Elastic jobs in the engine: their sizes at the start, and what their launch says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import f58
from tests.embedded.engine.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.embedded.engine.malleable.elastic_cluster import JSON, Cluster


@pytest.mark.parametrize("policy", ["fcfs", "easy", "moldable", "priority-elastic"])
@pytest.mark.parametrize("malleable", [False, True])
def test_an_elastic_job_starts_at_its_largest_size(
    kit: Any, make: Callable[..., Cluster], policy: str, malleable: bool
) -> None:
    cluster = make(policy)
    jobs = [cluster.elastic(1, 3, malleable=malleable, spec=kit.jobspec("app")) for _ in range(2)]
    assert [cluster.size(job) for job in jobs] == [(3, 3), (1, 1)]


@pytest.mark.parametrize(
    ("shape", "pending"),
    [
        pytest.param({"slots": 1, "cores": 2}, (2, 4), id="slots of two cores"),
        pytest.param({"nodes": 1}, (2, 2), id="nodes"),
        pytest.param({"nodes": 1, "exclusive": True}, (2, 4), id="whole nodes"),
    ],
)
def test_sizes_count_what_the_job_asks_for(
    kit: Any, make: Callable[..., Cluster], shape: JSON, pending: tuple[int, int]
) -> None:
    cluster = make("fcfs")
    assert cluster.size(cluster.elastic(1, 4, spec=kit.jobspec("app", **shape))) == pending


def test_its_launch_names_how_the_instance_is_reached(kit: Any, cluster: Cluster) -> None:
    job = cluster.elastic(1, 2, spec=kit.jobspec("app"))
    credentials = json.loads(cluster.bench.executor.launches[0].credentials)
    assert (credentials["address"], credentials["job"], len(credentials["token"])) == ("lead:7", f58(job), 64)


def test_where_nothing_can_listen_a_job_is_rigid(
    kit: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(callers: Any) -> str:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(cluster.listener, "open", refuse)
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    assert (cluster.bench.executor.launches[0].credentials, cluster.size(job)) == (None, (4, 4))
    assert cluster.bench.logged[-1].endswith("nothing listens for its program: Too many open files")


def test_a_moldable_job_gets_no_order(kit: Any, cluster: Cluster) -> None:
    cluster.elastic(1, 2, malleable=False, spec=kit.jobspec("app"))
    assert cluster.bench.executor.launches[0].credentials is None


def test_a_job_is_not_resized_before_its_program_registered(kit: Any, cluster: Cluster) -> None:
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    other = cluster.bench.submit(slots=2, urgency=20)
    assert (cluster.resizes(job), other in cluster.bench.running()) == ([], False)
    program = Program(cluster.bench, job)
    assert program.last_message == {"type": "shrink", "order": 1, "count": 2, "size": 2}
