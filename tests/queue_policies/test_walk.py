"""Going through the queue in order, and placing what may be placed."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies.counting import CountingCluster, Units
from queue_policies.walk import Walk, place


def test_goes_through_all_classes_in_order(kit: Any) -> None:
    queue = kit.state(4, [kit.waits(n, n % 3 + 1) for n in range(9)]).queue
    walk, seen = Walk(queue.classes(2)), []
    while walk:
        seen.append(walk.job.id)
        walk.on()
    assert seen == [0, 1, 3, 4, 6, 7]


def test_a_class_can_be_dropped_or_thinned(kit: Any) -> None:
    queue = kit.state(4, [kit.waits(n, 1 + n % 2, limit=float(9 - n)) for n in range(8)]).queue
    walk, seen = Walk(queue.classes(4)), []
    while walk:
        seen.append(walk.job.id)
        if walk.job.id == 0:
            walk.only(4.0)
        elif walk.job.id == 3:
            walk.drop()
        else:
            walk.on()
    assert seen == [0, 1, 3, 6]


class Blocks:
    """Units of which only some suit."""

    def __init__(self, free: int, suits: int) -> None:
        self.free = free
        self._suits = suits

    def fits(self, request: Units) -> bool:
        return request.size <= self._suits

    def take(self, job: int, request: Units) -> bool:
        return self.fits(request)


@pytest.mark.parametrize(
    ("suits", "most", "size"),
    [
        pytest.param(9, 99, 8, id="its largest size"),
        pytest.param(9, 5, 5, id="up to what is wanted"),
        pytest.param(7, 99, 7, id="what suits"),
        pytest.param(4, 99, 4, id="much less"),
        pytest.param(2, 99, 2, id="the least"),
        pytest.param(1, 99, None, id="too little"),
        pytest.param(9, 1, None, id="too little is wanted"),
    ],
)
def test_an_elastic_job_gets_the_largest_size_that_suits(kit: Any, suits: int, most: int, size: Any) -> None:
    got = place(Blocks(9, suits), kit.waits(1, 2, 8), most)  # type: ignore[arg-type]
    assert (got and got.size) == size


@pytest.mark.parametrize(("most", "fits"), [(3, True), (2, False)])
def test_a_rigid_job_gets_its_size_or_nothing(kit: Any, most: int, fits: bool) -> None:
    assert (place(Blocks(9, 9), kit.waits(1, 3), most) is not None) is fits  # type: ignore[arg-type]


def test_a_cluster_counts() -> None:
    cluster = CountingCluster(8)
    cluster.hold(1, 3)
    cluster.hold(1, 5)
    assert (cluster.free, cluster.held) == (3, {1: 5})
    cluster.resize(4)
    assert (cluster.total, cluster.free) == (4, -1)
    cluster.release(1)
    cluster.release(2)
    assert (cluster.free, cluster.held) == (4, {})


def test_a_trial_changes_nothing_else() -> None:
    cluster = CountingCluster(8)
    cluster.hold(1, 3)
    sketch = cluster.sketch()
    assert (sketch.take(2, Units(6)), sketch.take(2, Units(5)), sketch.holds(2)) == (False, True, True)
    then = sketch.copy()
    then.give(1)
    then.give(2)
    then.mirror(sketch, 2)
    assert (then.free, sketch.free, cluster.free) == (3, 0, 5)
    assert then.fits(Units(3))
