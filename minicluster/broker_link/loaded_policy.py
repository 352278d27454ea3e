"""Which queue policy real Flux has loaded, and whether another scheduler chooses nodes and cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FIRST_COME = {"sched-simple": "fcfs", "sched-fifo": "fcfs"}
_TIMEOUT = 10.0
_FLUXION, _MATCHER, _OURS = "sched-fluxion-qmanager", "sched-fluxion-resource", "minicluster-sched"
_DEFAULT_MATCH = "first"
"""Fluxion's match policy where its configuration names none (flux-config-sched-fluxion-resource(5))."""


def of_flux(rpc: Callable[[str, dict[str, Any], float], Mapping[str, Any]]) -> str:
    """Return the policy of the loaded scheduler; empty while none is loaded.

    A placement of ours is behind it. Where broker.toml has one, and another scheduler is loaded, the text
    says what decides.
    `rpc` returns the answer to a topic and a payload, within a time in seconds.
    """
    modules = rpc("module.list", {}, _TIMEOUT)["mods"]
    if any(each["name"] == _FLUXION for each in modules):
        config = rpc("config.get", {}, _TIMEOUT)
        policy = f"fluxion/{config.get(_FLUXION, {}).get('queue-policy', 'fcfs')}"
        match = config.get(_MATCHER, {}).get("match-policy", _DEFAULT_MATCH)
        return policy + _ignored(f"Fluxion's match policy {match}", config)
    loaded = next((str(each["name"]) for each in modules if "sched" in each["services"]), "")
    if loaded == _OURS:
        stats = rpc("minicluster-sched.stats-get", {}, _TIMEOUT)
        placement = stats.get("placement")
        return f"minicluster/{stats['policy']}{f', placement {placement}' if placement else ''}"
    if not loaded:
        return ""
    return _FIRST_COME.get(loaded, loaded) + _ignored(loaded, rpc("config.get", {}, _TIMEOUT))


def _ignored(decides: str, config: Mapping[str, Any]) -> str:
    """Return that a placement of ours is not used; empty: there is none."""
    table = config.get("minicluster", {})
    ours = ", ".join(f"{key} {table[key]}" for key in ("placement", "affinity") if table.get(key))
    return f" ({decides} chooses nodes and cores, not {ours})" if ours else ""
