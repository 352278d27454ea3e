"""Policies by a word, with their settings: `priority-elastic:gap=60`; and what there is to choose from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from queue_policies import plugins
from queue_policies.errors import PolicySettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from queue_policies.policy import Policy


class Setting(NamedTuple):
    """A setting of a policy."""

    name: str
    default: object
    description: str


class PolicyDescription(NamedTuple):
    """A policy to choose."""

    name: str
    description: str
    settings: tuple[Setting, ...]


def policy_named(word: str) -> Policy:
    """Make the policy of this word. Raises UnknownPolicy and PolicySettings, with what is nearest."""
    return plugins.load(*read(word))


def read(word: str) -> tuple[str, dict[str, Any]]:
    """The name and the settings in a word, checked no further. Raises PolicySettings."""
    name, _, given = word.partition(":")
    defaults = {each.name: each.default for each in _settings(plugins.policies().get(name))}
    values: dict[str, Any] = {}
    for text in filter(None, given.split(",")):
        key, equals, value = text.partition("=")
        if not equals:
            raise PolicySettings(f"queue policy {name}: {text!r}; a setting is written name=value")
        values[key] = _read(value, defaults.get(key.replace("-", "_")))
    return name, values


def choices(policies: Mapping[str, type[Policy]]) -> Iterator[PolicyDescription]:
    """These policies, by name."""
    for name, kind in sorted(policies.items()):
        yield PolicyDescription(name, (kind.__doc__ or "").strip().split("\n")[0], tuple(_settings(kind)))


def row(policy: PolicyDescription) -> dict[str, Any]:
    """A policy as JSON shows it."""
    return policy._asdict() | {"settings": [setting._asdict() for setting in policy.settings]}


def _settings(kind: type[Policy] | None) -> Iterator[Setting]:
    if kind is not None:
        for each in dataclasses.fields(kind):  # type: ignore[arg-type]
            made = each.default_factory
            default = each.default if made is dataclasses.MISSING else made()
            yield Setting(each.name, default, str(each.metadata.get("doc", "")))


def _read(text: str, like: object) -> Any:
    """The value that a text stands for, of the default's type; the text where it is no such value."""
    if isinstance(like, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(like, int | float):
        try:
            return type(like)(text)
        except ValueError:
            return text
    return text
