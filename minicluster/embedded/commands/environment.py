"""`--env`, `--env-remove`, `--env-file`: which variables a job gets (flux-submit(1), "ENV RULES")."""

from __future__ import annotations

import fnmatch
import os
import re
from typing import TYPE_CHECKING

from minicluster.embedded.commands.console import fail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_NAME = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\}|)")


def environment(rules: Iterable[str], around: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Apply `rules` in order to a copy of the environment `around`."""
    result = dict(around)
    for rule in _unfolded(rules):
        name, assigned, value = rule.partition("=")
        if rule.startswith("-"):
            for unwanted in _matching(rule[1:], result):
                del result[unwanted]
        elif assigned:
            result[name] = _substituted(value, rule, {**around, **result})
        else:
            for wanted in _matching(rule, around):
                result.setdefault(wanted, around[wanted])
    return result


def _unfolded(rules: Iterable[str]) -> Iterator[str]:
    """The rules, with each ^FILE replaced by the rules in it."""
    for rule in rules:
        if not rule.startswith("^"):
            yield rule
            continue
        try:
            with open(os.path.expanduser(rule[1:]), encoding="utf-8") as file:  # noqa: PTH111, PTH123 - pathlib is slow to import
                lines = file.read().splitlines()
        except OSError as error:
            fail(f"--env: {error}")
        yield from _unfolded(line for line in map(str.strip, lines) if line and not line.startswith("#"))


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that a shell pattern, or a regular expression between slashes, matches."""
    if pattern.startswith("/"):
        try:
            expression = re.compile(pattern[1:].removesuffix("/"))
        except re.error as error:
            fail(f"--env: Invalid regular expression: {pattern}: {error}")
        return [name for name in names if expression.match(name)]
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def _substituted(value: str, rule: str, variables: Mapping[str, str]) -> str:
    def replacement(found: re.Match[str]) -> str:
        name = found[2] or found[3]
        if found[1]:
            return "$"
        if not name:
            fail(f"--env: Unable to substitute {rule}")
        if name not in variables:
            fail(f"--env: Variable '{name}' not found in {rule}")
        return variables[name]

    return _NAME.sub(replacement, value)
