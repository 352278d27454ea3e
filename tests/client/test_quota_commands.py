"""`minicluster quotas`, against the fake service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.client.fake_service import problem

if TYPE_CHECKING:
    from minicluster.client.logins import LoginFile
    from tests.client.conftest import Call
    from tests.client.fake_service import Answer, Request, Service

DAYS = 86_400.0
NO_LIMITS = {"jobs": None, "queued_jobs": None, "nodes": None, "node_seconds": None, "window": 30 * DAYS}
SUBJECT = {"user": None, "group": None, "name": None}
ALICE = {**NO_LIMITS, **SUBJECT, "id": "01Q", "cluster": "mc", "user": "01U", "name": "alice", "jobs": 20}
PHYSICS = {
    **NO_LIMITS, **SUBJECT, "id": "02Q", "cluster": "*", "group": "01G", "name": "physics",
    "node_seconds": 1_800_000.0,
}  # fmt: skip
EVERYONE = {**NO_LIMITS, **SUBJECT, "id": "03Q", "cluster": "*", "queued_jobs": 100}
OWN = [
    {
        "cluster": "*", "origin": "everyone", "group": None,
        "limits": {**NO_LIMITS, "jobs": 20, "node_seconds": 360_000.0},
        "used": {
            "jobs": 3, "queued_jobs": 1, "nodes": 4, "node_seconds": 36_000.0,
            "committed_node_seconds": 7_200.0,
        },
    },
    {
        "cluster": "mc", "origin": "group", "group": "physics",
        "limits": {**NO_LIMITS, "nodes": 8, "node_seconds": 3600.0, "window": DAYS},
        "used": {
            "jobs": 3, "queued_jobs": 1, "nodes": 4, "node_seconds": 0.0, "committed_node_seconds": None,
        },
    },
]  # fmt: skip


@pytest.fixture
def changes(service: Service, logged_in: LoginFile) -> list[Any]:
    """What was asked to be otherwise, of a service with three quotas, a user and a group."""
    sent: list[Any] = []

    def changed(request: Request) -> Answer:
        sent.append((request.method, request.path, request.json))
        before = ALICE if request.method == "PATCH" else EVERYONE
        return 200, {**before, **request.json}

    def removed(request: Request) -> Answer:
        sent.append((request.method, request.path))
        return 204, None

    users = [{"id": "02U", "name": "bob", "role": "user", "state": "active", "created": ""}]
    service.routes |= {
        ("GET", "/v2/quotas"): lambda _: (200, {"quotas": [ALICE, PHYSICS, EVERYONE]}),
        ("GET", "/v2/users"): lambda _: (200, users),
        ("GET", "/v2/groups"): lambda _: (200, [{"id": "01G", "name": "physics", "created": ""}]),
        ("POST", "/v2/quotas"): changed,
        ("PATCH", "/v2/quotas/01Q"): changed,
        ("DELETE", "/v2/quotas/02Q"): removed,
        ("GET", "/v2/me/quotas"): lambda _: (200, {"quotas": OWN}),
    }
    return sent


def test_quotas_are_listed(call: Call, changes: list[Any]) -> None:
    code, out, _ = call("quotas", "list")
    assert (code, out) == (0, """\
SUBJECT        CLUSTER  JOBS  QUEUED JOBS  NODES  NODE HOURS  WINDOW
alice          mc       20
group physics  *                                  500         30d
everyone       *              100
""")  # fmt: skip
    assert json.loads(call("quotas", "list", "--output", "json")[1]) == [ALICE, PHYSICS, EVERYONE]


def test_ones_own_quotas_are_shown_with_what_is_used(call: Call, changes: list[Any]) -> None:
    code, out, _ = call("quotas", "show")
    assert (code, out) == (0, """\
CLUSTER  SUBJECT        LIMIT OF               LIMIT  USED
*        everyone       jobs                   20     3
*        everyone       node-hours in 30 days  100    10, and up to 2 by jobs that have not ended
mc       group physics  nodes                  8      4
mc       group physics  node-hours in a day    1      0, and a job without a time limit has not ended
""")  # fmt: skip
    assert json.loads(call("quotas", "show", "-o", "json")[1]) == OWN


def test_ones_own_quotas_at_a_cluster(call: Call, changes: list[Any], service: Service) -> None:
    service.routes["GET", "/v2/me/quotas"] = lambda _: (200, {"quotas": []})
    assert call("quotas", "show", "--cluster", "mc") == (0, "no quotas\n", "")
    assert service.requests[-1].query == {"cluster": ["mc"]}


SET = {
    "changed": (
        ("alice", "--cluster", "mc", "--jobs", "none", "--nodes", "4"),
        ("PATCH", "/v2/quotas/01Q", {"jobs": None, "nodes": 4}),
        "quota of alice at mc: 4 nodes\n",
    ),
    "unlimited": (
        ("alice", "--cluster", "mc", "--jobs", "none"),
        ("PATCH", "/v2/quotas/01Q", {"jobs": None}),
        "quota of alice at mc: no limits\n",
    ),
    "made for a user": (
        ("bob", "--node-hours", "1.5", "--window", "7d"),
        (
            "POST", "/v2/quotas",
            {"cluster": "*", "user": "02U", "node_seconds": 5400.0, "window": 7 * DAYS},
        ),
        "quota of bob at all clusters: 100 queued jobs, 1.5 node-hours in 7 days\n",
    ),
    "made for a group": (
        ("--group", "physics", "--cluster", "mc", "--queued-jobs", "5"),
        ("POST", "/v2/quotas", {"cluster": "mc", "group": "01G", "queued_jobs": 5}),
        "quota of group physics at mc: 5 queued jobs\n",
    ),
    "made for everyone": (
        ("--everyone", "--cluster", "mc", "--jobs", "9"),
        ("POST", "/v2/quotas", {"cluster": "mc", "jobs": 9}),
        "quota of everyone at mc: 9 jobs, 100 queued jobs\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "sent", "shown"), SET.values(), ids=SET)
def test_a_quota_is_set(
    call: Call, changes: list[Any], words: tuple[str, ...], sent: tuple[Any, ...], shown: str
) -> None:
    assert call("quotas", "set", *words) == (0, shown, "")
    assert changes == [sent]


def test_a_quota_is_removed(call: Call, changes: list[Any]) -> None:
    done = call("quotas", "remove", "--group", "physics")
    assert done == (0, "quota of group physics at all clusters is removed\n", "")
    assert changes == [("DELETE", "/v2/quotas/02Q")]


WRONG = {
    "nobody": (("set", "--jobs", "1"), "give one of USER, --group and --everyone"),
    "two": (("remove", "alice", "--everyone"), "give one of USER, --group and --everyone"),
    "nothing": (("set", "alice"), "give a limit, such as --jobs 20"),
    "a part of a job": (
        ("set", "alice", "--jobs", "1.5"), "'1.5' is neither a whole number from 0 on nor none"
    ),
    "fewer than none": (
        ("set", "alice", "--nodes", "-1"), "'-1' is neither a whole number from 0 on nor none"
    ),
    "no number": (("set", "alice", "--node-hours", "inf"), "'inf' is neither a number from 0 on nor none"),
    "an hour": (("set", "alice", "--jobs", "1", "--window", "1h"), "'1h' is less than a day"),
    "no duration": (("set", "alice", "--jobs", "1", "--window", "x"), "'x' is no duration"),
    "no user": (("set", "carol", "--jobs", "1"), "has no user 'carol'; `minicluster users list` lists them"),
    "no group": (("set", "--group", "x", "--jobs", "1"), "has no group 'x'; there are physics"),
    "no quota": (
        ("remove", "alice"), "has no quota of alice at all clusters; `minicluster quotas list` lists them"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_quotas_that_cannot_be(call: Call, changes: list[Any], words: tuple[str, ...], message: str) -> None:
    code, out, err = call("quotas", *words)
    assert (code, out, message in err) == (2, "", True), err
    assert changes == []


def test_who_is_no_administrator_is_refused(call: Call, changes: list[Any], service: Service) -> None:
    service.fault("GET", (403, problem("forbidden", "This needs the scope users:read.")))
    assert call("quotas", "list") == (1, "", "minicluster: This needs the scope users:read.")
