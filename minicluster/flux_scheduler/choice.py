"""Which policy and placement decide, and with which settings: by broker.toml.

The module's arguments name another policy.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import durations, idset
from broker_config.formats.errors import DurationError, IdsetError
from minicluster.flux_scheduler.errors import WrongArgument
from queue_policies.core_sharing import needs_sharing
from queue_policies.placement.records import Affinity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from queue_policies.policy import Policy

DEFAULT = "fcfs"
DEFAULT_PLACEMENT = "low-rank"
_POLICY, _SETTING, _OURS = "policy=", "setting.", "minicluster/"


class Choice(NamedTuple):
    """A name, and settings as they were given, not checked yet."""

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
            name = value.removeprefix(_OURS)
        elif key.startswith(_SETTING) and equals:
            settings[key.removeprefix(_SETTING)] = _value(value)
        else:
            known = "policy=NAME, setting.KEY=VALUE, queue-depth=N|unlimited and log-level=LEVEL"
            raise WrongArgument(f"unknown argument {argument!r}: known are {known}")
    if name:
        return Choice(name, settings)
    configured = _configured(table)
    return Choice(configured.name, {**configured.settings, **settings})


def placement_chosen(table: Any) -> Choice | None:
    """Return the placement of the table `[minicluster]`; None: it names none, nor an affinity.

    The affinity is a setting of the placement. Raises WrongArgument.
    """
    table = table if isinstance(table, dict) else {}
    name = _text(table, "placement", "a placement's name")
    settings, affinity = _table(table, "placement-settings"), affinity_chosen(table)
    if not (name or settings or affinity):
        return None
    given = {**settings, "affinity": affinity.value} if affinity else settings
    return Choice(name.removeprefix(_OURS) or DEFAULT_PLACEMENT, given)


def affinity_chosen(table: Any) -> Affinity | None:
    """Return how tasks are bound by default; None: it is not said. Raises WrongArgument."""
    right = ", ".join(each.value for each in Affinity)
    given = _text(table if isinstance(table, dict) else {}, "affinity", right)
    try:
        return Affinity(given) if given else None
    except ValueError:
        raise WrongArgument(f"broker.toml, [minicluster] affinity = {given!r}: {right} are right") from None


def domains_chosen(table: Any) -> tuple[int, ...]:
    """Return the cores of each NUMA domain of every node, as bits; empty: nodes tell them.

    Raises WrongArgument.
    """
    given = _text(table if isinstance(table, dict) else {}, "domains", "cores like 0-1;2-3")
    try:
        return tuple(idset.decode_bits(each) for each in given.split(";")) if given else ()
    except IdsetError as error:
        raise WrongArgument(f"broker.toml, [minicluster] domains = {given!r}: {error}") from None


def check_sharing(policy: Policy) -> None:
    """Raise WrongArgument where a policy is of no use here, as it has jobs share cores."""
    if needs_sharing(policy):
        raise WrongArgument(
            f"queue policy {policy.name} has jobs share cores, which real Flux does not let them: its job"
            " manager refuses a core that two jobs have, and nothing in it sets a job's CPU quota; the"
            " embedded instance has both, and here another policy is right"
        )


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
    name = _text(table, "queue-policy", "a policy's name")
    return Choice(name.removeprefix(_OURS) or DEFAULT, _table(table, "scheduler-settings"))


def _text(table: Mapping[str, Any], key: str, right: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise WrongArgument(f"broker.toml, [minicluster] {key} = {value!r}: {right} is right")
    return value


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise WrongArgument(f"broker.toml, minicluster.{key}: a table would be right")
    return value


def _value(text: str) -> Any:
    """Return a number or a bool if the text is one, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text
