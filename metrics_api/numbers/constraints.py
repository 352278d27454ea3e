"""Which nodes satisfy a job's constraints (RFC 31)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config import hostlist, idset
from broker_config.errors import ParseError

if TYPE_CHECKING:
    from collections.abc import Callable

    from metrics_api.numbers.records import Node

    # ("properties", ("a", "^b")), ("and", Constraint, …): hashable
    Constraint = tuple[Any, ...]

NOTHING: Constraint = ("unreadable",)
"""What cannot be read: no node satisfies it, so that it makes no demand."""


def parse(given: Any) -> Constraint | None:
    """Read a constraint as the jobspec has it; none, or an empty one, is None."""
    if not given:
        return None
    if not isinstance(given, dict):
        return NOTHING
    terms = tuple(_term(operator, values) for operator, values in given.items())
    return terms[0] if len(terms) == 1 else ("and", *terms)


def _term(operator: Any, values: Any) -> Constraint:
    if not isinstance(values, list):
        return NOTHING
    if operator in ("and", "or", "not"):
        parsed = (parse(value) for value in values)
        return (operator, *(each for each in parsed if each is not None))
    read = _OPERANDS.get(operator)
    if read is None or not all(isinstance(value, str) for value in values):
        return NOTHING
    try:
        return (operator, read(values))
    except ParseError:
        return NOTHING


_OPERANDS: dict[Any, Callable[[list[str]], Any]] = {
    "properties": tuple,
    "hostlist": lambda values: frozenset(host for value in values for host in hostlist.decode(value)),
    "ranks": lambda values: frozenset(rank for value in values for rank in idset.decode(value)),
}


def matches(node: Node, constraint: Constraint | None) -> bool:
    """Tell whether a node satisfies a constraint."""
    if constraint is None:
        return True
    operator, values = constraint[0], constraint[1:]
    if operator == "or":
        return not values or any(matches(node, value) for value in values)
    if operator in ("and", "not"):
        return all(matches(node, value) for value in values) is (operator == "and")
    return _has(node, operator, *values)


def _has(node: Node, operator: str, wanted: Any = ()) -> bool:
    if operator == "properties":
        return all((word.lstrip("^") in node.properties) != word.startswith("^") for word in wanted)
    if operator == "hostlist":
        return node.host in wanted
    return operator == "ranks" and node.rank in wanted
