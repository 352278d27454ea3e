"""Replacement fields of `flux bulksubmit` and of `--cc`: {}, {1}, {.%}, {./}, {seq}, {cc}; {{…}} stays.

The forms are those of flux-bulksubmit(1), which has them from GNU parallel.
"""

from __future__ import annotations

import argparse
from os.path import basename, dirname, splitext
from typing import TYPE_CHECKING, Any

from minicluster.embedded.commands.console import fail, note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import CodeType
    from typing import NoReturn

_SHORT = {"queue": "-q", "ntasks": "-n", "nodes": "-N", "time_limit": "-t", "setopt": "-o "}
_SHORT |= {"cores_per_task": "-c", "gpus_per_task": "-g"}
_OPTIONS = (
    "queue", "ntasks", "nodes", "cores_per_task", "gpus_per_task", "cores", "tasks_per_node",
    "tasks_per_core", "time_limit", "env", "urgency", "setopt", "setattr", "job_name", "input", "output",
    "error", "cc", "bcc", "dependency", "requires", "wait_event", "cwd", "flags",
)  # fmt: skip
"""The options with replacement fields, in the order in which Flux prints them."""
_PARTS: dict[str, Callable[[str], str]] = {
    "%": lambda text: splitext(text)[0],  # noqa: PTH122 - of texts, which need not be paths
    "/": basename,
    "//": dirname,
    "/%": lambda text: basename(splitext(text)[0]),  # noqa: PTH119, PTH122
}
_SEVERAL = "\0"
"""Joins the words that a method makes of one."""


class Input:
    """An input: {} is its text, {.%} that without extension, {./} its base name, {.//} its folder."""

    def __init__(self, text: str, methods: Mapping[str, CodeType]) -> None:
        self._text = text
        self._methods = methods

    def __str__(self) -> str:
        return self._text

    def __getattr__(self, name: str) -> str:
        """Return a part, or what a method of --define makes of the text."""
        text = self._text
        if name in self._methods:
            made = eval(self._methods[name], {"x": text})  # noqa: S307 - the user's own expression
            return _SEVERAL.join(made) if isinstance(made, list) else made
        if name not in _PARTS:
            fail(f"Unknown input string method '.{name}'")
        return _PARTS[name](text)


def replaced(options: argparse.Namespace, *inputs: Input, **fields: object) -> argparse.Namespace:
    """Return a copy of the options with their fields replaced; `changed` names what it changed."""
    copy = argparse.Namespace(**{**vars(options), "changed": []})
    copy.command = [word for text in options.command for word in _words(text, inputs, fields)]
    for name in _OPTIONS:
        value = getattr(options, name)
        if value is not None:
            new = _value(name, value, inputs, fields)
            setattr(copy, name, new)
            if new and (new != value or name == "cc"):
                copy.changed.append(f"{_flag(name)}{new}")
    return copy


def _words(text: str, inputs: Sequence[Input], fields: Mapping[str, object]) -> list[str]:
    try:
        return _formatted(text, inputs, fields).split(_SEVERAL)
    except (IndexError, KeyError):
        _refuse(f"Invalid replacement string in command: '{text}'")


def _value(name: str, value: Any, inputs: Sequence[Input], fields: Mapping[str, object]) -> Any:
    try:
        if isinstance(value, list):
            return [_formatted(each, inputs, fields) for each in value]
        return _formatted(value, inputs, fields)
    except IndexError:
        _refuse(f"Invalid replacement index in {_flag(name)}{value}'")
    except KeyError as error:
        _refuse(f"Replacement key {error} not found in '{_flag(name)}{value}'")


def _formatted(text: str, inputs: Sequence[Input], fields: Mapping[str, object]) -> str:
    if "{" not in text and "}" not in text:
        return text
    kept = text.replace("{{", "{{{{").replace("}}", "}}}}")
    try:
        return kept.format(*inputs, **fields)
    except ValueError as error:
        fail(str(error))


def _flag(name: str) -> str:
    return _SHORT.get(name) or f"--{name.replace('_', '-')}="


def _refuse(text: str) -> NoReturn:
    """End the command as Flux does here: with a message of `flux`, not of the command."""
    note(f"flux: ERROR: {text}")
    fail("")
