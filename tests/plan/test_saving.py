"""Saving: what goes before a suspension or a deletion, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from minicluster import document as spec
from minicluster.plan import (
    BrokerReport,
    Dump,
    JobCondition,
    JobReport,
    LeadCommand,
    Observed,
    Plan,
    PodReport,
    SaveProgress,
    Site,
    plan,
)
from minicluster.plan.constants import FINALIZER
from tests.plan.conftest import NOW, UID
from tests.plan.test_shrinking import KEYS

SITE = Site(lead_api=True)
ARCHIVE = "/archive/mc.tgz"
RUNS = JobReport(2, active=2)
LEAD = PodReport(0, "Running", scheduled=True)
REPORT = BrokerReport("0-1", running=True)
DUMP = Dump(NOW, ARCHIVE, bytes=2048, jobs=3)
DELETED = NOW.strftime("%Y-%m-%dT%H:%M:%SZ")


def saving(phase: Any, seconds: float = 0, **more: Any) -> BrokerReport:
    """A report of a lead whose save has been in a phase since so many seconds."""
    since = NOW + timedelta(seconds=seconds)
    return replace(REPORT, saving=SaveProgress(phase, since.isoformat(), since=since, **more))


def document(status: Any = None, *, deleted: bool = False, **wanted: Any) -> spec.MiniCluster:
    about: dict[str, Any] = {"name": "hpc", "namespace": "science", "uid": UID, "generation": 1}
    about["finalizers"] = [FINALIZER]
    if deleted:
        about["deletionTimestamp"] = DELETED
    whole = {"size": 2, "containers": [{"image": "app"}], "archive": {"path": ARCHIVE}, **wanted}
    named = {"apiVersion": spec.API_VERSION, "kind": spec.KIND, "metadata": about}
    return spec.validate({**named, "spec": whole, "status": status or {}})


def observed(report: BrokerReport | None = REPORT, lead: PodReport | None = LEAD, **more: Any) -> Observed:
    pods = (lead,) if lead else ()
    return Observed(**{"job": RUNS, "pods": pods, "brokers": report, **more})


def decide(cluster: spec.MiniCluster, seen: Observed, seconds: float = 0) -> Plan:
    return plan(cluster, seen, SITE, KEYS, NOW + timedelta(seconds=seconds))


def suspended_condition(status: Any) -> tuple[str, str, str]:
    (found,) = (each for each in status["conditions"] if each["type"] == "Suspended")
    return found["status"], found["reason"], found["message"]


def is_suspended(decided: Plan) -> bool:
    (job,) = (each for each in decided.objects if each["kind"] == "Job")
    return bool(job["spec"]["suspend"])


BEFORE = f"saving to {ARCHIVE} before its pods go"
UNREACHABLE = "the lead API does not answer: connection refused"
STAGES = [
    pytest.param(REPORT, {}, f"{BEFORE}: the lead broker is told", id="not begun"),
    pytest.param(saving("waiting", waiting_for=1), {}, f"{BEFORE}: waiting for 1 job", id="one job"),
    pytest.param(saving("waiting", waiting_for=7), {}, f"{BEFORE}: waiting for 7 jobs", id="jobs"),
    pytest.param(saving("writing"), {}, f"{BEFORE}: the dump is being written", id="writing"),
    pytest.param(
        None, {}, f"{BEFORE}: nothing is heard of the lead for the moment", id="just being listened to"
    ),
    pytest.param(None, {"unreachable_reason": UNREACHABLE}, f"{BEFORE}: {UNREACHABLE}", id="not heard"),
    pytest.param(
        REPORT,
        {"pods": (replace(LEAD, leaving=True),)},
        f"{BEFORE}: the lead's pod was told to go, and saves before it does",
        id="on its way",
    ),
]


@pytest.mark.parametrize(("report", "more", "message"), STAGES)
def test_a_suspension_waits_for_the_save(report: Any, more: Any, message: str) -> None:
    decided = decide(document(suspend=True), observed(report, **more))
    assert suspended_condition(decided.status) == ("False", "Saving", message)
    assert not is_suspended(decided)
    assert [str(each.reason) for each in decided.events if each.reason != "Created"].count("Saving") == 1


@pytest.mark.parametrize(("report", "more", "message"), STAGES)
def test_so_does_a_deletion(report: Any, more: Any, message: str) -> None:
    decided = decide(document(deleted=True), observed(report, **more))
    words = message.replace("its pods go", "it is deleted")
    assert suspended_condition(decided.status) == (
        "False",
        "Saving",
        f"{words}; it goes after 180 s at the latest",
    )
    assert (decided.finalizer, decided.objects) == (True, ())


@pytest.mark.parametrize(
    ("report", "orders"),
    [
        pytest.param(REPORT, (LeadCommand("save", seconds=60, generation=1),), id="not begun"),
        pytest.param(saving("waiting"), (), id="it waits"),
        pytest.param(saving("writing"), (), id="it writes"),
        pytest.param(saving("failed"), (), id="it has just failed"),
        pytest.param(None, (), id="nobody hears"),
    ],
)
def test_the_lead_gets_the_order_once(report: Any, orders: tuple[LeadCommand, ...]) -> None:
    assert decide(document(suspend=True), observed(report)).orders == orders


def test_after_a_deletion_jobs_have_what_is_left_of_their_time() -> None:
    first = decide(document(deleted=True), observed(None))
    assert first.again == 180.0
    second = decide(document(first.status, deleted=True), observed(), 45)
    assert second.orders == (LeadCommand("save", seconds=15, generation=1),)
    third = decide(document(first.status, deleted=True), observed(), 100)
    assert third.orders == (LeadCommand("save", seconds=0, generation=1),)


@pytest.mark.parametrize(
    ("failed", "due"),
    [
        pytest.param(5, 65, id="at once: after a minute"),
        pytest.param(130, 260, id="after a while: after as long again"),
        pytest.param(5000, 5600, id="after long: after ten minutes"),
    ],
)
def test_what_fails_is_tried_again(failed: int, due: int) -> None:
    begun = decide(document(suspend=True), observed(saving("waiting")))
    report = saving("failed", failed, error="no space left on device")
    early = decide(document(begun.status, suspend=True), observed(report), due - 1)
    at = (NOW + timedelta(seconds=due)).strftime("%Y-%m-%dT%H:%M:%SZ")
    message = f"nothing was saved to {ARCHIVE}: no space left on device; it is tried again at {at}"
    assert suspended_condition(early.status) == ("False", "SaveFailed", message)
    assert (early.orders, is_suspended(early)) == ((), False)
    late = decide(document(early.status, suspend=True), observed(report), due)
    assert [each.action for each in late.orders] == ["save"]


def test_another_try_is_no_news() -> None:
    failed = decide(document(suspend=True), observed(saving("failed", error="full")))
    assert [str(each.reason) for each in failed.events if each.type == "Warning"] == ["SaveFailed"]
    again = decide(document(failed.status, suspend=True), observed(saving("waiting")), 70)
    assert (suspended_condition(again.status)[1], again.events) == ("Saving", ())


ENDED = replace(LEAD, phase="Failed", exit_code=75, dump=DUMP)


@pytest.mark.parametrize("deleted", [False, True], ids=["suspended", "deleted"])
def test_saved(deleted: bool) -> None:
    """The lead's pod has told by its last words: now pods may go, or all of it."""
    wanted = {} if deleted else {"suspend": True}
    begun = decide(document(deleted=deleted, **wanted), observed())
    seen = observed(None, ENDED, dump=DUMP)
    decided = decide(document(begun.status, deleted=deleted, **wanted), seen, 5)
    words = f"3 jobs saved to {ARCHIVE} (2048 bytes)"
    assert suspended_condition(decided.status) == ("False", "Saved", words)
    events = [(each.type, str(each.reason), each.message) for each in decided.events]
    assert events.count(("Normal", "Saved", words)) == 1
    dump = {"path": ARCHIVE, "time": DELETED, "bytes": 2048, "jobs": 3, "restarted": 0, "lost": 0}
    assert decided.status["lastDump"] == dump
    assert decided.finalizer is not deleted
    assert deleted or is_suspended(decided)
    again = decide(document(decided.status, deleted=deleted, **wanted), seen, 6)
    assert (again.status, again.events) == (decided.status, ())


@pytest.mark.parametrize(
    ("wanted", "more", "finalizer"),
    [
        pytest.param({}, {"lead": None}, False, id="no pod"),
        pytest.param({}, {"lead": PodReport(0)}, False, id="its pod does not run yet"),
        pytest.param(
            {}, {"lead": replace(LEAD, phase="Failed", exit_code=137)}, False, id="its pod was lost"
        ),
        pytest.param({}, {"lead": replace(LEAD, exit_code=0)}, False, id="its broker has ended"),
        pytest.param({}, {"job": None}, False, id="no Job"),
        pytest.param({}, {"job": JobReport(2, conditions=(JobCondition("Complete"),))}, False, id="complete"),
        pytest.param({}, {"job": JobReport(2, conditions=(JobCondition("Failed"),))}, False, id="failed"),
        pytest.param({"managedBy": "example.org/other"}, {}, False, id="another's"),
        pytest.param({"archive": {}}, {}, False, id="no archive any more"),
        pytest.param({}, {"lead": replace(LEAD, phase="Unknown")}, True, id="nobody knows how it is"),
        pytest.param(
            {"pod": {"restartPolicy": "OnFailure"}},
            {"lead": replace(LEAD, exit_code=137)},
            True,
            id="its broker was started again in place",
        ),
        pytest.param(
            {"suspend": True}, {"job": JobReport(2, suspended=True)}, True, id="held by Kueue, going"
        ),
    ],
)
def test_what_can_be_deleted_at_once(wanted: Any, more: Any, finalizer: bool) -> None:
    decided = decide(document(deleted=True, **wanted), observed(**more))
    assert decided.finalizer is finalizer
    if not finalizer:
        assert (decided.orders, decided.events, decided.status) == ((), (), {})


def test_a_lead_that_restarts_in_its_pod_has_saved_before() -> None:
    """With restartPolicy OnFailure its pod runs on; what is new is that it left a dump."""
    wanted = {"suspend": True, "pod": {"restartPolicy": "OnFailure"}}
    lead = replace(LEAD, exit_code=75, dump=DUMP)
    begun = decide(document(**wanted), observed())
    saved = decide(document(begun.status, **wanted), observed(None, lead, dump=DUMP), 5)
    assert (is_suspended(saved), suspended_condition(saved.status)[1]) == (True, "Saved")
    later = decide(
        document({"lastDump": saved.status["lastDump"]}, **wanted), observed(REPORT, lead, dump=DUMP), 99
    )
    assert (is_suspended(later), [each.action for each in later.orders]) == (False, ["save"])


@pytest.mark.parametrize(
    ("site", "wanted", "finalizer"),
    [
        pytest.param(SITE, {}, True, id="with an archive"),
        pytest.param(SITE, {"archive": {}}, False, id="without one"),
        pytest.param(Site(), {}, False, id="without a door"),
    ],
)
def test_who_has_the_finalizer(site: Site, wanted: Any, finalizer: bool) -> None:
    decided = plan(document(**wanted), observed(), site, KEYS, NOW)
    assert decided.finalizer is finalizer


def test_without_a_lead_api_a_suspension_does_not_wait() -> None:
    """As on this machine: the lead saves on SIGTERM."""
    assert is_suspended(plan(document(suspend=True), observed(), Site(), KEYS, NOW))


def test_the_wait_begins_anew_with_an_operator_that_was_away() -> None:
    """While none looked, nobody was waited for."""
    begun = decide(document(deleted=True), observed())
    late = decide(document(begun.status, deleted=True), observed(), 500)
    assert (suspended_condition(late.status)[1], late.orders) == ("NotSaved", ())
    since = NOW + timedelta(seconds=490)
    fresh = decide(document(begun.status, deleted=True), observed(since=since), 500)
    assert (suspended_condition(fresh.status)[1], [each.action for each in fresh.orders]) == (
        "Saving",
        ["save"],
    )


def test_pods_stay_while_it_is_saved() -> None:
    """Also those that a resize would let go."""
    decided = decide(document(suspend=True, size=1), observed(saving("writing")))
    (job,) = (each for each in decided.objects if each["kind"] == "Job")
    assert (job["spec"]["parallelism"], job["spec"]["suspend"]) == (2, False)


@pytest.mark.parametrize(
    ("archive", "seconds"), [({}, 90), ({"path": ARCHIVE}, 180)], ids=["without", "with"]
)
def test_a_pod_has_time_to_save(archive: Any, seconds: int) -> None:
    """Where nobody orders it: on SIGTERM the lead saves by itself."""
    decided = decide(document(archive=archive), observed())
    (job,) = (each for each in decided.objects if each["kind"] == "Job")
    assert job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == seconds


def test_a_lead_that_could_not_start_reports_why() -> None:
    lead = replace(LEAD, phase="Failed", exit_code=1, refusal=f"{ARCHIVE} is cut short")
    seen = observed(
        None, lead, job=JobReport(2, conditions=(JobCondition("Failed", reason="PodFailurePolicy"),))
    )
    status = decide(document(), seen).status
    (found,) = (each for each in status["conditions"] if each["type"] == "Failed")
    assert (found["reason"], found["message"]) == (
        "JobFailed",
        f"the lead could not start: {ARCHIVE} is cut short",
    )
    assert "exitCode" not in status


def test_why_no_jobs_start_is_reported() -> None:
    """A queue was stopped by hand, or the lead's disk is full."""
    why = ("queue debug: maintenance", "queue a: stopped")
    (found,) = (
        each
        for each in decide(document(), observed(replace(REPORT, halted=why))).status["conditions"]
        if each["type"] == "Running"
    )
    assert (found["status"], found["reason"], found["message"]) == (
        "True",
        "ReadyForWork",
        "the instance is up and waits for work; no jobs start: queue debug: maintenance; queue a: stopped",
    )


def test_jobs_for_which_it_is_too_small_are_named() -> None:
    """They came with an archive of a larger one."""
    status = decide(
        document(), observed(replace(REPORT, kept=("ƒa: needs 4 nodes", "ƒb: needs 3 nodes")))
    ).status
    (found,) = (each for each in status["conditions"] if each["type"] == "Running")
    assert found["message"] == (
        "the instance is up and waits for work; jobs that do not fit into it are kept:"
        " ƒa: needs 4 nodes; ƒb: needs 3 nodes"
    )


@pytest.mark.parametrize("report", [saving("waiting", waiting_for=3), saving("failed", error="full")])
def test_an_operator_that_begins_to_listen_repeats_its_orders(report: BrokerReport) -> None:
    """Else one that dies whenever it has written would never come to do more than that."""
    begun = decide(document(suspend=True), observed(report))
    again = decide(document(begun.status, suspend=True), observed(None), 9)
    assert (again.status, again.events, again.orders) == (begun.status, (), ())


@pytest.mark.parametrize(
    ("report", "again"), [(REPORT, 2.0), (None, None)], ids=["heard", "just being listened to"]
)
def test_a_suspension_that_has_lasted_is_not_polled_all_the_time(report: Any, again: float | None) -> None:
    begun = decide(document(suspend=True), observed())
    late = decide(document(begun.status, suspend=True), observed(report), 5000)
    assert (suspended_condition(late.status)[1], late.again) == ("Saving", again)
