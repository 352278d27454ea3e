"""Constraints on nodes (RFC 31), `{"properties": ["gpu"]}`: the hashable form, and which nodes satisfy it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from broker_config.formats import idset
from broker_config.formats.errors import ConstraintError, ParseError

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from typing import Protocol, TypeAlias  # novm - for type checkers alone

    class CandidateNode(Protocol):
        """A node that may satisfy a constraint."""

        @property
        def rank(self) -> int:
            """The broker rank."""

        @property
        def host(self) -> str:
            """The host's name."""

        @property
        def properties(self) -> AbstractSet[str]:
            """The names of its properties."""


Constraint: TypeAlias = "tuple[Any, ...]"
"""An operator and its values: ("properties", "a", "^b"), ("and", Constraint, …)."""

UNREADABLE: Constraint = ("unreadable",)
"""Stands for what cannot be read; no node satisfies it."""

_LOGICAL = ("not", "or", "and")
_OPERATORS = ("properties", "hostlist", "ranks", *_LOGICAL)
_ILLEGAL = frozenset("!&'\"^`|()")


def parse(given: Any) -> Constraint | None:
    """Return a constraint from its JSON object; an empty one is None. Raises ConstraintError."""
    if given is None or given == {}:
        return None
    if not isinstance(given, dict):
        raise ConstraintError("constraints must be a mapping")
    terms = [_term(operator, values) for operator, values in given.items()]
    return terms[0] if len(terms) == 1 else ("and", *terms)


def read(given: Any) -> Constraint | None:
    """Return a constraint that an instance has admitted; a term that cannot be read is UNREADABLE."""
    if not given:
        return None
    if not isinstance(given, dict):
        return UNREADABLE
    terms = [_admitted(operator, values) for operator, values in given.items()]
    return terms[0] if len(terms) == 1 else ("and", *terms)


def _admitted(operator: Any, values: Any) -> Constraint:
    if operator in _LOGICAL and isinstance(values, list):
        nested = (read(value) for value in values)
        return (operator, *(term for term in nested if term is not None))
    try:
        return _term(operator, values)
    except ConstraintError:
        return UNREADABLE


def _term(operator: Any, values: Any) -> Constraint:
    if operator not in _OPERATORS:
        raise ConstraintError(f"unknown constraint operator '{operator}'")
    if not isinstance(values, list):
        raise ConstraintError(f"argument to constraint {operator} must be a sequence")
    if operator in _LOGICAL:
        nested = [parse(value) for value in values]
        return (operator, *(term for term in nested if term is not None))
    for value in values:
        if not isinstance(value, str):
            raise ConstraintError(f"argument to constraint {operator} must be a sequence of strings")
        _check_operand(operator, value)
    return (operator, *values)


def _check_operand(operator: str, value: str) -> None:
    if operator == "properties":
        name = value.removeprefix("^")
        if not name or _ILLEGAL & set(name):
            raise ConstraintError(f"invalid character in property '{value}'")
        return
    from broker_config.formats import hostlist  # noqa: PLC0415 - few jobs name hosts

    try:
        (hostlist.count if operator == "hostlist" else idset.count)(value)
    except ParseError as error:
        kind = "hostlist" if operator == "hostlist" else "idset"
        raise ConstraintError(f"Invalid {kind}: '{value}': {error}") from None


def matches(node: CandidateNode, constraint: Constraint | None) -> bool:
    """Return whether a node satisfies a constraint."""
    if constraint is None:
        return True
    operator, *values = constraint
    if operator in ("and", "not"):
        return all(matches(node, value) for value in values) is (operator == "and")
    if operator == "or":
        return not values or any(matches(node, value) for value in values)
    if operator == "properties":
        return all((word.lstrip("^") in node.properties) != word.startswith("^") for word in values)
    if operator == "hostlist":
        return any(node.host in _hosts(value) for value in values)
    return operator == "ranks" and any(node.rank in _ranks(value) for value in values)


@lru_cache(maxsize=16)  # few, as each may hold 100,000 names
def _hosts(text: str) -> frozenset[str]:
    from broker_config.formats import hostlist  # noqa: PLC0415 - few jobs name hosts

    return frozenset(hostlist.decode(text))


@lru_cache(maxsize=16)
def _ranks(text: str) -> frozenset[int]:
    return frozenset(idset.decode(text))
