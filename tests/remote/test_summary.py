"""What a MiniCluster's document and status say together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.records import BurstSummary
from minicluster.remote import clusters, reports, summary
from tests.remote.far_cluster import cluster

if TYPE_CHECKING:
    from tests.operator.field_sets import Object


@pytest.mark.parametrize(
    ("spec", "reason", "by_document"),
    [
        pytest.param({"suspend": True}, "Suspended", True, id="by the document"),
        pytest.param({"suspend": False}, "Suspended", False, id="resumed, and not yet reported so"),
        pytest.param({}, "Queued", False, id="in Kueue's queue"),
        pytest.param({"suspend": True}, "Queued", False, id="in Kueue's queue, which decides alone"),
    ],
)
def test_who_suspends_it(spec: dict[str, bool], reason: str, by_document: bool) -> None:
    item = cluster("Suspended", "Suspended", reason=reason)
    item["spec"] |= spec
    assert summary.of(item).is_suspended_by_document == by_document


OLD = "no operator has looked at this version of the document yet, and the status is that of an earlier one"
WAITS = "nothing happens until one does"
ASK = "is one running? Ask whoever administers the cluster, or see docs/kubernetes.md to start one"


@pytest.mark.parametrize(
    ("generation", "spec", "status", "is_outdated"),
    [
        pytest.param(2, {}, None, True, id="after a change"),
        pytest.param(1, {}, None, False, id="as it is"),
        pytest.param(2, {"managedBy": "kueue.x-k8s.io/multikueue"}, None, False, id="managed elsewhere"),
        pytest.param(2, {}, {}, False, id="never looked at"),
    ],
)
def test_status_and_list_report_that_the_status_is_of_an_earlier_version(
    generation: int, spec: dict[str, str], status: dict[str, str] | None, is_outdated: bool
) -> None:
    item = cluster("Running", "Running")
    item["metadata"]["generation"] = generation
    item["spec"] |= spec
    item["status"] = item["status"] if status is None else status
    found = summary.of(item)
    shown = reports.status(clusters.Report(found, None)).people.get("status_is_old", "")
    assert (shown.startswith(f"{OLD}; {WAITS}: {ASK}"), shown != "") == (is_outdated, is_outdated)
    assert reports.sample(clusters.Report(found, None)).people.get("status_is_old", "") == shown
    assert reports.outdated([found]) == (f"mc: {shown}" if shown else "")


@pytest.mark.parametrize(
    ("spec", "metadata", "waits_since"),
    [
        pytest.param({}, {}, None, id="looked at"),
        pytest.param({}, {"generation": 2}, 1767225609.0, id="changed since"),
        pytest.param({}, {"generation": 2, "managedFields": []}, 1767225600.0, id="by its creation"),
        pytest.param({}, {"generation": 2, "deletionTimestamp": "2026-01-01T00:00:20Z"}, None, id="ends"),
        pytest.param({"managedBy": "kueue.x-k8s.io/multikueue"}, {"generation": 2}, None, id="elsewhere"),
    ],
)
def test_since_when_it_waits_for_an_operator(
    spec: dict[str, str], metadata: dict[str, object], waits_since: float | None
) -> None:
    item = cluster("Running", "Running")
    item["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    item["metadata"]["managedFields"] = [
        {"manager": "kubectl", "time": "2026-01-01T00:00:05Z"},
        {"manager": "kubectl", "subresource": "scale", "time": "2026-01-01T00:00:09Z"},
        {"manager": "minicluster", "subresource": "status", "time": "2026-01-01T00:00:15Z"},
    ]
    item["metadata"] |= metadata
    item["spec"] |= spec
    assert summary.of(item).waits_since == waits_since


def test_a_status_of_a_later_release_is_read_as_far_as_it_can_be() -> None:
    item = cluster("Moving", "Running", later={"a": 1}, lastDump={"path": "/a", "later": 1}, exitCode="none")
    item["status"]["conditions"] += [{"type": "Moved", "status": "Partly"}, {"type": "Later"}]
    found = summary.of(item)
    assert (found.phase, found.last_dump, found.exit_code) == ("Moving", {"path": "/a"}, None)
    assert [each.type for each in found.conditions] == ["Running"]
    assert found.stage == "Moving"


def test_bursts_are_those_of_the_status() -> None:
    known = {"id": "01h0000001", "slot": "burst-0", "provider": "far", "state": "active", "nodes": 2}
    item = cluster("Running", "Running", bursts=[{**known, "until": "2026-03-12T15:09:26Z"}, {"id": "b"}])
    first, second = reports.status(clusters.Report(summary.of(item), None)).bursts
    assert first == BurstSummary(*("01h0000001", "burst-0", "far", "active", 2), until="2026-03-12T15:09:26Z")
    assert second == BurstSummary("b")


CUT = {"policy": "granularity", "profile": "memory", "nodes": 4, "groups": 4, "brokers": 4}


def cut_cluster(**more: Any) -> Object:
    """Return a MiniCluster of the size 2 whose brokers were cut into 4 each."""
    item = cluster("Running", "Running", maximumSize=16, readyBrokers=8, granularity=CUT, **more)
    item["spec"] |= {"size": 2, "minSize": 2}
    return item


def test_a_size_of_brokers_that_were_cut_is_shown_as_both() -> None:
    """Flux has 16 hosts, four for each one of spec.size, which is 2 and may become 4."""
    found = clusters.Report(summary.of(cut_cluster()), None)
    status, sample = reports.status(found), reports.sample(found)
    counted = {"brokers": 8, "max_brokers": 16, "granularity": CUT}
    assert (status.cluster.size, status.cluster.max_size) == (2, 4)
    assert {key: status.programs[key] for key in counted} == counted
    shown = {"size": "2, 8 brokers (granularity, memory)", "max_size": "4, 16 brokers"}
    assert {key: status.people[key] for key in shown} == shown
    assert (sample.row["size"], sample.row["max_size"], sample.row["brokers_online"]) == (2, 4, 8)
    assert sample.programs.items() >= counted.items()
    assert sample.people == shown
    assert sample.least == 8, "the queue's metrics count brokers"


def test_a_listing_has_brokers_beside_the_size_where_any_were_cut() -> None:
    whole, cut = (summary.of(each) for each in (cluster(), cut_cluster()))
    with_cut = reports.listing([whole, cut], "science")
    assert with_cut.columns[:5] == ("name", "phase", "size", "max_size", "brokers")
    assert [each.more["brokers"] for each in with_cut.clusters] == [1, 8]
    assert "brokers" not in reports.listing([whole], "science").columns


@pytest.mark.parametrize(
    "stored", [None, {}, {"policy": "scale", "later": 1}, {**CUT, "brokers": 0}], ids=str
)
def test_what_is_not_cut_is_shown_as_before(stored: Any) -> None:
    """So is what a later release may store in another way."""
    item = cluster("Running", "Running", maximumSize=3, granularity=stored)
    found = reports.status(clusters.Report(summary.of(item), None))
    assert (found.cluster.size, found.cluster.max_size, dict(found.people)) == (1, 3, {})
    assert found.programs["granularity"] is None
    assert (found.programs["brokers"], found.programs["max_brokers"]) == (1, 3)
