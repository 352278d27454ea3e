"""What became of lost followers' jobs, and of a lost lead, is remembered in fields, not in messages."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minicluster import plan as planning
from minicluster.plan import BrokerReport, FreshKeys, Observed, Plan, PodReport
from tests.plan.test_broker_readiness import observed
from tests.plan.test_conditions import condition, decide, pod, pods
from tests.plan.test_node_loss import ANSWER, LEAD_KEYS, REPORT, SITE, see

ALL = observed(BrokerReport("0-3", running=True), *pods(4))
SILENT = observed(None, *pods(4)[1:])
COURSES = {
    "a node is lost": [
        ALL,
        see(),
        see(answer=ANSWER),
        see(),
        see(REPORT),
        observed(BrokerReport("0,2-3", running=True), *pods(4)),
        ALL,
        see(),
    ],
    "the lead is deleted": [ALL, SILENT, observed(None, PodReport(0), *pods(4)[1:]), ALL, ALL],
    "the lead is killed": [
        ALL,
        observed(None, pod(0, phase="Failed", exit_code=137), *pods(4)[1:]),
        SILENT,
        observed(BrokerReport("0"), *pods(4)),
        ALL,
        SILENT,
    ],
}


@pytest.fixture(scope="module")
def keys(keys: FreshKeys) -> FreshKeys:
    """With those of the lead's API."""
    return replace(keys, lead=LEAD_KEYS)


def course(make: Any, keys: Any, now: Any, seen: list[Observed], words: str) -> list[Plan]:
    """Return the plans, each from what the one before stored, with other words in its conditions."""
    plans: list[Plan] = []
    status: dict[str, Any] | None = None
    for each in seen:
        plans.append(decide(make, keys, now, each, status=status, site=SITE))
        stored = plans[-1].status
        changed = [{**one, "message": words} if words else one for one in stored["conditions"]]
        status = {**stored, "conditions": changed}
    return plans


def without_words(plan: Plan) -> Any:
    conditions = [(one["type"], one["status"], one["reason"]) for one in plan.status["conditions"]]
    events = [(one.type, one.reason) for one in plan.events]
    return {**plan.status, "conditions": conditions}, plan.orders, plan.again, events


@pytest.mark.parametrize("name", COURSES)
def test_words_change_nothing(make: Any, keys: Any, now: Any, name: str) -> None:
    plain = course(make, keys, now, COURSES[name], "")
    other = course(make, keys, now, COURSES[name], "reworded")
    assert list(map(without_words, plain)) == list(map(without_words, other))


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("a node is lost", "BrokersReady"),
        ("the lead is deleted", "Running"),
        ("the lead is killed", "Running"),
    ],
)
def test_messages_are_made_anew_from_the_fields(
    make: Any, keys: Any, now: Any, name: str, type_: str
) -> None:
    plain = course(make, keys, now, COURSES[name], "")
    other = course(make, keys, now, COURSES[name], "reworded")
    assert [condition(each, type_)["message"] for each in other] == [
        condition(each, type_)["message"] for each in plain
    ]


def test_one_module_reads_messages_and_times_of_conditions() -> None:
    """`unchanged` passes a message on; times are kept where a condition's status did not change.

    A hint comes by them as well.
    """
    rooms = Path(planning.__file__).parent
    pattern = re.compile(r"(?:previous|stored|shown|known)\.message\b|\w+\.last_transition_time\b")
    found = {
        file.relative_to(rooms).as_posix(): sorted(set(pattern.findall(file.read_text())))
        for part in ("status", "lifecycle")
        for file in (rooms / part).rglob("*.py")
    }
    assert {name: words for name, words in found.items() if words} == {
        "status/release_0_1_0.py": ["shown.last_transition_time", "shown.message"],
        "status/condition_value.py": ["stored.message"],
        "status/status.py": ["each.last_transition_time"],
        "status/unmade_pods.py": ["each.last_transition_time"],
    }


PROSE = re.compile(
    r"""
    (?: \.(?:r?partition|r?split|removeprefix|removesuffix|startswith|endswith|r?find|r?index|replace)
      | \bre\.\w+ )
    \( \s* [rbf]* (["']) (?:(?!\1).)* [a-z]{2} [:;,]? [ ] .*? \1
    | (["']) [^"'\n]* [a-z]{2} [:;,]? [ ] [^"'\n]* \2 [ ] (?:not[ ])? in [ ] \w
    """,
    re.VERBOSE,
)
"""A text that is taken apart, or looked into, by words with a space between."""
WORDS_READ = {
    "plan/status/release_0_1_0.py": None,  # what was remembered in sentences alone
    "plan/status/image_pulls.py": 4,  # kubelets' and registries' words: an Event has no fields for them
    "remote/teardown.py": 1,  # operators of 0.1.0, which write no status.save
    "remote/session.py": 2,  # the API server's: a Status has no field for the verb, or the namespace
    "remote/documents.py": 2,  # the API server's, of single fields
    "remote/clusters.py": 1,  # the API server's, of single fields
    "cli/help_text.py": 1,  # examples in our own docstrings
    "cli/job_requests.py": 1,  # an option's name
    "cli/option_errors.py": 1,  # pydantic's
    "cli/version.py": 1,  # an error of this process
}


def test_where_words_are_read() -> None:
    """The state of a MiniCluster is in fields: nothing takes it out of a sentence, but of 0.1.0's."""
    rooms = Path(planning.__file__).parents[1]
    found = Counter(
        {
            file.relative_to(rooms).as_posix(): len(PROSE.findall(file.read_text()))
            for room in ("plan", "operator", "remote", "cli")
            for file in (rooms / room).rglob("*.py")
        }
    )
    assert +found == Counter({name: number or found[name] for name, number in WORDS_READ.items()})
