"""Constraints of RFC 31, read from a jobspec and held against nodes."""

from __future__ import annotations

import pytest

from broker_config.formats.constraints import matches, read
from metrics_api.numbers.records import NodeState

NODES = (
    NodeState(0, "mc-0", 2, properties=frozenset({"lead"})),
    NodeState(1, "mc-1", 2, properties=frozenset({"big"})),
    NodeState(2, "mc-2", 2, properties=frozenset({"big", "old"})),
)

CASES = [
    pytest.param(None, {0, 1, 2}, id="none"),
    pytest.param({}, {0, 1, 2}, id="empty"),
    pytest.param({"properties": ["big"]}, {1, 2}, id="property"),
    pytest.param({"properties": ["big", "^old"]}, {1}, id="not-a-property"),
    pytest.param({"hostlist": ["mc-[0-1]"]}, {0, 1}, id="hosts"),
    pytest.param({"ranks": ["1-2"]}, {1, 2}, id="ranks"),
    pytest.param({"not": [{"ranks": ["1-2"]}]}, {0}, id="not"),
    pytest.param({"and": [{"properties": ["big"]}, {"hostlist": ["mc-2"]}]}, {2}, id="and"),
    pytest.param({"or": [{"properties": ["lead"]}, {"hostlist": ["mc-2"]}]}, {0, 2}, id="or"),
    pytest.param({"properties": ["big"], "ranks": ["1"]}, {1}, id="both"),
    pytest.param({"or": []}, {0, 1, 2}, id="or-of-nothing"),
    pytest.param({"colour": ["red"]}, set(), id="unknown-operator"),
    pytest.param({"ranks": ["x"]}, set(), id="no-idset"),
    pytest.param({"ranks": "0"}, set(), id="no-list"),
    pytest.param(["big"], set(), id="no-object"),
]


@pytest.mark.parametrize(("given", "wanted"), CASES)
def test_matching_nodes(given: object, wanted: set[int]) -> None:
    assert {node.rank for node in NODES if matches(node, read(given))} == wanted


def test_can_be_a_key() -> None:
    """Jobs of the same constraints are counted together."""
    given = {"and": [{"properties": ["big"]}, {"hostlist": ["mc-[0-1]"]}]}
    assert hash(read(given)) == hash(read(given))
