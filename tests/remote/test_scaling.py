"""When a MiniCluster on Kubernetes counts as scaled, and which ones cannot be."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from minicluster.kube_client.errors import ApiError, Cause, FailedError, NotRunningError, RefusalError
from minicluster.remote import clusters, summary

if TYPE_CHECKING:
    from minicluster.remote.session import NamespaceSession
    from tests.operator.field_sets import Object


def item(phase: str, resizing: str = "False", brokers: str = "", message: str = "") -> Object:
    """Return a MiniCluster whose status is about its document; brokers: the status of BrokersReady."""
    conditions = [
        {"type": "Resizing", "status": resizing, "reason": "AtSize"},
        {"type": phase, "status": "True", "reason": "It", "message": message},
    ]
    if brokers:
        conditions.append({"type": "BrokersReady", "status": brokers, "reason": "It"})
    return {
        "metadata": {"name": "mc", "namespace": "science", "uid": "1", "generation": 1},
        "spec": {"size": 9},
        "status": {"phase": phase, "observedGeneration": 1, "conditions": conditions},
    }


@pytest.mark.parametrize(
    ("found", "is_scaled"),
    [
        pytest.param(item("Running", brokers="True"), True, id="all online"),
        pytest.param(item("Running", brokers="False"), False, id="brokers missing"),
        pytest.param(item("Running", brokers="Unknown"), True, id="the operator does not reach the lead"),
        pytest.param(item("Running"), True, id="an older operator"),
        pytest.param(item("Resizing", resizing="True"), False, id="it grows"),
        pytest.param(item("Pending"), False, id="no node for its pods"),
        pytest.param(item("Starting"), False, id="pods start"),
        pytest.param(item("Suspended"), True, id="suspended"),
    ],
)
def test_it_is_scaled_once_its_brokers_are_online(found: Object, is_scaled: bool) -> None:
    assert clusters.has_its_size(summary.of(found)) == is_scaled


def test_a_size_that_cannot_be_had_is_an_error() -> None:
    with pytest.raises(FailedError, match="cluster mc: Invalid"):
        clusters.has_its_size(summary.of(item("Invalid")))


class Session:
    """Has one MiniCluster, and notes its changes and what the user is shown; or refuses to change it."""

    def __init__(self, found: Object, answer: Exception | None = None) -> None:
        self.found = found
        self.client = self
        self.namespace = "science"
        self.answer = answer
        self.changes: list[Any] = []
        self.notices: list[str] = []

    async def cluster(self, _name: str) -> Object:
        """Return it."""
        return self.found

    async def patch(self, *change: Any) -> None:
        """Note it, or refuse."""
        self.changes.append(change)
        if self.answer is not None:
            raise self.answer

    def notice(self, text: str) -> None:
        """Note it."""
        self.notices.append(text)


CHANGED = {"generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({}, [], id="it is looked at"),
        pytest.param(CHANGED, [f"mc: {clusters.OUTDATED}"], id="nobody has looked since a change"),
        pytest.param(
            CHANGED | {"creationTimestamp": "2999-01-01T00:00:00Z"}, [], id="an operator may look in a moment"
        ),
    ],
)
def test_who_does_not_wait_is_warned_where_nothing_will_happen(metadata: Object, expected: list[str]) -> None:
    found = item("Running")
    found["metadata"] |= metadata
    session = Session(found)
    done = asyncio.run(clusters.scale(cast("NamespaceSession", session), "mc", 2, wait=False))
    assert (done, len(session.changes), session.notices) == ((9, 2, 1), 1, expected)
    assert "nothing happens until one does" in clusters.OUTDATED


@pytest.mark.parametrize("wait", [True, False], ids=["wait", "no wait"])
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_what_has_ended_is_not_scaled(phase: str, wait: bool) -> None:
    session = Session(item(phase, message="the main command ended with 0"))
    with pytest.raises(NotRunningError) as refusal:
        asyncio.run(clusters.scale(cast("NamespaceSession", session), "mc", 2, wait=wait))
    message = (
        f"cluster mc: has ended ({phase}: the main command ended with 0), so it cannot be scaled; bring it up"
        " anew with another size: minicluster down mc, minicluster up FILE --size N"
    )
    assert (refusal.value.exit_code, str(refusal.value)) == (1, message)
    assert not session.changes


def cut() -> Object:
    """Return a MiniCluster whose brokers were cut into four for each one of its size."""
    found = item("Running", brokers="True")
    found["spec"] = {"size": 2}
    stored = {"policy": "scale", "profile": "memory", "nodes": 8, "groups": 8, "brokers": 4}
    found["status"] |= {"maximumSize": 16, "granularity": stored}
    return found


def test_the_size_of_one_that_was_cut_counts_the_documents_brokers() -> None:
    """It is sent as it was given; each is four brokers."""
    session = Session(cut())
    done = asyncio.run(clusters.scale(cast("NamespaceSession", session), "mc", 3, wait=False))
    assert (done, [change[3] for change in session.changes]) == ((2, 3, 4), [{"spec": {"replicas": 3}}])


def test_a_size_that_is_refused_is_named_with_its_brokers() -> None:
    """The limit is in the document's brokers, as the size is."""
    refused = ApiError(422, "Invalid", "no", causes=(Cause("spec.size", "Invalid value: too large"),))
    session = cast("NamespaceSession", Session(cut(), refused))
    with pytest.raises(RefusalError) as error:
        asyncio.run(clusters.scale(session, "mc", 5))
    message = "cluster mc: cannot have the size 5, which is 20 brokers: too large (4)"
    assert str(error.value) == message
