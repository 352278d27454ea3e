"""The rules of `--env` (flux-submit(1), "ENV RULES"): which environment variables a job has.

`NAME=VALUE` sets a variable, and `$OTHER` in the value is replaced. `PATTERN` adds the matching variables of
the user's own environment, `-PATTERN` takes matching ones away, `^FILE` has more rules, one a line. A pattern
is a glob; behind `/` it is a regular expression. A value with {{…}} is a template that the job's shell
expands.
"""

from __future__ import annotations

import fnmatch
import re
from collections import ChainMap
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats.errors import EnvRuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class Variables(NamedTuple):
    """The environment of a job."""

    values: dict[str, str]
    templates: dict[str, str]
    """Those that the job's shell expands, by their names: for its option `env-expand`."""


def apply(
    rules: Iterable[str], base: Mapping[str, str], own: Mapping[str, str], read: Callable[[str], str]
) -> Variables:
    """Apply rules in order to a copy of `base`. `own` is the user's environment, `read` reads a file.

    Raises EnvRuleError, and what `read` raises.
    """
    values, templates = dict(base), {}
    for rule in rules:
        name, assigned, value = rule.partition("=")
        if rule.startswith("-"):
            unwanted = _pattern(rule[1:], rule)
            values = {key: each for key, each in values.items() if not unwanted.match(key)}
        elif rule.startswith("^"):
            values, more = apply(map(str.strip, read(rule[1:]).splitlines()), values, own, read)
            templates.update(more)
        elif not assigned:
            wanted = _pattern(rule, rule)
            values = {**{key: each for key, each in own.items() if wanted.match(key)}, **values}
        elif "{{" in value:
            templates[name] = value
        else:
            values[name] = _substituted(value, rule, ChainMap(values, dict(own)))
    return Variables(values, templates)


def _pattern(text: str, rule: str) -> re.Pattern[str]:
    try:
        return re.compile(text[1:].rstrip("/") if text.startswith("/") else fnmatch.translate(text))
    except re.error as error:
        raise EnvRuleError(f"--env: {rule}: no regular expression: {error}") from error


def _substituted(value: str, rule: str, variables: Mapping[str, str]) -> str:
    from string import Template  # noqa: PLC0415 - compiles a pattern that few submissions need

    try:
        return Template(value).substitute(variables)
    except KeyError as error:
        raise EnvRuleError(f"--env: Variable {error} not found in {rule}") from error
    except ValueError as error:
        raise EnvRuleError(f"--env: Unable to substitute {rule}") from error
