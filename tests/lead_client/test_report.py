"""A lead is believed about its own MiniCluster, and only what can be believed."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import idset
from minicluster.lead_client import report as report_module
from minicluster.lead_client.errors import LeadError
from minicluster.plan import BrokerReport, LeadCommand, LeadVersions, RestartReport, SaveProgress

PODS = 10
GOOD: dict[str, Any] = {"size": 8, "running": True, "online": "0,1,2"}


def parse(**fields: Any) -> BrokerReport:
    return report_module.parse(json.dumps({**GOOD, **fields}).encode(), PODS)


def test_ranks_are_put_into_their_usual_form() -> None:
    """Else the same would be news again and again."""
    assert parse(online="[0,1,2,5]").online == "0-2,5"


def test_ranks_that_are_no_pods_are_left_out() -> None:
    """Hosts of other clusters may join; and whoever says that they are many must not cost much."""
    drains = {"9-11": "minicluster: shrinking to 9", "8,15": "minicluster: shrinking to 8"}
    body = parse(size=100_000, online="0-8,10-99999", drained="8-11,15", drains=drains, busy="10-50")
    assert (body.online, body.drained, body.shrunk, body.busy) == ("0-8", "8-9", "8-9", "")


def test_millions_of_ranks_are_never_counted_out() -> None:
    """All leads share one loop: what one says costs as much as its letters, whatever they stand for."""
    everything = "0-99999"
    drains = {f"{first}-99999": "minicluster: shrinking to 1" for first in range(20)}
    body = {**GOOD, "size": 100_000, "online": everything, "busy": everything, "drains": drains}
    line = json.dumps(body).encode()
    tracemalloc.start()
    try:
        report = report_module.parse(line, 100_000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (report.online, report.busy, report.shrunk) == (everything, everything, everything)
    assert most < 200_000  # the numbers themselves take 3 MB


def test_what_an_older_lead_does_not_report_is_empty() -> None:
    assert parse() == BrokerReport(online="0-2", running=True)


def test_what_it_runs_is_in_the_report() -> None:
    body = parse(engine="embedded", version="0.88.0", minicluster="0.2.0")
    assert body.versions == LeadVersions(minicluster="0.2.0", engine="embedded", flux="0.88.0")


def test_only_drains_of_the_operators_own_are_its_to_undo() -> None:
    body = parse(
        drained="1,4-6", drains={"4-5": "minicluster: shrinking to 4", "6": "bad disk", "1": "minicluster"}
    )
    assert (body.drained, body.shrunk) == ("1,4-6", "4-5")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param({"size": 0}, "size is no number of hosts", id="no hosts"),
        pytest.param({"size": True}, "size is no number of hosts", id="size true"),
        pytest.param({"size": 10**9}, "size is no number of hosts", id="too many hosts"),
        pytest.param({"running": "yes"}, "running is neither true nor false", id="running"),
        pytest.param({"online": None}, "online is no idset", id="null"),
        pytest.param({"online": [0]}, "online is no idset", id="list"),
        pytest.param({"online": "0-2,1"}, "online is no idset", id="not ascending"),
        pytest.param({"online": "0-8"}, "online names ranks beyond its 8 hosts", id="beyond the hosts"),
        pytest.param({"online": "3-3"}, "online is no idset", id="a range of one"),
        pytest.param({"online": "01"}, "online is no idset", id="leading zeros"),
        pytest.param({"online": "[0-2"}, "online is no idset", id="half a bracket"),
        pytest.param({"online": "0,"}, "online is no idset", id="an empty range"),
        pytest.param({"busy": "0-4194303"}, "busy names ranks beyond its 8 hosts", id="millions of ranks"),
        pytest.param({"drained": "9" * 5000}, "drained names ranks beyond its 8 hosts", id="a long number"),
        pytest.param({"drains": ["1"]}, "drains are no reasons by idset", id="drains a list"),
        pytest.param({"drains": {"1": 2}}, "drains are no reasons by idset", id="a reason a number"),
        pytest.param(
            {"drains": {"x": "minicluster: shrinking to 1"}}, "drains is no idset", id="drains of no ranks"
        ),
        pytest.param({"jobid": 7}, "jobid is no text", id="jobid"),
        pytest.param({"queue_policy": {}}, "queue_policy is no text", id="policy"),
        pytest.param({"minicluster": 2}, "minicluster is no text", id="version"),
        pytest.param({"troubles": "x"}, "troubles are no list of texts", id="troubles"),
        pytest.param({"troubles": [1]}, "troubles are no list of texts", id="a trouble"),
    ],
)
def test_what_makes_no_sense(body: dict[str, Any], why: str) -> None:
    with pytest.raises(LeadError) as caught:
        parse(**body)
    assert str(caught.value) == f"the lead API says nothing that makes sense: {why}"


@pytest.mark.parametrize("line", [b"{", b"\xff", b"[" * 60_000, b""], ids=["cut", "bytes", "deep", "empty"])
def test_no_json(line: bytes) -> None:
    with pytest.raises(LeadError, match="no JSON"):
        report_module.parse(line, PODS)


def test_what_people_will_read_is_one_short_line() -> None:
    """No control characters for their terminals, no half of a character pair that no server takes."""
    body = parse(jobid="ƒ\x1b[31m\ud800", troubles=["a\nb", "x" * 1000, *["more"] * 20])
    assert body.jobid == "ƒ [31m "
    assert body.troubles == ("a b", "x" * 200, *["more"] * 6)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(1, 12) | ANYTHING,
        "running": st.booleans() | ANYTHING,
        **{
            name: st.frozensets(st.integers(0, 12)).map(idset.encode) | ANYTHING
            for name in ("online", "drained", "busy")
        },
        "drains": st.dictionaries(st.text("0123456789-,"), st.text()) | ANYTHING,
        "troubles": st.lists(st.text()) | ANYTHING,
        "jobid": ANYTHING,
    },
)


@given(BODIES | ANYTHING)
def test_whatever_it_answers_is_a_report_or_nonsense(body: Any) -> None:
    """And a report's ranks are ranks of its hosts and pods."""
    try:
        report = report_module.parse(json.dumps(body).encode(), PODS)
    except LeadError:
        return
    for text in (report.online, report.drained, report.shrunk, report.busy):
        assert all(rank < min(body["size"], PODS) for rank in idset.decode(text))


RANKS = st.frozensets(st.integers(0, 200))


@given(RANKS, RANKS, st.integers(1, 201))
def test_ranks_are_those_that_were_reported(
    online: frozenset[int], shrunk: frozenset[int], pods: int
) -> None:
    body = {
        "size": 201,
        "running": True,
        "online": ",".join(map(str, sorted(online))),
        "drains": {str(rank): "minicluster: shrinking to 1" for rank in shrunk},
    }
    report = report_module.parse(json.dumps(body).encode(), pods)
    expected = [idset.encode(rank for rank in ranks if rank < pods) for ranks in (online, shrunk)]
    assert [report.online, report.shrunk] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(
            {"phase": "waiting", "since": "s", "waiting_for": 3},
            SaveProgress("waiting", "s", 3),
            id="waiting",
        ),
        pytest.param({"phase": "writing", "since": "s"}, SaveProgress("writing", "s"), id="writing"),
        pytest.param(
            {"phase": "failed", "since": "s", "error": "no\nspace"},
            SaveProgress("failed", "s", error="no space"),
            id="failed",
        ),
        pytest.param({"phase": "dancing", "since": "s"}, None, id="a phase of a later release"),
        pytest.param({"phase": "waiting", "waiting_for": -1}, SaveProgress("waiting"), id="no count"),
    ],
)
def test_how_far_a_save_is(body: Any, expected: SaveProgress | None) -> None:
    assert parse(saving=body).saving == expected


def test_a_save_that_makes_no_sense() -> None:
    with pytest.raises(LeadError, match="saving is no object"):
        parse(saving="soon")


def test_which_jobs_were_started_again() -> None:
    order = LeadCommand("restart", "2-3", generation=7)
    text = json.dumps({"restarted": [["f2a", "f3b"]], "lost": [["f4c", "why"]]})
    assert report_module.restarted(text, order) == RestartReport(order, (("ƒ2a", "ƒ3b"),), (("ƒ4c", "why"),))
    with pytest.raises(LeadError, match="no JSON"):
        report_module.restarted("cut", order)
    with pytest.raises(LeadError, match="no object"):
        report_module.restarted("[]", order)


def test_why_no_jobs_start() -> None:
    assert parse(halted=["the disk is full"]).halted == ("the disk is full",)
    with pytest.raises(LeadError, match="halted are no list of texts"):
        parse(halted="the disk is full")


def test_which_jobs_are_kept_for_a_larger_instance() -> None:
    assert parse(kept=["f2a: needs 4 nodes"]).kept == ("ƒ2a: needs 4 nodes",)
