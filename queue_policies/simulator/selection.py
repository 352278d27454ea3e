"""Reads policies with their settings, such as `priority-elastic:gap=60`, and lists those that there are."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from queue_policies import plugins
from queue_policies.errors import PolicySettings, UnknownPolicy
from queue_policies.placement import plugins as placement_plugins
from queue_policies.plugin_group import shown
from queue_policies.settings import TRUTHS
from queue_policies.simulator import policy_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from queue_policies.placement.protocol import Placement
    from queue_policies.policy import Policy


_FILE = re.compile(r"(?P<path>.+\.py):(?P<kind>\w+)(?::(?P<given>.*))?")


class Setting(NamedTuple):
    """A setting of a policy."""

    name: str
    default: object
    description: str


class PolicyDescription(NamedTuple):
    """A policy or a placement to choose."""

    name: str
    description: str
    settings: tuple[Setting, ...]


def policy_named(word: str) -> Policy:
    """Make the policy of this word, `NAME:SETTINGS` or `FILE.py:CLASS:SETTINGS`.

    Raises UnknownPolicy or PolicySettings, with the nearest name, or PolicyPlugin.
    """
    found = _FILE.fullmatch(word)
    if found is not None:
        kind = policy_file.kind(found["path"], found["kind"])
        return plugins.configured(kind, _values(kind.name, kind, found["given"] or ""))
    if word.endswith(".py"):
        raise UnknownPolicy(f"unknown queue policy {word!r}; a class in a file is written FILE.py:CLASS")
    return plugins.load(*read(word))


def placement_named(word: str) -> Placement:
    """Make the placement of this word, `NAME:SETTINGS`.

    Raises UnknownPlacement or PolicySettings, with the nearest name, or PolicyPlugin.
    """
    return placement_plugins.load(*read_placement(word))


def read(word: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings in a word, for a policy that brokers load by its name.

    They are not checked. Raises PolicySettings, or UnknownPolicy for a class in a file.
    """
    name, _, given = word.partition(":")
    if name.endswith(".py"):
        raise UnknownPolicy("only the simulator takes a file; brokers take the name of an installed plug-in")
    return name, _values(name, plugins.policies().get(name), given)


def read_placement(word: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings in a word, for a placement that brokers load by its name.

    They are not checked. Raises PolicySettings.
    """
    name, _, given = word.partition(":")
    kind = placement_plugins.registry().classes.get(name)
    return name, _values(name, kind, given, "placement")


def _values(
    name: str, kind: type[Policy | Placement] | None, given: str, what: str = "queue policy"
) -> dict[str, Any]:
    """Return the settings of a word, without checking them. Raises PolicySettings."""
    defaults = {each.name: each.default for each in _settings(kind)}
    values: dict[str, Any] = {}
    for text in filter(None, given.split(",")):
        key, equals, value = text.partition("=")
        if not equals:
            raise PolicySettings(f"{what} {name}: {text!r}; a setting is written name=value")
        values[key] = _read(value, defaults.get(key.replace("-", "_")))
    return values


def choices(policies: Mapping[str, type[Policy]]) -> Iterator[PolicyDescription]:
    """Yield descriptions of these policies, by name."""
    return described(policies)


def described(kinds: Mapping[str, type[Any]]) -> Iterator[PolicyDescription]:
    """Yield descriptions of these policies or placements, by name."""
    for name, kind in sorted(kinds.items()):
        yield PolicyDescription(name, (kind.__doc__ or "").strip().split("\n")[0], tuple(_settings(kind)))


def row(policy: PolicyDescription) -> dict[str, Any]:
    """Return a policy's description for JSON."""
    return policy._asdict() | {"settings": [setting._asdict() for setting in policy.settings]}


def table(column: str, described: Iterable[PolicyDescription]) -> list[dict[str, object]]:
    """Return the rows of a table of policies or placements, whose first column has this name."""
    rows: list[dict[str, object]] = []
    for each in described:
        rows.append({column: each.name, "default": "", "description": each.description})
        rows += [
            {
                column: f"  {setting.name}",
                "default": shown(setting.default),
                "description": setting.description,
            }
            for setting in each.settings
        ]
    return rows


def _settings(kind: type[Any] | None) -> Iterator[Setting]:
    if kind is not None:
        for each in dataclasses.fields(kind):
            made = each.default_factory
            default = each.default if made is dataclasses.MISSING else made()
            yield Setting(each.name, default, str(each.metadata.get("doc", "")))


def _read(text: str, like: object) -> Any:
    """Return the value of a text in the default's type, or the text if it is not valid for that."""
    if isinstance(like, bool):
        return TRUTHS.get(text.lower(), text)
    if isinstance(like, int | float):
        try:
            return type(like)(text)
        except ValueError:
            return text
    return text
