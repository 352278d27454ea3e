"""What enforces CPU quotas on a rank, as broker.toml has it: `[minicluster] cpu-quotas`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.errors import ConfigurationError
from minicluster.embedded.execution.rank.enforcement.control_groups import group_name
from minicluster.embedded.execution.rank.enforcement.enforcer import enforcer
from minicluster.embedded.execution.rank.enforcement.records import Way
from minicluster.embedded.ports import QuotaEnforcement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from minicluster.embedded.execution.rank.enforcement.enforcer import Enforcer

AUTO, NONE = "auto", "none"
_WAYS = {
    Way.GROUPS_2: "control groups of version 2",
    Way.GROUPS_1: "control groups of version 1",
    Way.AFFINITY: "affinity",
}


def chosen(config: Mapping[str, Any]) -> str:
    """Return the way that broker.toml names; empty: the best that holds. Raises ConfigurationError."""
    value = config.get("minicluster", {}).get("cpu-quotas", AUTO)
    words = [AUTO, *(way.value for way in Way), NONE]
    if value not in words:
        raise ConfigurationError(
            f"broker.toml, [minicluster] cpu-quotas = {value!r}: it must be one of {', '.join(words)}"
        )
    return "" if value == AUTO else str(value)


def found(
    config: Mapping[str, Any], directory: str, rank: int, unique: str, log: Callable[[int, str], None]
) -> Enforcer:
    """Return what holds on this rank, whose broker has this run directory. Raises ConfigurationError."""
    return enforcer(group_name(directory, rank, unique), chosen(config), log)


def described(config: Mapping[str, Any], holds: Enforcer) -> QuotaEnforcement:
    """Return which way holds, and why others do not."""
    only = chosen(config)
    reasons = {way: holds.reasons.get(way, "") for way in Way}
    if only:
        reasons = {way: reasons[way] or f"broker.toml has cpu-quotas = {only!r}" for way in Way}
    way = holds.way
    return QuotaEnforcement(
        "" if way is None else way.value,
        way is Way.AFFINITY,
        "; ".join(f"{_WAYS[each]} ({reasons[each]})" for each in Way if each is not way),
    )
