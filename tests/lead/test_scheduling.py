"""Our scheduler for real Flux, where no Flux is needed: one decision, and why jobs wait."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from broker_config.formats import idset
from broker_config.formats.errors import JobspecError
from broker_config.formats.jobid import f58
from minicluster.flux_scheduler import holdings, replies
from minicluster.flux_scheduler.choice import chosen, order_timeout
from minicluster.flux_scheduler.errors import NoRoom, WrongArgument
from minicluster.flux_scheduler.ranks import Ranks
from minicluster.flux_scheduler.reasons import Reasons
from minicluster.flux_scheduler.scheduling import Scheduling
from queue_policies.easy import Easy
from queue_policies.fcfs import Fcfs
from queue_policies.records import Action, Start, State, WakeAt

if TYPE_CHECKING:
    from collections.abc import Callable

CORES = 4


def resources(ranks: str = "0-3", cores: str = "0-3", **execution: Any) -> dict[str, Any]:
    hosts = [f"n{rank}" for rank in idset.decode(ranks)]
    lite = [{"rank": ranks, "children": {"core": cores}}]
    return {"version": 1, "execution": {"R_lite": lite, "nodelist": hosts, **execution}}


def jobspec(nodes: int = 0, slots: int = 1, *, limit: float = 0, exclusive: bool = False, **more: Any) -> Any:
    slot = {"type": "slot", "count": slots, "label": "task", "with": [{"type": "core", "count": 1}]}
    node = {"type": "node", "count": nodes, "with": [slot]}
    top = node if nodes else slot
    if exclusive:
        top["exclusive"] = True
    return {
        "version": 1,
        "resources": [top],
        "tasks": [{"command": ["true"], "slot": "task", "count": {"per_slot": 1}}],
        "attributes": {"system": {"duration": limit}, **({"user": more} if more else {})},
    }


def scheduling(policy: Any = None, ranks: str = "0-3", owner: int | None = None) -> Scheduling:
    """Four nodes of four cores, all up."""
    made = Scheduling(policy or Fcfs(), Ranks(resources(ranks)), owner)
    made.holdings.ranks.up |= made.holdings.ranks.named("all")
    made.holdings.follow_ranks()
    return made


def arrive(made: Scheduling, number: int, spec: Any, priority: int = 16) -> None:
    made.arrive(made.queued(number, priority, 0, float(number), spec))


def started(made: Scheduling, now: float = 100.0) -> dict[int, tuple[str, int]]:
    """What starts now: the ranks of each job, and its slots."""
    return {each.job.id: (idset.encode(each.holding), each.slots) for each in made.decide(now).starts}


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
        assert (idset.encode(begun.holding), begun.slots) == ("0", 1)
        assert [place.rank for place in begun.more] == [1, 2, 3]
        record = made.running[1]
        assert (record.size, record.heeds, made.malleable) == (4, False, True)
        made.holdings.free(1)
        assert (made.pool.free, made.malleable) == (16, False)

    def test_a_part_of_a_malleable_job_is_free_at_its_end(self) -> None:
        """Companions of it may be on the same ranks."""
        made = scheduling(owner=0)
        arrive(made, 1, jobspec(slots=1, elastic={"min": 8, "max": 8, "malleable": True}))
        made.decide(100.0)
        made.holdings.free(1, [0])
        assert made.pool.free == 8
        made.holdings.free(1)
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
        made.holdings.limit(1, 500.0)
        made.holdings.limit(9, 500.0)
        made.decide(101.0)
        assert made.expected == {2: 500.0}


class TestResources:
    """What is free, and which ranks there are."""

    def test_an_end_frees_all(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=16))
        made.decide(100.0)
        made.holdings.free(1)
        made.holdings.free(1)
        assert (made.pool.free, len(made.running)) == (16, 0)

    def test_ranks_come_back_one_by_one(self) -> None:
        """As where an epilog is slow on one of them."""
        made = scheduling()
        arrive(made, 1, jobspec(slots=16))
        made.decide(100.0)
        made.holdings.free(1, [0, 2])
        assert (made.pool.free, made.running[1].size) == (8, 8)
        made.holdings.free(1)
        assert made.pool.free == 16

    def test_ranks_that_are_down_get_nothing(self) -> None:
        made = scheduling()
        made.holdings.ranks.up -= {0, 1}
        made.holdings.follow_ranks()
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
        made.holdings.ranks.remove([3])
        made.holdings.follow_ranks()
        assert (made.pool.total, made.running[1].size) == (12, 12)
        made.holdings.free(1)
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
        made.holdings.resume(*holdings.running(7, 16, 0, 40.0, resources("1-2", "0-1", **execution)))
        assert (made.pool.free, made.running[7].end) == (12, 150.0)

    def test_without_expiration_they_never_end(self) -> None:
        record, _ = holdings.running(7, 16, 0, 40.0, resources("1", expiration=0.0))
        assert record.end == math.inf

    def test_jobs_on_ranks_that_left_are_refused(self) -> None:
        made = scheduling(ranks="0-1")
        with pytest.raises(NoRoom, match=f"job {f58(7)} runs on ranks that are not here: 2"):
            made.holdings.resume(*holdings.running(7, 16, 0, 40.0, resources("1-2")))

    def test_an_r_of_what_is_given_out(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=5))
        made.decide(100.0)
        execution = made.holdings.ranks.encode(made.holdings.allocated(), nslots=5)["execution"]
        assert (execution["nodelist"], execution["nslots"]) == (["n[0-1]"], 5)
        assert execution["R_lite"] == [
            {"rank": "0", "children": {"core": "0-3"}},
            {"rank": "1", "children": {"core": "0"}},
        ]


class TestRefusals:
    """Jobs that can never run."""

    @pytest.mark.parametrize(
        ("spec", "said"),
        [
            pytest.param(jobspec(slots=17), "unsatisfiable request: need 17 slot(s)", id="too many slots"),
            pytest.param(jobspec(nodes=5), "unsatisfiable request: need 5 node(s)", id="too many nodes"),
            pytest.param(
                jobspec(elastic={"min": 17, "max": 20}), "need 17 slot(s)", id="least size too large"
            ),
        ],
    )
    def test_too_large(self, spec: Any, said: str) -> None:
        assert said in str(scheduling().infeasible(spec))

    def test_only_the_least_size_must_be_there(self) -> None:
        assert scheduling().infeasible(jobspec(elastic={"min": 1, "max": 99})) is None

    @pytest.mark.parametrize(
        ("elastic", "said"),
        [
            pytest.param({"min": 3, "max": 2}, "min 3 is greater than max 2", id="min above max"),
            pytest.param({"min": 1}, "max is missing", id="no max"),
            pytest.param("yes", "must be a mapping", id="no table"),
        ],
    )
    def test_elastic_that_is_none(self, elastic: Any, said: str) -> None:
        with pytest.raises(JobspecError, match=said):
            scheduling().queued(1, 16, 0, 0.0, jobspec(elastic=elastic))


@dataclass(frozen=True)
class Wrong:
    """A policy that does what it is told to."""

    answer: Callable[[State, float], list[Action]]
    name: ClassVar[str] = "wrong"

    def decide(self, state: State, now: float) -> list[Action]:
        return self.answer(state, now)


class TestDefects:
    """A policy that is wrong costs no job and no instance."""

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            pytest.param(lambda *_: 1 / 0, "wrong failed: ZeroDivisionError", id="raises"),
            pytest.param(lambda *_: [Start(9)], "starts job 9, which is not queued", id="unknown job"),
            pytest.param(lambda *_: [Start(1), Start(1)], "starts job 1 twice", id="twice"),
            pytest.param(lambda *_: None, "which is no list of actions", id="no list"),
        ],
    )
    def test_jobs_wait(self, answer: Any, said: str) -> None:
        made = scheduling(Wrong(answer))
        arrive(made, 1, jobspec())
        assert started(made) == {}
        assert said in made.defect
        assert len(made.queue) == 1

    def test_what_was_counted_may_not_fit(self) -> None:
        """Sixteen cores are free, but no node has five."""
        made = scheduling(Wrong(lambda *_: [Start(1)]))
        arrive(made, 1, jobspec(nodes=1, slots=4))
        arrive(made, 2, jobspec(nodes=1, slots=1))
        for rank in range(4):
            arrive(made, 10 + rank, jobspec())
        made.holdings.resume(*holdings.running(7, 16, 0, 0.0, resources("0-3", "0")))
        assert started(made) == {}
        assert f"starts job {f58(1)} at 4 cores, for which there is no room" in made.defect

    def test_the_next_change_asks_again_about_everything(self) -> None:
        """The policy has not seen the first job."""
        fails = [True, False]
        made = scheduling(Wrong(lambda state, now: 1 / 0 if fails.pop(0) else Fcfs().decide(state, now)))
        arrive(made, 1, jobspec())
        assert started(made) == {}
        arrive(made, 2, jobspec())
        assert started(made).keys() == {1, 2}
        assert made.defect == ""

    def test_the_earliest_time_to_wake_counts(self) -> None:
        made = scheduling(Wrong(lambda _, now: [WakeAt(now + 9), WakeAt(now + 5)]))
        arrive(made, 1, jobspec())
        assert made.decide(100.0).wake == 105.0
        made.woken()
        assert made.decide(105.0).wake == 110.0


class TestReasons:
    """Why a job waits."""

    @pytest.mark.parametrize(
        ("spec", "said"),
        [
            pytest.param(jobspec(slots=3), "needs 3 cores; 2 cores are free", id="slots"),
            pytest.param(
                jobspec(nodes=2, slots=2), "needs 2 nodes with 2 cores each; 2 cores are free", id="nodes"
            ),
            pytest.param(jobspec(nodes=1, slots=3), "needs 1 node with 3 cores; 2 cores are free", id="node"),
            pytest.param(
                jobspec(nodes=1, exclusive=True), "needs 1 whole node; 2 cores are free", id="exclusive"
            ),
            pytest.param(jobspec(slots=15), "needs nodes that are down or drained", id="down"),
        ],
    )
    def test_too_little_is_free(self, spec: Any, said: str) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=10))
        made.decide(100.0)
        made.holdings.ranks.up.discard(3)
        made.holdings.follow_ranks()
        arrive(made, 2, spec)
        made.decide(100.0)
        assert Reasons(made).of(made.queue[2]) == said

    def test_the_policy_keeps_it_for_another(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=10))
        arrive(made, 2, jobspec(slots=10))
        arrive(made, 3, jobspec())
        made.decide(100.0)
        said = f"its resources are free, but queue policy fcfs keeps them for job {f58(2)}"
        assert Reasons(made).of(made.queue[3]) == said

    def test_the_policy_waits_itself(self) -> None:
        made = scheduling(Wrong(lambda *_: []))
        arrive(made, 1, jobspec())
        made.decide(100.0)
        said = "its resources are free, but queue policy wrong does not start it yet"
        assert Reasons(made).of(made.queue[1]) == said

    def test_the_policy_failed(self) -> None:
        made = scheduling(Wrong(lambda *_: 1 / 0))  # type: ignore[arg-type, return-value]
        arrive(made, 1, jobspec())
        made.decide(100.0)
        assert "wrong failed, and is asked again" in Reasons(made).of(made.queue[1])


class TestAnswers:
    """What is told of jobs that wait."""

    @pytest.fixture
    def made(self) -> Scheduling:
        """One job runs, twelve wait."""
        made = scheduling(Easy())
        arrive(made, 1, jobspec(slots=16, limit=60))
        for number in range(2, 14):
            arrive(made, number, jobspec(slots=16))
        made.decide(100.0)
        return made

    def test_all_that_is_reserved_is_annotated(self) -> None:
        made = scheduling(Easy())
        made.expected[99] = 500.0
        assert replies.told(made) == {99: {"t_estimate": 500.0, "reason_pending": None}}

    def test_without_time_limits_no_start_is_expected(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=16))
        arrive(made, 2, jobspec())
        made.decide(100.0)
        assert replies.told(made)[2]["t_estimate"] is None

    def test_what_is_down_makes_no_room(self) -> None:
        """However long one waits."""
        made = scheduling()
        arrive(made, 1, jobspec(limit=60))
        made.decide(100.0)
        made.holdings.ranks.up.discard(3)
        made.holdings.follow_ranks()
        arrive(made, 2, jobspec(nodes=4))
        assert replies.soonest(made, made.queue[2]) is None

    def test_first_jobs_are_annotated(self, made: Scheduling) -> None:
        """Not all of them: each costs a message."""
        told = replies.told(made)
        assert list(told) == list(range(2, 10))
        assert told[2] == {"t_estimate": 160.0, "reason_pending": "needs 16 cores; 0 cores are free"}
        assert told[3]["t_estimate"] is None

    def test_whoever_asks_is_told_of_all(self, made: Scheduling) -> None:
        answer = replies.pending(made, {})
        counted = {key: answer[key] for key in ("policy", "defect", "free", "total", "running", "pending")}
        assert counted == {
            "policy": "easy",
            "defect": "",
            "free": 0,
            "total": 16,
            "running": 1,
            "pending": 12,
        }
        assert answer["jobs"][0] == {
            "id": f58(2),
            "ahead": 0,
            "priority": 16,
            "cores": 16,
            "most": 16,
            "reason": "needs 16 cores; 0 cores are free",
            "t_estimate": 160.0,
        }
        assert len(answer["jobs"]) == 12

    @pytest.mark.parametrize(
        ("asked", "ahead"),
        [
            pytest.param({"limit": 2}, [0, 1], id="limit"),
            pytest.param({"id": f58(5)}, [3], id="id"),
            pytest.param({"id": 5}, [3], id="number"),
            pytest.param({"id": 99}, [], id="unknown"),
        ],
    )
    def test_fewer_may_be_asked_for(self, made: Scheduling, asked: Any, ahead: list[int]) -> None:
        assert [line["ahead"] for line in replies.pending(made, asked)["jobs"]] == ahead

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            pytest.param([], "asks for nothing", id="no table"),
            pytest.param({"ids": 1}, "asks for nothing", id="unknown key"),
            pytest.param({"limit": -1}, "limit is -1", id="negative"),
            pytest.param({"limit": "x"}, "limit is 'x'", id="no number"),
            pytest.param({"id": "!"}, "id is '!', which is no job id", id="no id"),
            pytest.param({"id": None}, "id is None, which is no job id", id="null"),
        ],
    )
    def test_a_wrong_question_is_told_so(self, made: Scheduling, asked: Any, said: str) -> None:
        with pytest.raises(WrongArgument, match=said):
            replies.pending(made, asked)

    def test_elastic_jobs_show_their_most(self) -> None:
        made = scheduling(Wrong(lambda *_: []))
        arrive(made, 1, jobspec(nodes=1, slots=1, elastic={"min": 2, "max": 4}))
        line = replies.pending(made, {})["jobs"][0]
        assert (line["cores"], line["most"]) == (2, 4)


TABLE = {"queue-policy": "minicluster/easy", "scheduler-settings": {"extra": False}}


class TestChoice:
    """Which policy decides."""

    @pytest.mark.parametrize(
        ("table", "arguments", "name", "settings"),
        [
            pytest.param(None, [], "fcfs", {}, id="nothing said"),
            pytest.param(TABLE, [], "easy", {"extra": False}, id="broker.toml"),
            pytest.param({"queue-policy": ""}, [], "fcfs", {}, id="empty"),
            pytest.param(TABLE, ["setting.extra=true"], "easy", {"extra": True}, id="another setting"),
            pytest.param(TABLE, ["policy=fcfs"], "fcfs", {}, id="another policy"),
            pytest.param(
                None,
                ["policy=minicluster/x", "setting.a=1", "setting.b=0.5", "setting.c=[1]", "setting.d=e=f"],
                "x",
                {"a": 1, "b": 0.5, "c": "[1]", "d": "e=f"},
                id="values",
            ),
        ],
    )
    def test_chosen(self, table: Any, arguments: list[str], name: str, settings: Any) -> None:
        assert chosen(table, arguments) == (name, settings)

    @pytest.mark.parametrize(
        ("table", "arguments", "said"),
        [
            pytest.param(None, ["polcy=easy"], "unknown argument 'polcy=easy': known are", id="argument"),
            pytest.param(None, ["setting.extra"], "unknown argument 'setting.extra'", id="no value"),
            pytest.param([], [], "broker.toml, minicluster: a table", id="no table"),
            pytest.param({"queue-policy": 1}, [], "queue-policy = 1: a policy's name", id="no name"),
            pytest.param(
                {"scheduler-settings": 1}, [], "scheduler-settings: a table", id="settings are no table"
            ),
        ],
    )
    def test_wrong(self, table: Any, arguments: list[str], said: str) -> None:
        with pytest.raises(WrongArgument, match=said):
            chosen(table, arguments)


class TestOrderTimeout:
    """How long malleable programs may take."""

    @pytest.mark.parametrize(
        ("table", "seconds"), [(None, 60.0), ({}, 60.0), ({"order-timeout": "1.5m"}, 90.0)]
    )
    def test_read(self, table: Any, seconds: float) -> None:
        assert order_timeout(table) == seconds

    @pytest.mark.parametrize("given", ["none", "0s", "soon", 0])
    def test_wrong(self, given: Any) -> None:
        with pytest.raises(WrongArgument, match=r"broker.toml, \[minicluster\] order-timeout: "):
            order_timeout({"order-timeout": given})
