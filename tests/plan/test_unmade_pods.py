"""Pods that are not made yet: first that alone, after some seconds where the reason is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from minicluster.plan import JobReport, Observed
from minicluster.plan.status.times import timestamp
from tests.plan.decided import RUNNING, condition, decide, pods

UNMADE = "0 of 4 pods have a node; 4 not made yet"
HINT = " (if it stays so, kubectl describe job hpc says why)"


def stored(now, **ages):
    """Return a status whose conditions have stood for so many seconds."""
    values = {"ResourcesCreated": "True", "PodsScheduled": "False", "Suspended": "False"}
    return {
        "conditions": [
            {
                "type": type_,
                "status": value,
                "reason": "R",
                "message": "",
                "lastTransitionTime": timestamp(now - timedelta(seconds=ages.get(type_, 60))),
            }
            for type_, value in values.items()
        ]
    }


WAITING = {
    "the objects were made just now": ({"ResourcesCreated": 0}, "", 10),
    "it was resumed": ({"Suspended": 4}, "", 6),
    "pods went": ({"PodsScheduled": 9}, "", 1),
    "it stays so": ({"PodsScheduled": 10}, HINT, None),
    "it has stayed so": ({}, HINT, None),
}


@pytest.mark.parametrize(("ages", "hint", "again"), WAITING.values(), ids=WAITING)
def test_the_hint_comes_once_it_has_stayed_so(make, keys, now, ages, hint, again):
    """It comes by itself: the plan is due again then."""
    decided = decide(make, keys, now, Observed(job=RUNNING), status=stored(now, **ages))
    assert (condition(decided, "PodsScheduled")["message"], decided.again) == (UNMADE + hint, again)


SETTLED = {
    "all are made": Observed(job=RUNNING, pods=pods()),
    "some are made": Observed(job=RUNNING, pods=pods(3)),
    "they are refused": Observed(job=RUNNING, pod_refusal="exceeded quota: q"),
    "there is no Job": Observed(),
    "it is suspended": Observed(job=JobReport(parallelism=4, suspended=True)),
}


@pytest.mark.parametrize("observed", SETTLED.values(), ids=SETTLED)
def test_nothing_is_due_where_no_pod_is_waited_for(make, keys, now, observed):
    assert decide(make, keys, now, observed, status=stored(now, PodsScheduled=0)).again is None


def test_without_stored_times_it_is_early(make, keys, now):
    assert decide(make, keys, now, Observed(job=RUNNING)).again == 10
