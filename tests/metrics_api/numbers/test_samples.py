"""Every sample of an instance, and that sums count nothing twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from prometheus_client.parser import text_string_to_metric_families

from metrics_api import names
from metrics_api.numbers.exposition import exposition
from metrics_api.numbers.records import Counts, Hold, Sample, SlotRequest, Snapshot
from metrics_api.numbers.samples import samples
from tests.metrics_api.numbers.worlds import change, run, snapshots, wait, world

NOW = 100.0
ONE_NODE = SlotRequest(1, 1, 4)


def busy() -> Snapshot:
    """Two queues and two groups on four nodes, the last of which is down and the third drained."""
    made = change(world(up=3), 2, drained=True)
    made = run(made, (0, 4), (1, 1), queue="batch", group="a")
    made = run(made, (1, 2), queue="debug", group="b")
    made = wait(made, ONE_NODE, 2, queue="batch", group="a", since=40.0, core_seconds=480.0)
    made = wait(made, ONE_NODE, 1, queue="debug", group="b", since=70.0)
    made = wait(made, ONE_NODE, 3, queue="debug", group="b", hold=Hold.HELD, since=0.0)
    made = wait(made, SlotRequest(9, 1, 1), 1, queue="debug", group="b", since=5.0, core_seconds=9.0)
    batch = {"sched": 2, "run": 1, "inactive": 7}
    debug = {"sched": 5, "run": 1}
    total = {"depend": 0, "sched": 7, "run": 2, "cleanup": 0, "inactive": 7, "total": 16}
    return replace(made, counts=Counts(total, {"batch": batch, "debug": debug}))


def value(name: str, snapshot: Snapshot, **labels: str) -> float:
    (found,) = [s.value for s in samples(snapshot, NOW) if s.name == name and s.labels == labels]
    return found


CASES = [
    (names.NODES_DEMANDED, {}, 4),
    (names.NODES_DEMANDED_FLOOR, {}, 4),
    (names.NODES_DEMANDED_CEILING, {}, 4),
    (names.MIN_SIZE, {}, 1),
    (names.MAX_SIZE, {}, 4),
    (names.NODES_EXPECTED, {}, 4),
    (names.NODES_UP, {}, 3),
    (names.NODES_FREE, {}, 0),
    (names.NODES_ALLOCATED, {}, 2),
    (names.NODES_DRAINED, {}, 1),
    (names.CORES_EXPECTED, {}, 16),
    (names.CORES_UP, {}, 12),
    (names.CORES_FREE, {}, 1),
    (names.CORES_ALLOCATED, {}, 7),
    (names.CORES_DRAINED, {}, 4),
    (names.JOBS, {"state": "sched"}, 7),
    (names.JOBS, {"state": "inactive"}, 7),
    (names.JOBS_PENDING, {}, 7),
    (names.JOBS_RUNNING, {}, 2),
    (names.JOBS_HELD, {}, 3),
    (names.JOBS_UNSATISFIABLE, {}, 1),
    (names.OLDEST_WAIT, {}, 60.0),
    (names.DEMAND_CORE_SECONDS, {}, 480.0),
    (names.QUEUE_NODES_DEMANDED, {"queue": "batch"}, 4),
    (names.QUEUE_NODES_DEMANDED, {"queue": "debug"}, 2),
    (names.QUEUE_JOBS, {"queue": "batch", "state": "sched"}, 2),
    (names.QUEUE_JOBS_PENDING, {"queue": "debug"}, 5),
    (names.QUEUE_JOBS_RUNNING, {"queue": "batch"}, 1),
    (names.QUEUE_JOBS_HELD, {"queue": "debug"}, 3),
    (names.QUEUE_JOBS_UNSATISFIABLE, {"queue": "debug"}, 1),
    (names.QUEUE_OLDEST_WAIT, {"queue": "debug"}, 30.0),
    (names.QUEUE_DEMAND_CORE_SECONDS, {"queue": "batch"}, 480.0),
    (names.GROUP_NODES_ALLOCATED, {"group": "a"}, 2),
    (names.GROUP_JOBS_PENDING, {"group": "b"}, 5),
    (names.GROUP_JOBS_RUNNING, {"group": "b"}, 1),
    (names.GROUP_OLDEST_WAIT, {"group": "a"}, 60.0),
    (names.GROUP_DEMAND_CORE_SECONDS, {"group": "b"}, 0.0),
]


@pytest.mark.parametrize(("name", "labels", "wanted"), CASES)
def test_value(name: str, labels: dict[str, str], wanted: float) -> None:
    assert value(name, busy(), **labels) == wanted


def test_every_metric_has_a_case() -> None:
    """Those of bursts are in test_bursting."""
    assert {name for name, _, _ in CASES} == set(names.BY_NAME) - names.OF_BURSTS


def test_every_metric_is_there_also_where_nothing_is() -> None:
    """An idle instance has zeros, and names its one queue; groups come with their jobs, bursts with slots."""
    found = {each.name for each in samples(world(), NOW)}
    by_group = {name for name in names.BY_NAME if name.startswith("flux_group_")}
    assert set(names.BY_NAME) - found == by_group | names.OF_BURSTS
    assert value(names.QUEUE_JOBS_PENDING, world(), queue="default") == 0


def test_without_named_queues_the_one_queue_has_all_jobs() -> None:
    snapshot = replace(wait(world(), ONE_NODE, 2), counts=Counts({"sched": 2, "run": 0}))
    assert value(names.QUEUE_JOBS_PENDING, snapshot, queue="default") == 2


def test_clock_that_was_set_back_makes_no_negative_wait() -> None:
    assert value(names.OLDEST_WAIT, wait(world(), ONE_NODE, since=NOW + 50)) == 0.0


@given(snapshots())
def test_labels_are_the_documented_ones(snapshot: Snapshot) -> None:
    for each in samples(snapshot, NOW):
        assert tuple(each.labels) == names.BY_NAME[each.name].labels


@given(snapshots())
def test_no_sample_comes_twice(snapshot: Snapshot) -> None:
    keys = [(each.name, tuple(each.labels.items())) for each in samples(snapshot, NOW)]
    assert len(keys) == len(set(keys))


@given(snapshots())
def test_numbers_fit_together(snapshot: Snapshot) -> None:
    """Free and allocated are parts of what there is; nothing is negative."""
    found = {each.name: each.value for each in samples(snapshot, NOW) if not each.labels}
    assert min(found.values()) >= 0
    assert found[names.NODES_FREE] <= found[names.NODES_UP] <= found[names.NODES_EXPECTED]
    assert found[names.CORES_FREE] + found[names.CORES_ALLOCATED] <= found[names.CORES_EXPECTED]


@given(snapshots())
def test_prometheus_reads_every_sample(snapshot: Snapshot) -> None:
    """By its own parser: the same names, labels and values, each a gauge with its meaning."""
    given_samples = samples(snapshot, NOW)
    families = list(text_string_to_metric_families(exposition(given_samples)))
    assert {(f.type, f.documentation) for f in families} == {
        ("gauge", names.BY_NAME[f.name].meaning) for f in families
    }
    read = {(s.name, tuple(sorted(s.labels.items())), s.value) for f in families for s in f.samples}
    assert read == {(s.name, tuple(sorted(s.labels.items())), s.value) for s in given_samples}


def test_labels_are_escaped() -> None:
    """A queue may be called anything."""
    odd = 'a"b\\c\nd{},= é'
    text = exposition([Sample(names.QUEUE_JOBS_PENDING, 1, {"queue": odd})])
    ((sample,),) = [family.samples for family in text_string_to_metric_families(text)]
    assert sample.labels == {"queue": odd}
