"""Elastic jobs in the engine: orders while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.embedded.engine.malleable.elastic_cluster import Cluster, grown
from tests.embedded.engine.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_job_shrinks_for_another_which_starts_when_the_workers_have_ended(
    whole: tuple[Cluster, int, Program],
) -> None:
    cluster, job, program = whole
    other = cluster.bench.submit(slots=2, urgency=20)
    program.send_message("release", order=1, workers=[1, 3])
    assert (other in cluster.bench.running(), cluster.size(job)) == (False, (4, 4))
    program.end(1, 3)
    assert (other in cluster.bench.running(), cluster.size(job)) == (True, (2, 2))
    assert cluster.bench.executor.tasks == [("dismiss", job, [1, 3])]
    assert program.last_message == {"type": "released", "order": 1, "workers": []}
    assert cluster.resizes(job) == [
        ("resize-order", {"order": 1, "size": 2}),
        ("resource-update", {"order": 1, "size": 2}),
    ]


def test_listings_show_an_order_while_it_is_under_way(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.submit(slots=2, urgency=20)
    assert cluster.bench.shown(job)["annotations"]["user"] == {"workers": 4, "target": 2}
    program.send_message("release", order=1, workers=[1, 3])
    program.end(1, 3)
    shown = cluster.bench.shown(job)["annotations"]
    assert shown["user"] == {"workers": 2, "order": "1 done"}
    assert shown["sched"]["elastic"] == {"min": 1, "max": 4, "malleable": True}


def test_listings_show_why_an_order_came_to_nothing(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.submit(slots=2, urgency=20)
    program.send_message("refuse", order=1, reason="not now")
    shown = cluster.bench.shown(job)["annotations"]["user"]
    assert shown == {"workers": 4, "order": "1 refused: not now"}


def test_r_is_what_is_left(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.submit(slots=2, urgency=20)
    program.send_message("release", order=1, workers=[2, 3])  # all of the second node
    program.end(2, 3)
    execution = cluster.bench.call("job-info.lookup", id=job, keys=["R"], flags=1)["R"]["execution"]
    assert (execution["nodelist"], execution["nslots"]) == (["mc-0"], 2)
    assert execution["R_lite"] == [{"rank": "0", "children": {"core": "0-1"}}]
    assert cluster.bench.shown(job)["nodelist"] == "mc-0"


def test_released_workers_that_stay_are_ended(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.submit(slots=2, urgency=20)
    program.send_message("release", order=1, workers=[1, 3])
    program.end(1)
    cluster.bench.loop.advance(5)
    assert cluster.bench.executor.tasks[1:] == [("end", job, [3])]


def test_a_job_grows_into_what_is_free(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    grown(cluster, job, program)
    program.send_message("accept", order=2)
    assert cluster.bench.executor.tasks == [("start", job, [4, 5])]  # numbers are never used again
    program.join(4, 2)
    program.join(5, 2)
    assert ([each["task"] for each in program.last_message["workers"]], cluster.size(job)) == ([4, 5], (2, 2))
    program.send_message("done", order=2)
    assert (cluster.bench.executor.tasks[1:], cluster.size(job)) == ([("admit", job, [4, 5])], (4, 4))


def test_the_stages_of_an_order_are_in_the_exec_eventlog(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    grown(cluster, job, program)
    program.send_message("accept", order=2)
    for task in (4, 5):
        program.join(task, 2)
        program.send_message("done", order=2)  # heeded only once all have joined
    assert cluster.bench.log(job, "guest.exec.eventlog") == [
        ("resize-release", {"order": 1}),
        ("resize-accept", {"order": 2}),
        ("resize-join", {"order": 2}),
    ]


def test_an_instance_with_a_start_that_waits_is_not_idle(whole: tuple[Cluster, int, Program]) -> None:
    cluster, _, _ = whole
    cluster.bench.submit(slots=2, urgency=20)
    assert not cluster.bench.engine._manager.parts.scheduler.idle


def test_what_a_starter_takes_from_free_cores_is_reserved_for_it(kit: Any, cluster: Cluster) -> None:
    job = cluster.elastic(1, 3, spec=kit.jobspec("app"))
    program = Program(cluster.bench, job)
    other = cluster.bench.submit(slots=2, urgency=20)
    assert (program.last_message["count"], cluster.free) == (1, 0)
    later = cluster.bench.submit(slots=1)
    program.send_message("release", order=1, workers=[2])
    program.end(2)
    assert (other in cluster.bench.running(), later in cluster.bench.running()) == (True, False)


def test_an_order_rounds_down_to_whole_workers(kit: Any, make: Callable[..., Cluster]) -> None:
    cluster = make(gap=0)
    job = cluster.elastic(1, 2, spec=kit.jobspec("app", cores=2))
    program = Program(cluster.bench, job)
    other = cluster.bench.submit(slots=1, urgency=20)
    assert program.last_message == {"type": "shrink", "order": 1, "count": 1, "size": 1}
    program.send_message("release", order=1, workers=[1])
    program.end(1)
    assert (other in cluster.bench.running(), cluster.free) == (True, 1)


def test_with_a_placement_the_order_names_the_workers_that_best_leave(kit: Any, tmp_path: Path) -> None:
    """Those that free whole domains."""
    table = {"queue-policy": "priority-elastic", "scheduler-settings": {"gap": 0}}
    table |= {"placement": "pack", "domains": "0;1"}
    cluster = Cluster(lambda **options: kit.Bench(tmp_path, **options), table)
    job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
    program = Program(cluster.bench, job)
    cluster.bench.submit(slots=2, urgency=20)
    order = {"type": "shrink", "order": 1, "count": 2, "size": 2, "prefer": [3, 2, 1]}
    assert program.last_message == order


def test_nodes_are_taken_where_the_job_is_not_yet(kit: Any, cluster: Cluster) -> None:
    other = cluster.bench.submit(cores=2)
    job = cluster.elastic(1, 2, spec=kit.jobspec("app", nodes=1))
    program = Program(cluster.bench, job)
    cluster.bench.finish(other)
    assert (program.last_message["type"], program.last_message["hosts"]) == ("grow", ["mc-0"])


def test_progress_reaches_the_policy(whole: tuple[Cluster, int, Program]) -> None:
    cluster, job, program = whole
    cluster.bench.loop.advance(10)
    program.send_message("progress", share=0.2)
    cluster.bench.loop.advance(10)
    program.send_message("progress", share=0.4)
    record = cluster.bench.engine._manager.parts.scheduler.running[job]
    assert (record.remaining, record.estimate.seconds(4)) == (0.6, pytest.approx(50))
