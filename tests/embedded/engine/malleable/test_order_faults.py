"""Elastic jobs in the engine: orders that are refused, not answered, or end with what they were about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.errors import ConfigurationError
from tests.embedded.engine.malleable.elastic_cluster import Cluster, grown
from tests.embedded.engine.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_growth_that_is_refused_leaves_the_cores_free(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    grown(cluster, job, program)
    assert cluster.free == 0
    program.send_message("refuse", order=2, reason="little is left")
    assert cluster.resizes(job)[-1] == ("resize-refused", {"order": 2, "reason": "little is left"})
    assert (cluster.size(job), cluster.free) == ((2, 2), 2)


def test_who_refused_is_not_asked_again_at_once(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    grown(cluster, job, program)
    program.send_message("refuse", order=2, reason="not now")
    cluster.bench.loop.advance(9)
    assert program.last_message["order"] == 2
    cluster.bench.loop.advance(1)
    assert program.last_message == {"type": "grow", "order": 3, "hosts": ["mc-1", "mc-1"], "size": 4}


def test_a_program_that_never_answers_is_asked_no_longer_than_the_time_limit(
    kit: Any, make: Callable[..., Cluster]
) -> None:
    cluster = make(gap=1000)
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    program = Program(cluster.bench, job)
    other = cluster.bench.submit(slots=2, urgency=20)
    cluster.bench.loop.advance(1001)
    assert program.last_message["type"] == "shrink"
    cluster.bench.loop.advance(60)
    assert program.last_message == {"type": "expired", "order": 1, "reason": "no answer in 60 s"}
    assert cluster.resizes(job)[-1] == ("resize-expired", {"order": 1, "reason": "no answer in 60 s"})
    assert (other in cluster.bench.running(), cluster.size(job)) == (False, (4, 4))
    cluster.bench.finish(job)
    assert (other in cluster.bench.running(), cluster.free) == (True, 2)


def test_the_time_limit_is_a_setting(kit: Any, make: Callable[..., Cluster]) -> None:
    cluster = make()
    cluster.bench.engine._manager.parts.config["minicluster"]["order-timeout"] = "2s"
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    program = Program(cluster.bench, job)
    cluster.bench.submit(slots=2, urgency=20)
    cluster.bench.loop.advance(182)
    assert program.last_message["reason"] == "no answer in 2 s"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("soon", "'soon' is no duration; right would be 5s, 1.5m, 2h, 1d or none"),
        ("none", "it must be more than 0 s, and not none"),
        ("0s", "it must be more than 0 s, and not none"),
    ],
)
def test_a_time_limit_that_is_none_stops_the_lead(kit: Any, tmp_path: Any, value: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        kit.Bench(tmp_path, config={"minicluster": {"order-timeout": value}})
    assert str(error.value) == f"broker.toml, [minicluster] order-timeout: {message}"


def test_workers_that_do_not_join_are_ended_before_their_cores_are_free(
    whole: tuple[Cluster, int, Program],
) -> None:
    cluster, job, program = whole
    grown(cluster, job, program)
    program.send_message("accept", order=2)
    program.join(4, 2)
    cluster.bench.loop.advance(60)
    assert cluster.bench.executor.tasks[1:] == [("end", job, [4, 5])]
    rigid = cluster.bench.submit(slots=2)
    program.end(4)
    assert (rigid in cluster.bench.running(), cluster.free) == (False, 0)
    program.end(5)
    assert (cluster.size(job), program.listener.gone) == ((2, 2), [2])


@pytest.mark.parametrize("task", [4, 5])
def test_a_worker_that_dies_amid_a_growth_ends_the_order_and_not_the_job(
    whole: tuple[Cluster, int, Program], task: int
) -> None:
    cluster, job, program = whole
    grown(cluster, job, program)
    program.send_message("accept", order=2)
    program.end(task)
    assert cluster.resizes(job)[-1] == ("resize-order", {"order": 2, "size": 4})  # the other still ends
    program.end(9 - task)
    reason = f"worker {task} ended before it was taken on"
    assert ("resize-expired", {"order": 2, "reason": reason}) in cluster.resizes(job)
    assert cluster.size(job) == (2, 2)


def test_a_program_that_is_gone_is_rigid(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    program.leave()
    cluster.bench.submit(slots=2, urgency=20)
    assert cluster.resizes(job) == []


def test_where_a_donor_refuses_the_other_is_queued_again(whole: tuple[Cluster, int, Program]) -> None:
    cluster, _, program = whole
    other = cluster.bench.submit(slots=2, urgency=20)
    assert cluster.bench.shown(other)["state"] == 8
    program.send_message("refuse", order=1, reason="not now")
    assert other in cluster.bench.engine._manager.parts.scheduler.queue
    cluster.bench.loop.advance(10)
    assert program.last_message == {"type": "shrink", "order": 2, "count": 2, "size": 2}


def test_a_donor_that_ends_gives_what_was_promised(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, _ = whole
    other = cluster.bench.submit(slots=2, urgency=20)
    third = cluster.bench.submit(slots=2)
    cluster.bench.finish(job)
    assert (cluster.bench.running()[1:], cluster.free) == ([other, third], 0)


def test_a_job_that_waits_for_a_donor_can_be_canceled(whole: tuple[Cluster, int, Program]) -> None:
    cluster, _, program = whole
    other = cluster.bench.submit(slots=2, urgency=20)
    cluster.bench.call("job-manager.raise", id=other, severity=0, type="cancel")
    program.send_message("release", order=1, workers=[1, 3])
    program.end(1, 3)
    assert cluster.bench.shown(other)["result"] == 4
    assert program.last_message["type"] == "grow"  # nobody else wants it


def test_a_job_that_is_canceled_amid_a_growth_frees_all(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    grown(cluster, job, program)
    program.send_message("accept", order=2)
    cluster.bench.call("job-manager.raise", id=job, severity=0, type="cancel")
    assert cluster.bench.executor.kills == [(job, 15)]
    program.end(0, 1, 4, 5)
    cluster.bench.finish(job, 15)
    assert (cluster.free, program.connection in program.listener.gone) == (4, True)


def test_a_job_that_ends_is_ordered_nothing_more(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.call("job-manager.raise", id=job, severity=0, type="cancel")
    cluster.bench.submit(slots=2, urgency=20)
    assert program.last_message["type"] == "registered"
