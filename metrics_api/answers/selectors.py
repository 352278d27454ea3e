"""Label selectors as in queries: `a=b,c!=d,e in (f,g),h notin (i),j,!k`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from metrics_api.answers.errors import BadRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_LENGTH = 16 * 1024
"""Characters of a selector."""

_WORD = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = rf"(?P<key>(?:[a-z0-9](?:[-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_WORD})"
_VALUE = re.compile(rf"(?:{_WORD})?")
# Commas within brackets do not separate requirements.
_COMMA = re.compile(r",(?![^(]*\))")
_EQUALITY = re.compile(rf"\s*{_KEY}\s*(?P<operator>==?|!=)\s*(?P<values>[^\s=!,()]*)\s*")
_SET = re.compile(rf"\s*{_KEY}\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)\s*")
_PRESENCE = re.compile(rf"\s*(?P<operator>!?)\s*{_KEY}\s*(?P<values>)")


class Operator(Enum):
    """How a label is compared, by the names of a LabelSelector."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    ABSENT = "DoesNotExist"


_OPERATORS = {
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "": Operator.EXISTS,
    "!": Operator.ABSENT,
}


@dataclass(frozen=True)
class Requirement:
    """A requirement on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels satisfy it; an absent label is in no set."""
        found = labels.get(self.key)
        if self.operator is Operator.IN:
            return found in self.values
        if self.operator is Operator.NOT_IN:
            return found not in self.values
        return (found is not None) == (self.operator is Operator.EXISTS)


@dataclass(frozen=True)
class Selector:
    """Requirements on labels; without any, all labels match."""

    requirements: tuple[Requirement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels satisfy all requirements."""
        return all(each.holds(labels) for each in self.requirements)

    def about(self, keys: Iterable[str]) -> Selector:
        """Return the requirements on these labels alone."""
        chosen = set(keys)
        return Selector(tuple(each for each in self.requirements if each.key in chosen))

    def document(self) -> dict[str, Any] | None:
        """Return it as a LabelSelector of meta/v1; None without requirements."""
        equal: dict[str, str] = {}
        others: list[dict[str, Any]] = []
        for each in self.requirements:
            if each.operator is Operator.IN and len(each.values) == 1 and each.key not in equal:
                equal[each.key] = each.values[0]
                continue
            values = {"values": list(each.values)} if each.values else {}
            others.append({"key": each.key, "operator": each.operator.value, **values})
        found: dict[str, Any] = {"matchLabels": equal} if equal else {}
        return {**found, **({"matchExpressions": others} if others else {})} or None


EVERYTHING = Selector()


def parse(text: str, name: str = "labelSelector") -> Selector:
    """Return the selector in a query's parameter of this name. Raises BadRequestError."""
    if not text.strip():
        return EVERYTHING
    if len(text) > MAX_LENGTH:
        raise BadRequestError(f"{name}: more than {MAX_LENGTH} characters")
    return Selector(tuple(_requirement(part, name) for part in _COMMA.split(text)))


def _requirement(text: str, name: str) -> Requirement:
    for form in (_EQUALITY, _SET, _PRESENCE):
        if found := form.fullmatch(text):
            break
    else:
        raise BadRequestError(f"{name}: {text.strip()[:80]!r} is no requirement of a label: {_RIGHT}")
    operator = _OPERATORS[found["operator"]]
    values = [value.strip() for value in found["values"].split(",")]
    if operator in {Operator.EXISTS, Operator.ABSENT}:
        return Requirement(found["key"], operator)
    for value in values:
        if not _VALUE.fullmatch(value):
            raise BadRequestError(f"{name}: {value[:80]!r} is no value of a label: {_RIGHT}")
    return Requirement(found["key"], operator, tuple(dict.fromkeys(values)))


_RIGHT = "right are a=b, a!=b, a in (b,c), a notin (b,c), a, and !a, separated by commas"
