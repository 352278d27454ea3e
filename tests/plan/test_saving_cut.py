"""A MiniCluster whose brokers were cut is saved with all of them, and goes on as it was cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minicluster.plan import JobReport, LeadCommand, Observed, Plan, plan
from tests.plan.conftest import NOW
from tests.plan.test_saving import DUMP, ENDED, KEYS, REPORT, SITE, document, observed

LIMITS = {"limits": {"cpu": 4, "memory": "4Gi"}}
WISHES: dict[str, Any] = {
    "profile": "memory",
    "tasks": 8,
    "containers": [{"image": "app", "resources": LIMITS}],
}
CUT = {"policy": "granularity", "profile": "memory", "nodes": 2, "groups": 2, "brokers": 4}
STATUS = {"granularity": CUT, "maximumSize": 8, "size": 2}
EIGHT = JobReport(8, active=8)
RULES = ["none", "scale", "granularity"]


def job(found: Plan) -> Any:
    """Return the spec of the Job."""
    (item,) = (each for each in found.objects if each["kind"] == "Job")
    return item["spec"]


@pytest.mark.parametrize("rule", RULES)
def test_all_brokers_stay_until_it_is_saved(rule: str) -> None:
    """Whatever rule the operator has by then: the lead is ordered to save, and no pod goes."""
    site = replace(SITE, granularity=rule)
    report = replace(REPORT, online="0-7")
    found = plan(document(STATUS, suspend=True, **WISHES), observed(report, job=EIGHT), site, KEYS, NOW)
    assert found.orders == (LeadCommand("save", seconds=60, generation=1),)
    assert (job(found)["suspend"], job(found)["parallelism"]) == (False, 8)
    assert found.status["granularity"] == CUT


@pytest.mark.parametrize("rule", RULES)
def test_once_saved_it_is_suspended_with_how_it_was_cut(rule: str) -> None:
    site = replace(SITE, granularity=rule)
    seen = observed(None, ENDED, job=EIGHT, dump=DUMP)
    found = plan(document(STATUS, suspend=True, **WISHES), seen, site, KEYS, NOW)
    assert job(found)["suspend"] is True
    assert found.status["lastDump"]["jobs"] == DUMP.jobs
    assert found.status["granularity"] == CUT


@pytest.mark.parametrize("rule", RULES)
def test_it_is_resumed_as_it_was_cut_with_another_size(rule: str) -> None:
    """The size of one is four brokers, which restore what eight have left."""
    site = replace(SITE, granularity=rule)
    stopped = Observed(job=JobReport(8, suspended=True))
    found = plan(document(STATUS, **{**WISHES, "size": 1}), stopped, site, KEYS, NOW)
    assert (job(found)["suspend"], job(found)["parallelism"]) == (False, 4)


@pytest.mark.parametrize(("rule", "brokers"), [("none", 2), ("granularity", 8)])
def test_one_that_is_made_again_is_cut_by_the_rule_of_then(rule: str, brokers: int) -> None:
    """Its status went with it; what is in the archive names no brokers."""
    site = replace(SITE, granularity=rule)
    first = plan(document({}, **WISHES), Observed(), site, KEYS, NOW)
    status = {"granularity": first.status["granularity"]} if "granularity" in first.status else {}
    assert job(plan(document(status, **WISHES), Observed(), site, KEYS, NOW))["parallelism"] == brokers
