"""Our scheduler for real Flux: jobs that can never run, and wrong policies and settings."""

from __future__ import annotations

from typing import Any

import pytest

from broker_config.formats.errors import JobspecError
from broker_config.formats.jobid import f58
from minicluster.flux_scheduler import job_allocations
from minicluster.flux_scheduler.choice import (
    check_sharing,
    chosen,
    domains_chosen,
    order_timeout,
    placement_chosen,
)
from minicluster.flux_scheduler.errors import WrongArgument
from queue_policies.fcfs import Fcfs
from queue_policies.records import Start, WakeAt
from tests.embedded.engine.sharing.paired import Paired
from tests.lead.scheduled import Wrong, arrive, jobspec, resources, scheduling, started


class TestRefusals:
    """Jobs that can never run."""

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            pytest.param(jobspec(slots=17), "unsatisfiable request: need 17 slot(s)", id="too many slots"),
            pytest.param(jobspec(nodes=5), "unsatisfiable request: need 5 node(s)", id="too many nodes"),
            pytest.param(
                jobspec(elastic={"min": 17, "max": 20}), "need 17 slot(s)", id="least size too large"
            ),
        ],
    )
    def test_too_large(self, spec: Any, message: str) -> None:
        assert message in str(scheduling().infeasible(spec))

    def test_only_the_least_size_must_be_there(self) -> None:
        assert scheduling().infeasible(jobspec(elastic={"min": 1, "max": 99})) is None

    @pytest.mark.parametrize(
        ("elastic", "message"),
        [
            pytest.param({"min": 3, "max": 2}, "min 3 is greater than max 2", id="min above max"),
            pytest.param({"min": 1}, "max is missing", id="no max"),
            pytest.param("yes", "must be a mapping", id="no table"),
        ],
    )
    def test_elastic_that_is_none(self, elastic: Any, message: str) -> None:
        with pytest.raises(JobspecError, match=message):
            scheduling().queued(1, 16, 0, 0.0, jobspec(elastic=elastic))


class TestDefects:
    """A policy that is wrong costs no job and no instance."""

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            pytest.param(lambda *_: 1 / 0, "wrong failed: ZeroDivisionError", id="raises"),
            pytest.param(lambda *_: [Start(9)], "starts job 9, which is not queued", id="unknown job"),
            pytest.param(lambda *_: [Start(1), Start(1)], "starts job 1 twice", id="twice"),
            pytest.param(lambda *_: None, "which is no list of actions", id="no list"),
        ],
    )
    def test_jobs_wait(self, answer: Any, message: str) -> None:
        made = scheduling(Wrong(answer))
        arrive(made, 1, jobspec())
        assert started(made) == {}
        assert message in made.defect
        assert len(made.queue) == 1

    def test_what_was_counted_may_not_fit(self) -> None:
        """Sixteen cores are free, but no node has five."""
        made = scheduling(Wrong(lambda *_: [Start(1)]))
        arrive(made, 1, jobspec(nodes=1, slots=4))
        arrive(made, 2, jobspec(nodes=1, slots=1))
        for rank in range(4):
            arrive(made, 10 + rank, jobspec())
        made.allocations.resume(*job_allocations.running(7, 16, 0, 0.0, resources("0-3", "0")))
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
        ("table", "arguments", "message"),
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
    def test_wrong(self, table: Any, arguments: list[str], message: str) -> None:
        with pytest.raises(WrongArgument, match=message):
            chosen(table, arguments)


class TestPlacementChoice:
    """Which placement chooses nodes and cores."""

    @pytest.mark.parametrize(
        ("table", "found"),
        [
            pytest.param(None, None, id="nothing said"),
            pytest.param({"queue-policy": "easy"}, None, id="a policy"),
            pytest.param({"placement": "minicluster/pack"}, ("pack", {}), id="a placement"),
            pytest.param({"affinity": "required"}, ("low-rank", {"affinity": "required"}), id="an affinity"),
            pytest.param(
                {"placement": "pack", "affinity": "none", "placement-settings": {"x": 1, "affinity": "y"}},
                ("pack", {"x": 1, "affinity": "none"}),
                id="all",
            ),
        ],
    )
    def test_chosen(self, table: Any, found: object) -> None:
        assert placement_chosen(table) == found

    @pytest.mark.parametrize(
        ("text", "domains"),
        [
            pytest.param(None, (), id="none"),
            pytest.param("0-1;2-3", (0b0011, 0b1100), id="two"),
            pytest.param("0,2;1,3", (0b0101, 0b1010), id="interleaved"),
        ],
    )
    def test_domains(self, text: str | None, domains: tuple[int, ...]) -> None:
        assert domains_chosen({} if text is None else {"domains": text}) == domains

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            pytest.param({"placement": 1}, "placement = 1: a placement's name is right", id="no name"),
            pytest.param(
                {"placement-settings": 1}, "placement-settings: a table would be right", id="settings"
            ),
            pytest.param(
                {"affinity": "strict"},
                "affinity = 'strict': none, best-effort, required are right",
                id="affinity",
            ),
        ],
    )
    def test_wrong(self, table: Any, message: str) -> None:
        with pytest.raises(WrongArgument, match=message):
            placement_chosen(table)

    def test_domains_that_are_no_cores(self) -> None:
        with pytest.raises(WrongArgument, match="domains = '0-1;x': "):
            domains_chosen({"domains": "0-1;x"})


def test_a_policy_that_needs_shared_cores_is_refused() -> None:
    """In words, at the start: jobs would wait for ever."""
    with pytest.raises(WrongArgument) as error:
        check_sharing(Paired())
    assert str(error.value) == (
        "queue policy paired has jobs share cores, which real Flux does not let them: its job manager"
        " refuses a core that two jobs have, and nothing in it sets a job's CPU quota; the embedded instance"
        " has both, and here another policy is right"
    )
    check_sharing(Wrong(lambda _, __: []))


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
