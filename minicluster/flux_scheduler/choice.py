"""Which policy decides, and with which settings: by the module's arguments, else by broker.toml."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import durations
from broker_config.formats.errors import DurationError
from minicluster.flux_scheduler.errors import WrongArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT = "fcfs"
_POLICY, _SETTING = "policy=", "setting."


class Choice(NamedTuple):
    """A policy's name and settings as they were given, not checked yet."""

    name: str
    settings: Mapping[str, Any]


def chosen(table: Any, arguments: Iterable[str]) -> Choice:
    """Read `policy=NAME setting.KEY=VALUE …`, or without `policy=` the table `[minicluster]` of broker.toml.

    Raises WrongArgument.
    """
    name, settings = "", {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if argument.startswith(_POLICY):
            name = value.removeprefix("minicluster/")
        elif key.startswith(_SETTING) and equals:
            settings[key.removeprefix(_SETTING)] = _value(value)
        else:
            known = "policy=NAME, setting.KEY=VALUE, queue-depth=N|unlimited and log-level=LEVEL"
            raise WrongArgument(f"unknown argument {argument!r}: known are {known}")
    if name:
        return Choice(name, settings)
    configured = _configured(table)
    return Choice(configured.name, {**configured.settings, **settings})


def order_timeout(table: Any) -> float:
    """Return the seconds that a malleable program has to answer, and companions to join.

    Raises WrongArgument.
    """
    name = "broker.toml, [minicluster] order-timeout"
    given = table.get("order-timeout", "60s") if isinstance(table, dict) else "60s"
    try:
        seconds = durations.setting(given, name)
    except DurationError as error:
        raise WrongArgument(str(error)) from None
    if not seconds:
        raise WrongArgument(f"{name}: it must be more than 0 s, and not none")
    return seconds


def _configured(table: Any) -> Choice:
    table = {} if table is None else table
    if not isinstance(table, dict):
        raise WrongArgument("broker.toml, minicluster: a table would be right")
    name, settings = table.get("queue-policy", DEFAULT), table.get("scheduler-settings", {})
    if not isinstance(name, str):
        raise WrongArgument(f"broker.toml, [minicluster] queue-policy = {name!r}: a policy's name is right")
    if not isinstance(settings, dict):
        raise WrongArgument("broker.toml, minicluster.scheduler-settings: a table would be right")
    return Choice(name.removeprefix("minicluster/") or DEFAULT, settings)


def _value(text: str) -> Any:
    """Return a number or a bool if the text is one, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text
