"""What a MiniCluster's document and status say together."""

import pytest

from minicluster.remote import summary
from tests.remote.far_cluster import cluster


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


def test_a_status_of_a_later_release_is_read_as_far_as_it_can_be() -> None:
    item = cluster("Moving", "Running", later={"a": 1}, lastDump={"path": "/a", "later": 1}, exitCode="none")
    item["status"]["conditions"] += [{"type": "Moved", "status": "Partly"}, {"type": "Later"}]
    found = summary.of(item)
    assert (found.phase, found.last_dump, found.exit_code) == ("Moving", {"path": "/a"}, None)
    assert [each.type for each in found.conditions] == ["Running"]
    assert found.stage == "Moving"
