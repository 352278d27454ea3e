"""Shrinking: ranks are drained, waited for, and let go; growing again they get jobs again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import idset
from minicluster.plan import (
    BrokerReport,
    JobReport,
    LeadCommand,
    Observed,
    PodReport,
    RestartReport,
    Site,
    plan,
)
from minicluster.plan.lifecycle.shrinking import RESTART_SECONDS
from tests.plan.conftest import NOW
from tests.plan.shrinking_life import ALL, DRAIN, KEYS, LEAD, SITE, UNTIL, Life, after, document


class TestWaiting:
    def test_first_the_leaving_ranks_are_drained(self) -> None:
        """Whatever was reported before: it may be old."""
        life = Life(report=replace(ALL, drained="2-3", shrunk="2-3"))
        decided = life.resize(2)
        assert (life.pods, decided.orders) == (4, (DRAIN,))
        assert life.resizing == (
            "Draining",
            f"shrinking to 2 pods: waiting for ranks 2-3 to be drained; they go at {UNTIL} at the latest",
        )

    def test_they_go_once_they_are_drained_and_idle(self) -> None:
        life = Life()
        life.resize(2)
        life.report = replace(ALL, drained="2-3", shrunk="2-3")
        decided = life.reconcile(after(1))
        assert (life.pods, decided.orders, decided.again) == (2, (), None)
        assert life.resizing == ("Shrinking", "shrinking to 2 pods")

    def test_their_jobs_are_waited_for(self) -> None:
        life = Life()
        life.resize(2)
        life.report = replace(ALL, drained="2-3", shrunk="2-3", busy="1,3")
        decided = life.reconcile(after(20))
        assert (life.pods, decided.orders, decided.again) == (4, (), 40.0)
        assert life.resizing == (
            "Draining",
            f"shrinking to 2 pods: waiting for the jobs on rank 3; they go at {UNTIL} at the latest",
        )

    def test_the_highest_go_first_once_they_can(self) -> None:
        life = Life()
        life.resize(1)
        life.report = replace(ALL, drained="1-3", shrunk="1-3", busy="1")
        life.reconcile(after(1))
        assert (life.pods, life.resizing[0]) == (2, "Draining")

    def test_what_the_lead_does_not_report_is_ordered_again(self) -> None:
        """The order may have been lost."""
        life = Life()
        life.resize(2)
        life.report = replace(ALL, drained="3", shrunk="3")
        decided = life.reconcile(after(3))
        assert decided.orders == (replace(DRAIN, ranks="2"),)
        assert decided.again == 2.0

    def test_a_rank_that_somebody_else_has_drained_may_go_as_well(self) -> None:
        life = Life()
        life.resize(2)
        life.report = replace(ALL, drained="2-3", shrunk="2")
        life.reconcile(after(1))
        assert life.pods == 2

    def test_without_a_running_lead_there_is_nothing_to_wait_for(self) -> None:
        """All jobs ended with it."""
        life = Life(report=None)
        life.lead = PodReport(0, "Pending")
        decided = life.resize(2)
        assert (life.pods, decided.orders) == (2, ())


class TestTimeOver:
    @pytest.mark.parametrize("seconds", [0, 7, 60])
    def test_they_go_with_their_jobs(self, seconds: int) -> None:
        """Where the lead does not say in time that it has started these again elsewhere."""
        busy = replace(ALL, drained="2-3", shrunk="2-3", busy="0,2-3")
        life = Life(report=busy, drainTimeoutSeconds=seconds)
        life.resize(2)
        life.reconcile(after(seconds + 29))
        assert life.pods == 4
        decided = life.reconcile(after(seconds + 30))
        assert life.pods == 2
        text = (
            f"shrinking to 2 pods: after {seconds} s (spec.drainTimeoutSeconds) ranks 2-3 still had jobs,"
            " which end with their pods"
        )
        assert life.resizing == ("DrainTimedOut", text)
        assert [(each.type, each.message) for each in decided.events if each.reason == "DrainTimedOut"] == [
            ("Warning", text)
        ]

    def test_that_is_reported_before_they_go(self) -> None:
        """Else nobody would ever say it, if the operator were stopped after it had written to the Job."""
        life = Life(drainTimeoutSeconds=0, report=replace(ALL, busy="3"))
        life.resize(2)
        first = life.step(after(30))
        assert (life.pods, life.resizing[0], first.again) == (4, "DrainTimedOut", 0.0)
        life.step(after(30))
        assert life.pods == 2

    def test_also_where_nobody_knows_what_runs_there(self) -> None:
        life = Life(report=None)
        life.unreachable_reason = "the lead API does not answer: connection refused"
        decided = life.resize(2)
        unknown = (
            "whether jobs run on ranks 2-3 is not known (the lead API does not answer: connection refused)"
        )
        assert (life.pods, decided.orders, decided.again) == (4, (), 60.0)
        assert life.resizing == (
            "Draining",
            f"shrinking to 2 pods: {unknown}; they go at {UNTIL} at the latest",
        )
        life.reconcile(after(60))
        assert life.pods == 2
        assert life.resizing == (
            "DrainTimedOut",
            f"shrinking to 2 pods: after 60 s (spec.drainTimeoutSeconds) {unknown}",
        )

    def test_it_is_reported_until_they_are_gone(self) -> None:
        life = Life(drainTimeoutSeconds=0, report=replace(ALL, busy="3"))
        life.resize(2)
        life.reconcile(after(30))
        resizing = life.resizing
        life.active = 3
        decided = life.reconcile(after(31))
        assert (life.resizing, decided.events) == (resizing, ())
        life.active = 2
        life.reconcile(after(32))
        assert life.resizing[0] == "AtSize"

    def test_an_operator_that_was_started_again_goes_on_waiting(self) -> None:
        """All that it needs is in the status, also half a second after the start of a second."""
        life = Life(report=replace(ALL, drained="2-3", shrunk="2-3", busy="3"))
        life.resize(2, after(0.5))
        life.report = None
        assert life.reconcile(after(20.5)).again == 39.5
        life.unreachable_reason = "the lead API does not answer"
        life.reconcile(after(60))
        assert life.pods == 2

    def test_a_change_of_the_document_begins_the_wait_anew(self) -> None:
        """Rank 1 shall have its time as well."""
        busy = replace(ALL, drained="1-3", shrunk="1-3", busy="1-3")
        life = Life(report=busy)
        life.resize(2)
        life.reconcile(after(50))
        life.resize(1, after(50))
        assert life.reconcile(after(60)).again == 50.0
        assert life.pods == 4


class TestRestarting:
    """What was waited for long enough is started again elsewhere, and told by its ids before the pods go."""

    BUSY = replace(ALL, drained="2-3", shrunk="2-3", busy="0,3")
    ORDER = LeadCommand("restart", "2-3", generation=1)
    ANSWER = RestartReport(ORDER, (("ƒa", "ƒb"), ("ƒc", "ƒd")), (("ƒe", "no copy"),))
    WORDS = (
        "shrinking to 2 pods: after 60 s (spec.drainTimeoutSeconds) jobs on ranks 2-3 could not finish;"
        " started again: ƒa as ƒb, ƒc as ƒd; lost: ƒe (no copy)"
    )

    def late(self) -> Life:
        """Have waited for as long as the document says."""
        life = Life()
        life.resize(2)
        life.report = self.BUSY
        return life

    def test_the_lead_gets_the_order(self) -> None:
        life = self.late()
        decided = life.step(after(60))
        assert (life.pods, decided.orders, decided.again) == (4, (self.ORDER,), 2.0)
        message = (
            "shrinking to 2 pods: the jobs on rank 3 did not end in time, and are started again elsewhere"
        )
        assert life.resizing == ("Draining", message)

    def test_while_no_report_comes_it_is_waited_for(self) -> None:
        """After an order the lead is listened to anew."""
        life = self.late()
        life.report = None
        decided = life.step(after(61))
        assert (life.pods, decided.orders) == (4, ())

    def test_its_answer_is_reported_before_pods_go(self) -> None:
        life = self.late()
        life.step(after(60))
        life.restarted = self.ANSWER
        decided = life.step(after(61))
        assert (life.pods, life.resizing, decided.again) == (4, ("JobsRestarted", self.WORDS), 0.0)
        events = [(each.type, str(each.reason), each.message) for each in decided.events]
        assert events == [("Warning", "JobsRestarted", self.WORDS)]
        life.step(after(61))
        assert life.pods == 2

    @pytest.mark.parametrize(
        "report", [None, BUSY, replace(BUSY, busy="0")], ids=["not heard", "busy", "idle"]
    )
    def test_once_reported_they_go(self, report: BrokerReport | None) -> None:
        """Also with an operator that was started again, and knows of no answer."""
        life = self.late()
        life.restarted = self.ANSWER
        life.step(after(60))
        life.restarted, life.report = None, report
        decided = life.step(after(62))
        assert (life.pods, life.resizing, decided.events) == (2, ("JobsRestarted", self.WORDS), ())

    def test_also_where_they_had_ended_before_that_was_known(self) -> None:
        life = self.late()
        life.restarted, life.report = self.ANSWER, replace(self.BUSY, busy="")
        life.step(after(61))
        assert (life.pods, life.resizing[0]) == (4, "JobsRestarted")

    def test_an_answer_that_was_lost_is_asked_for_again(self) -> None:
        """The jobs have ended on those ranks; their new ids are what is missing."""
        life = self.late()
        life.step(after(60))
        life.report = replace(self.BUSY, busy="0")
        decided = life.step(after(62))
        assert (life.pods, decided.orders, life.resizing[0]) == (4, (self.ORDER,), "Draining")
        life.restarted = self.ANSWER
        life.step(after(63))
        assert life.resizing == ("JobsRestarted", self.WORDS)

    @pytest.mark.parametrize(
        ("answer", "seconds"),
        [(replace(ANSWER, restarted=(), lost=()), 62), (None, 90)],
        ids=["none were started again", "it never comes"],
    )
    def test_for_no_answer_it_is_waited_longer(self, answer: RestartReport | None, seconds: int) -> None:
        life = self.late()
        life.step(after(60))
        life.report, life.restarted = replace(self.BUSY, busy="0"), answer
        decided = life.step(after(seconds))
        assert (life.pods, decided.orders, life.resizing[0]) == (2, (), "Shrinking")

    def test_an_answer_to_an_order_of_before_does_not_count(self) -> None:
        life = self.late()
        life.restarted = replace(self.ANSWER, order=replace(self.ORDER, generation=0))
        life.step(after(61))
        assert life.resizing[0] == "Draining"


class TestGrowing:
    def test_ranks_that_stay_get_jobs_again(self) -> None:
        life = Life(report=replace(ALL, drained="2-3", shrunk="2-3"))
        decided = life.resize(4)
        assert (life.pods, decided.orders, decided.again) == (4, (LeadCommand("undrain", "2-3"),), 2.0)

    def test_not_while_the_former_pod_is_on_its_way_out(self) -> None:
        """Its broker would get jobs, and lose them; the look at it comes again."""
        life = Life(report=replace(ALL, drained="2-3", shrunk="2-3"))
        life.others = (PodReport(3, "Running", leaving=True),)
        decided = life.resize(4)
        assert (decided.orders, decided.again) == ((LeadCommand("undrain", "2"),), 2.0)

    def test_what_somebody_else_has_drained_stays_drained(self) -> None:
        life = Life(report=replace(ALL, drained="1-3", shrunk="3"))
        assert life.resize(4).orders == (LeadCommand("undrain", "3"),)

    def test_once_reported_nothing_more_is_ordered(self) -> None:
        decided = Life().resize(4)
        assert (decided.orders, decided.again) == ((), None)

    def test_crossing(self) -> None:
        """From 4 to 2, and before that is done to 3: one rank stays after all."""
        life = Life()
        life.resize(2)
        life.report = replace(ALL, drained="2-3", shrunk="2-3", busy="2-3")
        decided = life.resize(3, after(1))
        assert decided.orders == (
            LeadCommand("undrain", "2"),
            LeadCommand("drain", "3", "minicluster: shrinking to 3"),
        )
        life.report = replace(ALL, drained="3", shrunk="3", busy="2")
        life.reconcile(after(2))
        assert life.pods == 3


class TestElsewhere:
    def test_without_a_lead_api_it_shrinks_at_once(self) -> None:
        cluster = document(2)
        observed = Observed(job=JobReport(4, active=4), pods=(LEAD,))
        decided = plan(cluster, observed, Site(), KEYS, NOW)
        (job,) = (each for each in decided.objects if each["kind"] == "Job")
        assert (job["spec"]["parallelism"], decided.orders) == (2, ())

    @pytest.mark.parametrize(
        "observed",
        [
            pytest.param({"conditions": ()}, id="suspended"),
        ],
    )
    def test_what_is_suspended_has_no_jobs(self, observed: dict[str, Any]) -> None:
        job = JobReport(4, suspended=True, **observed)
        decided = plan(document(2, suspend=True), Observed(job=job, pods=(LEAD,)), SITE, KEYS, NOW)
        assert (decided.orders, decided.again) == ((), None)


some_ranks = st.frozensets(st.integers(0, 5)).map(idset.encode)
reports = st.none() | st.builds(
    BrokerReport, online=some_ranks, drained=some_ranks, shrunk=some_ranks, busy=some_ranks
)


@given(st.integers(1, 6), st.integers(1, 6), reports, st.integers(0, 200))
def test_a_plan_that_was_carried_out_is_steady(pods: int, size: int, report: Any, seconds: int) -> None:
    """The same once more changes no status and tells nothing; what time changes it says itself."""
    life = Life(pods, report)
    life.resize(size)
    life.reconcile(after(seconds))
    before = life.status
    again = life.reconcile(after(seconds))
    before, life.status = life.status, again.status
    third = life.reconcile(after(seconds))
    assert (third.status, third.events) == (before, ())


@given(st.integers(1, 6), st.integers(1, 6), reports, st.integers(0, 200))
def test_no_more_pods_go_than_shall(pods: int, size: int, report: Any, seconds: int) -> None:
    life = Life(pods, report)
    life.resize(size)
    life.reconcile(after(seconds))
    assert min(pods, size) <= life.pods <= max(pods, size)
    assert life.pods == size or seconds < 60 + RESTART_SECONDS


@given(st.integers(2, 6), st.integers(1, 5), reports, st.integers(0, 59))
def test_no_rank_goes_before_its_time_that_may_have_jobs(
    pods: int, size: int, report: Any, seconds: int
) -> None:
    life = Life(pods, report)
    life.resize(min(size, pods))
    life.reconcile(after(seconds))
    gone = set(range(life.pods, pods))
    idle = set(idset.decode(report.drained)) - set(idset.decode(report.busy)) if report else set()
    assert gone <= idle
