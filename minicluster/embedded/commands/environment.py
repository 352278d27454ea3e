"""`--env`: which variables a job gets (flux-submit(1), "ENV RULES")."""

from __future__ import annotations

import fnmatch
import os
from string import Template
from typing import TYPE_CHECKING

from minicluster.embedded.commands.console import fail

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def environment(rules: Iterable[str], around: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Apply `rules` (NAME=VALUE, PATTERN, -PATTERN) in order to a copy of the environment `around`."""
    result = dict(around)
    for rule in rules:
        name, assigned, value = rule.partition("=")
        if rule.startswith("-"):
            for unwanted in fnmatch.filter(list(result), rule[1:]):
                del result[unwanted]
        elif assigned:
            result[name] = _substituted(value, rule, {**around, **result})
        else:
            for wanted in fnmatch.filter(around, rule):
                result.setdefault(wanted, around[wanted])
    return result


def _substituted(value: str, rule: str, variables: Mapping[str, str]) -> str:
    try:
        return Template(value).substitute(variables)
    except KeyError as error:
        fail(f"--env: Variable {error} not found in {rule}")
    except ValueError:
        fail(f"--env: Unable to substitute {rule}")
