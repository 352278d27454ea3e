"""Which queue policy real Flux has loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FIRST_COME = {"sched-simple": "fcfs", "sched-fifo": "fcfs"}
_TIMEOUT = 10.0


def of_flux(rpc: Callable[[str, dict[str, Any], float], Mapping[str, Any]]) -> str:
    """Return the policy of the loaded scheduler; empty while none is loaded.

    `rpc` returns the answer to a topic and a payload, within a time in seconds.
    """
    modules = rpc("module.list", {}, _TIMEOUT)["mods"]
    if any(each["name"] == "sched-fluxion-qmanager" for each in modules):
        table = rpc("config.get", {}, _TIMEOUT).get("sched-fluxion-qmanager", {})
        return f"fluxion/{table.get('queue-policy', 'fcfs')}"
    loaded = next((str(each["name"]) for each in modules if "sched" in each["services"]), "")
    if loaded == "minicluster-sched":
        return f"minicluster/{rpc('minicluster-sched.stats-get', {}, _TIMEOUT)['policy']}"
    return _FIRST_COME.get(loaded, loaded)
