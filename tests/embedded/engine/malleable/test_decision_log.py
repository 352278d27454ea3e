"""Elastic jobs in the engine: what was decided is recorded, and can be decided again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.errors import ConfigurationError
from queue_policies import decision_log
from queue_policies.plugins import load
from tests.embedded.engine.malleable.elastic_cluster import Cluster
from tests.embedded.engine.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable


def test_decisions_are_recorded_and_taken_again(
    kit: Any, make: Callable[..., Cluster], tmp_path: Any
) -> None:
    file = tmp_path / "decisions"
    cluster = Cluster(
        lambda **options: kit.Bench(tmp_path, **options),
        {
            "queue-policy": "water-filling",
            "scheduler-settings": {"gap": 0, "overhead": 0},
            "decisions": str(file),
        },
    )
    job = cluster.elastic(1, 4, spec=kit.jobspec("app", duration=100))
    program = Program(cluster.bench, job)
    other = cluster.bench.submit(slots=2, urgency=20)
    program.send_message("release", order=1, workers=[2, 3])
    program.end(2, 3)
    cluster.bench.loop.advance(10)
    cluster.bench.finish(other)
    cluster.bench.engine.close()
    lines = file.read_text().splitlines()
    decided = [decision_log.decode(line) for line in lines]
    assert {type(action).__name__ for each in decided for action in each.actions} == {
        "Start",
        "Shrink",
        "Grow",
    }
    policy = load("water-filling", {"gap": 0, "overhead": 0})
    assert list(decision_log.differences(policy, lines)) == []
    assert list(decision_log.differences(load("fcfs", {}), lines)) != []


def test_a_file_for_decisions_that_cannot_be_written_stops_the_lead(kit: Any, tmp_path: Any) -> None:
    path = str(tmp_path / "none" / "decisions")
    with pytest.raises(ConfigurationError) as error:
        kit.Bench(tmp_path, config={"minicluster": {"decisions": path}})
    assert str(error.value) == f"broker.toml, [minicluster] decisions = {path!r}: No such file or directory"
