"""Reads policies with their settings, such as `priority-elastic:gap=60`, and lists those that there are."""

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
    """Make the policy of this word. Raises UnknownPolicy or PolicySettings, with the nearest name."""
    return plugins.load(*read(word))


def read(word: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings in a word, without checking them. Raises PolicySettings."""
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
    """Yield descriptions of these policies, by name."""
    for name, kind in sorted(policies.items()):
        yield PolicyDescription(name, (kind.__doc__ or "").strip().split("\n")[0], tuple(_settings(kind)))


def row(policy: PolicyDescription) -> dict[str, Any]:
    """Return a policy's description for JSON."""
    return policy._asdict() | {"settings": [setting._asdict() for setting in policy.settings]}


def _settings(kind: type[Policy] | None) -> Iterator[Setting]:
    if kind is not None:
        for each in dataclasses.fields(kind):  # type: ignore[arg-type]
            made = each.default_factory
            default = each.default if made is dataclasses.MISSING else made()
            yield Setting(each.name, default, str(each.metadata.get("doc", "")))


def _read(text: str, like: object) -> Any:
    """Return the value of a text in the default's type, or the text if it is not valid for that."""
    if isinstance(like, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(like, int | float):
        try:
            return type(like)(text)
        except ValueError:
            return text
    return text
