"""Jobs of followers whose nodes were lost are started again, and named until all brokers are there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from minicluster.plan import (
    BrokerReport,
    Disruption,
    FreshKeys,
    LeadCommand,
    LeadKeys,
    Observed,
    Plan,
    RestartReport,
    Site,
)
from tests.plan.test_broker_readiness import observed
from tests.plan.test_conditions import condition, decide, pods

STARTED = datetime(2026, 3, 14, 15, 0, tzinfo=UTC)
TAKEN = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)
ORDER = LeadCommand("recover", lost=(Disruption(1, STARTED, TAKEN),))
ANSWER = RestartReport(ORDER, (("ƒa", "ƒb"),), (("ƒc", "it does not fit"),))
MISSING = "3 of 4 brokers have joined; missing: 1 (lost: lost connection)"
REPORTED = f"{MISSING}; of the jobs that ran there: started again: ƒa as ƒb; lost: ƒc (it does not fit)"
REPORT = BrokerReport("0,2-3", running=True, troubles=("hpc-1: lost: lost connection",))
SITE = Site(lead_api=True)
LEAD_KEYS = LeadKeys("the certificate", "the key", "the token", "the metrics token")


@pytest.fixture(scope="module")
def keys(keys: FreshKeys) -> FreshKeys:
    """With those of the lead API."""
    return replace(keys, lead=LEAD_KEYS)


def see(
    report: BrokerReport | None = REPORT, answer: Any = None, disrupted: tuple[int, ...] = (1,)
) -> Observed:
    taken = tuple(Disruption(rank, STARTED, TAKEN) for rank in disrupted)
    return replace(observed(report, *pods(4)), recovered=answer, disrupted=taken)


def step(make: Any, keys: Any, now: Any, seen: Observed, before: Plan | None) -> Plan:
    status = before.status if before else None
    return decide(make, keys, now, seen, status=status, site=SITE)


@pytest.fixture
def joined(make, keys, now):
    """All have joined."""
    return step(make, keys, now, observed(BrokerReport("0-3", running=True), *pods(4)), None)


def test_the_lead_gets_the_order(make, keys, now, joined):
    decided = step(make, keys, now, see(), joined)
    assert (decided.orders, decided.again) == ((ORDER,), 2.0)
    reported = condition(decided, "BrokersReady")
    assert (reported["reason"], reported["message"]) == ("BrokersMissing", MISSING)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param({"disrupted": ()}, id="killed, or deleted by hand"),
        pytest.param({"report": BrokerReport("0-3", running=True)}, id="its broker works on"),
        pytest.param({"report": None}, id="nothing heard"),
    ],
)
def test_otherwise_it_is_not(make, keys, now, joined, seen):
    assert step(make, keys, now, see(**seen), joined).orders == ()


def test_without_a_lead_api_no_order_is_sent(make, keys, now):
    assert decide(make, keys, now, see()).orders == ()


def test_its_answer_is_reported_once(make, keys, now, joined):
    missing = step(make, keys, now, see(), joined)
    decided = step(make, keys, now, see(answer=ANSWER), missing)
    assert decided.orders == ()
    reported = condition(decided, "BrokersReady")
    assert (reported["status"], reported["reason"], reported["message"]) == (
        "False",
        "JobsRestarted",
        REPORTED,
    )
    events = [(each.type, str(each.reason), each.message) for each in decided.events]
    assert events == [("Warning", "JobsRestarted", REPORTED)]
    again = step(make, keys, now, see(answer=ANSWER), decided)
    assert (again.events, again.status) == ((), decided.status)


def test_it_is_kept_by_a_new_operator_which_asks_again(make, keys, now, joined):
    known = step(make, keys, now, see(answer=ANSWER), joined)
    decided = step(make, keys, now, see(), known)
    assert (decided.orders, decided.events) == ((ORDER,), ())
    assert condition(decided, "BrokersReady")["message"] == REPORTED
    silent = step(make, keys, now, see(None), known)
    assert condition(silent, "BrokersReady")["message"] == REPORTED


def test_it_is_kept_until_all_have_joined(make, keys, now, joined):
    known = step(make, keys, now, see(answer=ANSWER), joined)
    replaced = observed(BrokerReport("0,2-3", running=True), *pods(4))
    decided = step(make, keys, now, replaced, known)
    assert condition(decided, "BrokersReady")["message"] == (
        "3 of 4 brokers have joined; missing: 1 (its pod runs, it has not joined)"
        "; of the jobs that ran there: started again: ƒa as ƒb; lost: ƒc (it does not fit)"
    )
    back = step(make, keys, now, observed(BrokerReport("0-3", running=True), *pods(4)), decided)
    assert condition(back, "BrokersReady")["reason"] == "AllJoined"
    gone = step(make, keys, now, see(), back)
    assert condition(gone, "BrokersReady")["reason"] == "BrokersMissing"


def test_where_no_jobs_were_there_nothing_is_reported(make, keys, now, joined):
    seen = see(answer=RestartReport(ORDER))
    decided = step(make, keys, now, seen, joined)
    assert decided.orders == ()
    assert condition(decided, "BrokersReady")["reason"] == "BrokersMissing"


def test_another_loss_is_asked_for_anew(make, keys, now, joined):
    known = step(make, keys, now, see(answer=ANSWER), joined)
    seen = see(BrokerReport("0,2", running=True), ANSWER, disrupted=(3, 1))
    decided = step(make, keys, now, seen, known)
    (order,) = decided.orders
    assert order == LeadCommand("recover", lost=tuple(Disruption(rank, STARTED, TAKEN) for rank in (1, 3)))
