"""Our scheduler for real Flux, where no Flux is needed: what starts where, and what is free."""

from __future__ import annotations

import math

import pytest

from broker_config.formats import idset
from broker_config.formats.jobid import f58
from minicluster.flux_scheduler import job_allocations
from minicluster.flux_scheduler.errors import NoRoom
from minicluster.flux_scheduler.ranks import Ranks
from minicluster.flux_scheduler.scheduling import Scheduling
from queue_policies.easy import Easy
from queue_policies.fcfs import Fcfs
from tests.lead.scheduled import arrive, jobspec, resources, scheduling, started


class TestStarts:
    """What a decision gives out."""

    def test_low_ranks_are_filled_first(self) -> None:
        """So that shrinking finds the high ones idle."""
        made = scheduling()
        arrive(made, 1, jobspec(slots=5))
        assert started(made) == {1: ("0-1", 5)}

    def test_elastic_nodes_get_what_is_free(self) -> None:
        """The slots of R are those that it got, not those that its jobspec names."""
        made = scheduling()
        arrive(made, 1, jobspec(nodes=1, elastic={"min": 1, "max": 3}))
        assert started(made) == {1: ("0-2", 3)}

    def test_elastic_slots_get_what_is_free(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=14))
        arrive(made, 2, jobspec(slots=1, elastic={"min": 1, "max": 8}))
        assert started(made) == {1: ("0-3", 14), 2: ("3", 2)}

    def test_an_elastic_job_waits_for_its_least_size(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=14))
        arrive(made, 2, jobspec(slots=1, elastic={"min": 3, "max": 8}))
        assert started(made).keys() == {1}

    def test_whole_nodes_count_all_their_cores(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(nodes=1, exclusive=True, elastic={"min": 1, "max": 2}))
        arrive(made, 2, jobspec(slots=8))
        assert started(made) == {1: ("0-1", 2), 2: ("2-3", 8)}

    def test_malleable_jobs_of_others_are_moldable(self) -> None:
        """Their companions could not run as theirs."""
        made = scheduling()
        arrive(made, 1, jobspec(elastic={"min": 1, "max": 3, "malleable": True}))
        assert started(made) == {1: ("0", 3)}
        assert not made.running[1].elastic.malleable  # type: ignore[union-attr]

    def test_malleable_jobs_start_at_their_least_size(self) -> None:
        """What they get besides is held for companions."""
        made = scheduling(owner=0)
        arrive(made, 1, jobspec(nodes=1, elastic={"min": 1, "max": 9, "malleable": True}))
        (begun,) = made.decide(100.0).starts
        assert (idset.encode(begun.allocation), begun.slots) == ("0", 1)
        assert [slot.rank for slot in begun.more] == [1, 2, 3]
        record = made.running[1]
        assert (record.size, record.heeds, made.malleable) == (4, False, True)
        made.allocations.free(1)
        assert (made.pool.free, made.malleable) == (16, False)

    def test_a_part_of_a_malleable_job_is_free_at_its_end(self) -> None:
        """Companions of it may be on the same ranks."""
        made = scheduling(owner=0)
        arrive(made, 1, jobspec(slots=1, elastic={"min": 8, "max": 8, "malleable": True}))
        made.decide(100.0)
        made.allocations.free(1, [0])
        assert made.pool.free == 8
        made.allocations.free(1)
        assert made.pool.free == 16

    def test_priority_comes_first(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=10))
        arrive(made, 2, jobspec(slots=10))
        made.prioritize(2, 31)
        assert started(made).keys() == {2}

    def test_a_job_that_left_does_not_start(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec())
        made.leave(1)
        made.leave(2)
        assert started(made) == {}

    def test_nothing_new_asks_nobody(self) -> None:
        """Else a scheduler would be busy all the time."""
        made = scheduling()
        arrive(made, 1, jobspec(slots=16))
        arrive(made, 2, jobspec())
        assert started(made).keys() == {1}
        assert started(made) == {}

    def test_time_limits_make_room_for_others(self) -> None:
        """EASY: the second waits until 160, the third ends before."""
        made = scheduling(Easy())
        arrive(made, 1, jobspec(slots=15, limit=60))
        arrive(made, 2, jobspec(slots=16))
        arrive(made, 3, jobspec(limit=30))
        assert started(made).keys() == {1, 3}
        assert made.expected == {2: 160.0}

    def test_a_limit_that_changes_is_heeded(self) -> None:
        made = scheduling(Easy())
        arrive(made, 1, jobspec(slots=15, limit=60))
        arrive(made, 2, jobspec(slots=16))
        assert started(made).keys() == {1}
        made.allocations.limit(1, 500.0)
        made.allocations.limit(9, 500.0)
        made.decide(101.0)
        assert made.expected == {2: 500.0}


class TestResources:
    """What is free, and which ranks there are."""

    def test_an_end_frees_all(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=16))
        made.decide(100.0)
        made.allocations.free(1)
        made.allocations.free(1)
        assert (made.pool.free, len(made.running)) == (16, 0)

    def test_ranks_come_back_one_by_one(self) -> None:
        """As where an epilog is slow on one of them."""
        made = scheduling()
        arrive(made, 1, jobspec(slots=16))
        made.decide(100.0)
        made.allocations.free(1, [0, 2])
        assert (made.pool.free, made.running[1].size) == (8, 8)
        made.allocations.free(1)
        assert made.pool.free == 16

    def test_ranks_that_are_down_get_nothing(self) -> None:
        made = scheduling()
        made.allocations.ranks.up -= {0, 1}
        made.allocations.follow_ranks()
        arrive(made, 1, jobspec(slots=5))
        assert started(made) == {1: ("2-3", 5)}

    def test_excluded_ranks_are_a_gap(self) -> None:
        """Resource.exclude takes them out of what a scheduler hears of."""
        made = scheduling(ranks="1,3")
        arrive(made, 1, jobspec(slots=5))
        assert started(made) == {1: ("1,3", 5)}
        assert made.pool.total == 8

    def test_ranks_that_leave_are_gone(self) -> None:
        """Jobs keep what they have elsewhere."""
        made = scheduling()
        arrive(made, 1, jobspec(slots=16))
        made.decide(100.0)
        made.allocations.ranks.remove([3])
        made.allocations.follow_ranks()
        assert (made.pool.total, made.running[1].size) == (12, 12)
        made.allocations.free(1)
        assert made.pool.free == 12

    def test_no_rank_at_all(self) -> None:
        """All may be excluded."""
        assert Scheduling(Fcfs(), Ranks(resources("0", ""))).pool.total == 0
        empty = Ranks({"version": 1, "execution": {"R_lite": [], "nodelist": []}})
        assert Scheduling(Fcfs(), empty).pool.total == 0
        assert empty.encode()["execution"]["nodelist"] == []

    def test_jobs_from_before_keep_what_they_have(self) -> None:
        made = scheduling()
        execution = {"starttime": 50.0, "expiration": 150.0}
        made.allocations.resume(
            *job_allocations.running(7, 16, 0, 40.0, resources("1-2", "0-1", **execution))
        )
        assert (made.pool.free, made.running[7].end) == (12, 150.0)

    def test_without_expiration_they_never_end(self) -> None:
        record, _ = job_allocations.running(7, 16, 0, 40.0, resources("1", expiration=0.0))
        assert record.end == math.inf

    def test_jobs_on_ranks_that_left_are_refused(self) -> None:
        made = scheduling(ranks="0-1")
        with pytest.raises(NoRoom, match=f"job {f58(7)} runs on ranks that are not here: 2"):
            made.allocations.resume(*job_allocations.running(7, 16, 0, 40.0, resources("1-2")))

    def test_an_r_of_what_is_given_out(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=5))
        made.decide(100.0)
        execution = made.allocations.ranks.encode(made.allocations.allocated(), nslots=5)["execution"]
        assert (execution["nodelist"], execution["nslots"]) == (["n[0-1]"], 5)
        assert execution["R_lite"] == [
            {"rank": "0", "children": {"core": "0-3"}},
            {"rank": "1", "children": {"core": "0"}},
        ]
