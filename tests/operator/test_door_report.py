"""A lead is believed about its own MiniCluster, and only what can be believed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config import idset
from minicluster.kubernetes import door_report
from minicluster.kubernetes.errors import DoorError
from minicluster.plan import BrokerReport

GOOD: dict[str, Any] = {"size": 8, "running": True, "online": "0,1,2"}


def parse(**said: Any) -> BrokerReport:
    return door_report.parse(json.dumps({**GOOD, **said}).encode())


def test_ranks_are_put_into_their_usual_form() -> None:
    """Else the same would be news again and again."""
    assert parse(online="[0,1,2,5]").online == "0-2,5"


def test_what_an_older_lead_does_not_say_is_empty() -> None:
    assert parse() == BrokerReport(online="0-2", running=True)


def test_only_drains_of_the_operators_own_are_its_to_undo() -> None:
    said = parse(
        drained="1,4-6", drains={"4-5": "minicluster: shrinking to 4", "6": "bad disk", "1": "minicluster"}
    )
    assert (said.drained, said.shrunk) == ("1,4-6", "4-5")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param({"size": 0}, "size is no number of hosts", id="no hosts"),
        pytest.param({"size": True}, "size is no number of hosts", id="size true"),
        pytest.param({"size": 10**9}, "size is no number of hosts", id="too many hosts"),
        pytest.param({"running": "yes"}, "running is neither true nor false", id="running"),
        pytest.param({"online": None}, "online is no idset", id="null"),
        pytest.param({"online": [0]}, "online is no idset", id="list"),
        pytest.param({"online": "0-2,1"}, "online is no idset", id="not ascending"),
        pytest.param({"online": "0-8"}, "online names ranks beyond its 8 hosts", id="beyond the hosts"),
        pytest.param({"busy": "0-4194303"}, "busy names ranks beyond its 8 hosts", id="millions of ranks"),
        pytest.param({"drained": "9" * 5000}, "drained names ranks beyond its 8 hosts", id="a long number"),
        pytest.param({"drains": ["1"]}, "drains are no reasons by idset", id="drains a list"),
        pytest.param({"drains": {"1": 2}}, "drains are no reasons by idset", id="a reason a number"),
        pytest.param(
            {"drains": {"x": "minicluster: shrinking to 1"}}, "drains is no idset", id="drains of no ranks"
        ),
        pytest.param({"jobid": 7}, "jobid is no text", id="jobid"),
        pytest.param({"queue_policy": {}}, "queue_policy is no text", id="policy"),
        pytest.param({"troubles": "x"}, "troubles are no list of texts", id="troubles"),
        pytest.param({"troubles": [1]}, "troubles are no list of texts", id="a trouble"),
    ],
)
def test_what_makes_no_sense(said: dict[str, Any], why: str) -> None:
    with pytest.raises(DoorError) as caught:
        parse(**said)
    assert str(caught.value) == f"the lead's door says nothing that makes sense: {why}"


@pytest.mark.parametrize("line", [b"{", b"\xff", b"[" * 60_000, b""], ids=["cut", "bytes", "deep", "empty"])
def test_no_json(line: bytes) -> None:
    with pytest.raises(DoorError, match="no JSON"):
        door_report.parse(line)


def test_what_people_will_read_is_one_short_line() -> None:
    """No control characters for their terminals, no half of a character pair that no server takes."""
    said = parse(jobid="ƒ\x1b[31m\ud800", troubles=["a\nb", "x" * 1000, *["more"] * 20])
    assert said.jobid == "ƒ [31m "
    assert said.troubles == ("a b", "x" * 200, *["more"] * 6)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
SAID = st.fixed_dictionaries(
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


@given(SAID | ANYTHING)
def test_whatever_it_says_is_a_report_or_nonsense(said: Any) -> None:
    """And a report's ranks are ranks of its hosts."""
    try:
        report = door_report.parse(json.dumps(said).encode())
    except DoorError:
        return
    for text in (report.online, report.drained, report.shrunk, report.busy):
        assert all(rank < said["size"] for rank in idset.decode(text))
