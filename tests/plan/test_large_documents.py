"""Documents that ask for much cost little to plan: what is made is bounded before it is made."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.document import DocumentError
from minicluster.plan import (
    BrokerReport,
    JobReport,
    ObjectKey,
    Observed,
    ObservedObject,
    PodReport,
    Site,
    build,
    over_limit,
    plan,
    planning_limits,
    refuse,
)
from tests.plan.conftest import UID

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = 1_000_000
MANY = 100_000
FILES = "its ConfigMap has room for 1048576 bytes of files, and they are larger; the largest is start.sh"


def peak(work: Callable[[], Any]) -> tuple[Any, int]:
    """Return what some work returns, and the most memory that it took, in bytes."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def scripts(count: int) -> dict[str, Any]:
    """Return a spec with so many services, whose scripts all have 500 kB of variables."""
    services = [{"name": f"s{number}", "image": "db", "command": "serve"} for number in range(count)]
    return {"services": services, "flux": {"environment": {f"V{n}": "x" * 5_000 for n in range(100)}}}


def sidecars(count: int) -> dict[str, Any]:
    """Return the same with sidecars."""
    spec = scripts(count)
    return {"flux": spec["flux"], "containers": [{"command": "x", "runFlux": True}, *spec.pop("services")]}


def test_more_than_a_config_map_holds_is_refused_before_it_is_made(make, keys, now):
    """Kubernetes would refuse it each minute; 31 scripts of 0.5 MB took 30 MB."""
    cluster = make(sidecars(31))
    decided, most = peak(lambda: plan(cluster, Observed(), Site(), keys, now))
    valid = decided.status["conditions"][0]
    assert (decided.objects, valid["reason"]) == ((), "Invalid")
    assert valid["message"] == (
        f"{FILES}: shorten commands, scripts, or flux.environment, which each script has"
    )
    assert most < 8 * MEGABYTE


def test_what_a_config_map_holds_is_made(make, keys, now):
    assert plan(make(sidecars(1)), Observed(), Site(), keys, now).status["phase"] == "Pending"


def test_on_a_machine_files_may_be_larger(make):
    """They are in a directory there."""
    made = build(make(sidecars(3)), Site(endpoints=()), suspended=False)
    assert sum(map(len, made[0]["data"].values())) > 2 * MEGABYTE


def test_a_message_about_thousands_of_claims_names_few(make):
    """16,384 claims, each with the names of all 64 that there are, took 200 MB of messages."""
    uses = {"resources": {"claims": [{"name": "none"}] * 256}}
    there = [{"name": f"r{number:02}", "resourceClaimName": "x"} for number in range(64)]
    spec = {
        "containers": [{"runFlux": True, **uses}, *({"name": f"c{n}", **uses} for n in range(31))],
        "pod": {"resourceClaims": there},
    }
    with pytest.raises(DocumentError) as caught:
        make(spec)
    assert caught.value.problems[0].message.endswith(
        'found "none", there: r00, r01, r02, r03, r04 and 59 more'
    )
    assert len(str(caught.value)) < 2 * MEGABYTE


def test_a_message_is_no_longer_than_a_condition_may_have(make, now):
    """The API server would refuse the whole status, and nobody would be told of the problems."""
    decided = refuse(make().status, 1, "x" * 40_000, now)
    assert decided.status["conditions"][0]["message"] == "x" * 32_767 + "…"


def test_planning_that_took_too_much_changes_nothing_else(make, now):
    """What runs goes on, and its conditions stay; the record is for the next operator."""
    runs = {
        "type": "Running",
        "status": "True",
        "reason": "CommandRunning",
        "message": "the main command runs",
    }
    before = {"generation": 1, "attempts": 1, "retryAt": "2026-03-14T15:00:00Z"}
    stored = make(status={"size": 2, "conditions": [runs], "planning": before}).status
    decided = over_limit(stored, 1, "planning took more than 64 MB", now)
    shown = {each["type"]: each for each in decided.status["conditions"]}
    assert (decided.objects, decided.again, decided.status["size"]) == ((), 600, 2)
    assert (shown["Running"]["status"], shown["Running"]["reason"]) == ("True", "CommandRunning")
    assert shown["Valid"]["reason"] == "PlanningLimitExceeded"
    assert shown["Valid"]["message"] == (
        "planning took more than 64 MB. It was tried 2 times, and is tried again at 2026-03-14T15:19:26Z"
    )
    assert decided.status["planning"] == {"generation": 1, "attempts": 2, "retryAt": "2026-03-14T15:19:26Z"}
    assert [(each.type, each.reason) for each in decided.events] == [("Warning", "PlanningLimitExceeded")]


def test_of_another_generation_nothing_is_remembered(make, now):
    """A changed document begins anew."""
    before = {"generation": 1, "attempts": 3, "retryAt": "2026-03-14T16:00:00Z"}
    stored = make(status={"planning": before}).status
    assert planning_limits.seconds_left(stored.planning, 2, now) is None
    assert over_limit(stored, 2, "x", now).status["planning"]["attempts"] == 1


SECRET = ObservedObject(ObjectKey("Secret", f"hpc-curve-{UID.replace('-', '')[:12]}"), UID)
COMPLETE = {
    "type": "BrokersReady",
    "status": "True",
    "reason": "AllJoined",
    "observedGeneration": 1,
}
DRAINING = {"phase": "Draining", "startedAt": "2026-03-14T15:00:00Z", "generation": 1}
ALL = f"0-{MANY - 1}"
LIVES: dict[str, tuple[dict[str, Any], BrokerReport, dict[str, Any]]] = {
    "all but the lead are missing": (
        {"size": MANY},
        BrokerReport(online="0", running=True, troubles=("hpc-99999: turned away", "hpc-7: late")),
        {},
    ),
    "all but one leave": ({"size": 1, "maxSize": MANY}, BrokerReport(ALL, busy=ALL, running=True), {}),
    "all but one are drained": (
        {"size": 1, "maxSize": MANY},
        BrokerReport(ALL, drained=ALL, shrunk=ALL, busy=ALL, running=True),
        {"resize": DRAINING},
    ),
    "all come back": ({"size": MANY}, BrokerReport(ALL, drained=ALL, shrunk=ALL, running=True), {}),
}


@pytest.mark.parametrize(("wanted", "report", "stored"), LIVES.values(), ids=LIVES)
def test_ranks_are_not_gone_through(make, now, wanted, report, stored):
    """A plan for 100,000 brokers makes nothing for each of them."""
    cluster = make(wanted, status={"maximumSize": MANY, "size": MANY, "conditions": [COMPLETE], **stored})
    observed = Observed((SECRET,), JobReport(MANY, MANY), (PodReport(0, "Running", True),), report)
    nothing = lambda *_, **__: ()  # noqa: E731
    _, most = peak(lambda: plan(cluster, observed, Site(lead_api=True), None, now, build=nothing))
    assert most < 1.2 * MEGABYTE
