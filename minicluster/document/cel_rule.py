"""One rule in CEL, and the expressions that most rules are made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CelRule:
    """A rule at a field path of the schema; an empty path is the whole document."""

    field_path: str
    rule: str
    message: str
    optional_old: bool = False
    """Whether `oldSelf` is an optional value, which a new object does not have."""


def given(name: str) -> str:
    """Return CEL for: the text `name` of self exists and is not empty."""
    return f"(has(self.{name}) && self.{name} != '')"


def is_true(name: str) -> str:
    """Return CEL for: the flag `name` of self exists and is true."""
    return f"(has(self.{name}) && self.{name})"


def count(*conditions: str) -> str:
    """Return CEL for the number of conditions that hold."""
    return " + ".join(f"({condition} ? 1 : 0)" for condition in conditions)
