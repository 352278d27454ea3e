"""Our scheduler for real Flux: why jobs wait, and what is reported of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import f58
from minicluster.flux_scheduler import replies
from minicluster.flux_scheduler.errors import WrongArgument
from minicluster.flux_scheduler.reasons import Reasons
from queue_policies.easy import Easy
from tests.lead.scheduled import Wrong, arrive, jobspec, scheduling

if TYPE_CHECKING:
    from minicluster.flux_scheduler.scheduling import Scheduling


class TestReasons:
    """Why a job waits."""

    @pytest.mark.parametrize(
        ("spec", "message"),
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
    def test_too_little_is_free(self, spec: Any, message: str) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=10))
        made.decide(100.0)
        made.allocations.ranks.up.discard(3)
        made.allocations.follow_ranks()
        arrive(made, 2, spec)
        made.decide(100.0)
        assert Reasons(made).of(made.queue[2]) == message

    def test_the_policy_keeps_it_for_another(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=10))
        arrive(made, 2, jobspec(slots=10))
        arrive(made, 3, jobspec())
        made.decide(100.0)
        message = f"its resources are free, but queue policy fcfs keeps them for job {f58(2)}"
        assert Reasons(made).of(made.queue[3]) == message

    def test_the_policy_waits_itself(self) -> None:
        made = scheduling(Wrong(lambda *_: []))
        arrive(made, 1, jobspec())
        made.decide(100.0)
        message = "its resources are free, but queue policy wrong does not start it yet"
        assert Reasons(made).of(made.queue[1]) == message

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
        assert replies.annotations_of(made) == {99: {"t_estimate": 500.0, "reason_pending": None}}

    def test_without_time_limits_no_start_is_expected(self) -> None:
        made = scheduling()
        arrive(made, 1, jobspec(slots=16))
        arrive(made, 2, jobspec())
        made.decide(100.0)
        assert replies.annotations_of(made)[2]["t_estimate"] is None

    def test_what_is_down_makes_no_room(self) -> None:
        """However long one waits."""
        made = scheduling()
        arrive(made, 1, jobspec(limit=60))
        made.decide(100.0)
        made.allocations.ranks.up.discard(3)
        made.allocations.follow_ranks()
        arrive(made, 2, jobspec(nodes=4))
        assert replies.soonest(made, made.queue[2]) is None

    def test_first_jobs_are_annotated(self, made: Scheduling) -> None:
        """Not all of them: each costs a message."""
        annotations = replies.annotations_of(made)
        assert list(annotations) == list(range(2, 10))
        assert annotations[2] == {"t_estimate": 160.0, "reason_pending": "needs 16 cores; 0 cores are free"}
        assert annotations[3]["t_estimate"] is None

    def test_whoever_asks_gets_all(self, made: Scheduling) -> None:
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
        ("asked", "message"),
        [
            pytest.param([], "asks for nothing", id="no table"),
            pytest.param({"ids": 1}, "asks for nothing", id="unknown key"),
            pytest.param({"limit": -1}, "limit is -1", id="negative"),
            pytest.param({"limit": "x"}, "limit is 'x'", id="no number"),
            pytest.param({"id": "!"}, "id is '!', which is no job id", id="no id"),
            pytest.param({"id": None}, "id is None, which is no job id", id="null"),
        ],
    )
    def test_a_wrong_question_is_refused(self, made: Scheduling, asked: Any, message: str) -> None:
        with pytest.raises(WrongArgument, match=message):
            replies.pending(made, asked)

    def test_elastic_jobs_show_their_most(self) -> None:
        made = scheduling(Wrong(lambda *_: []))
        arrive(made, 1, jobspec(nodes=1, slots=1, elastic={"min": 2, "max": 4}))
        line = replies.pending(made, {})["jobs"][0]
        assert (line["cores"], line["most"]) == (2, 4)
