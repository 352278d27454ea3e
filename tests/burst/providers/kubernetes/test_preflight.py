"""What is found wrong with a cluster before a burst is made there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.providers.kubernetes.preflight import RIGHTS, TUNNEL_RIGHTS
from tests.burst.providers.kubernetes.fake_api import NAMESPACE, Refusal

if TYPE_CHECKING:
    from tests.burst.providers.kubernetes.conftest import FarCluster

HERE = f"/api/v1/namespaces/{NAMESPACE}"


def test_nothing_is_wrong_and_nothing_is_written(far: FarCluster) -> None:
    before = dict(far.api.items)
    assert list(far.provider.problems()) == []
    assert far.api.items == before


def test_missing_rights_are_named_together(far: FarCluster) -> None:
    far.api.denied |= {"delete jobs", "list events"}
    message = f"the credentials may not, in namespace {NAMESPACE}: delete jobs.batch, list events"
    assert list(far.provider.problems()) == [message]


def test_rights_for_tunnels_are_named_apart(far: FarCluster) -> None:
    """Other ways to the lead do without them."""
    far.api.denied |= {"create pods/portforward", "list services"}
    message = (
        "no tunnel can be there (spec.bursting.expose: tunnel), for which the credentials may not, in"
        f" namespace {NAMESPACE}: list services, create pods/portforward"
    )
    assert list(far.provider.problems()) == []
    assert list(far.provider.tunnel_problems()) == [message]


def test_a_namespace_that_is_missing(far: FarCluster) -> None:
    del far.api.items[HERE]
    message = f"there is no namespace {NAMESPACE}: an administrator makes it, for bursts alone"
    assert list(far.provider.problems()) == [message]


def test_a_namespace_that_may_not_be_read_is_no_problem(far: FarCluster) -> None:
    far.api.fail("GET", "namespaces", Refusal(403, "namespaces is forbidden"))
    far.api.fail("GET", "resourcequotas", Refusal(403, "resourcequotas is forbidden"))
    assert list(far.provider.problems()) == []


def test_a_namespace_that_ends_or_admits_few(far: FarCluster) -> None:
    metadata = far.api.items[HERE]["metadata"]
    metadata["labels"] = {"pod-security.kubernetes.io/enforce": "restricted"}
    [problem] = far.provider.problems()
    assert problem.startswith(f"namespace {NAMESPACE} has Pod Security level restricted: pods of a")
    metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert list(far.provider.problems()) == [f"namespace {NAMESPACE} is being deleted"]


def test_an_old_version_and_a_quota_that_is_used_up(far: FarCluster) -> None:
    far.api.minor = "27+"
    status = {"hard": {"pods": "4", "count/jobs.batch": "2"}, "used": {"pods": "4", "count/jobs.batch": "1"}}
    far.api.add(
        f"{HERE}/resourcequotas/small",
        {"kind": "ResourceQuota", "metadata": {"name": "small"}, "status": status},
    )
    assert list(far.provider.problems()) == [
        "Kubernetes 1.27 is older than 1.31, the oldest that is tested",
        "ResourceQuota small has nothing left of pods: 4 are used",
    ]


def test_a_server_that_does_not_answer(far: FarCluster) -> None:
    far.api.fail("GET", "", *[Refusal(0, lost=True)] * 2)
    [problem] = far.provider.problems()
    assert "no answer from http://127.0.0.1:" in problem


def test_every_right_that_is_used_is_asked_for(far: FarCluster) -> None:
    """A burst's whole life needs no other."""
    far.create()
    far.get()
    far.delete()
    names = {"POST": "create", "DELETE": "delete", "GET": ""}
    used = set()
    for request in far.api.requests:
        method, path = request.split()
        words = path.split("/")
        if path == "/version":
            continue
        is_collection = words[-2] in (NAMESPACE, "namespaces") and words[-3] == "namespaces"
        verb = names[method] or ("list" if is_collection else "get")
        used.add((verb, words[-1] if is_collection else words[-2]))
    assert used <= {(each.verb, each.resource.plural) for each in (*RIGHTS, *TUNNEL_RIGHTS)}
