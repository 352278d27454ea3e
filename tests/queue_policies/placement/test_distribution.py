"""Algorithm 2: tasks, CPU and memory of each worker add up to the job's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from queue_policies.placement.distribution import distribute, hostfile, portions


def test_the_first_workers_have_one_task_more() -> None:
    assert distribute(14, 4) == [4, 4, 3, 3]


def test_no_workers_have_no_tasks() -> None:
    assert distribute(4, 0) == []


def test_what_divides_evenly_is_the_printed_product() -> None:
    assert portions(14_000, distribute(14, 4)) == [4000, 4000, 3000, 3000]


def test_a_host_file_has_a_line_a_worker_with_its_tasks() -> None:
    assert hostfile(["mc-0", "mc-1"], [2, 1]) == "mc-0 slots=2\nmc-1 slots=1\n"


@given(tasks=st.integers(1, 200), workers=st.integers(1, 50), total=st.integers(0, 10**12))
def test_nothing_is_lost(tasks: int, workers: int, total: int) -> None:
    each = distribute(tasks, workers)
    parts = portions(total, each)
    assert (sum(each), sum(parts)) == (tasks, total)
    assert all(abs(part - total * count / tasks) < 1 for part, count in zip(parts, each, strict=True))
