"""Queues that keep the jobs of bursts from ordinary ones: in broker.toml, and which of them are started.

Flux starts jobs in the order of a queue. One that waits for nodes that are not there would hold up all behind
it: so jobs for bursts have queues of their own, which stay stopped until somebody starts them.
Source: flux-config-queues(5), flux-config-policy(5), flux-config-ingest(5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config import own_toml
from broker_config.formats.burst_names import BURST, DEFAULT_QUEUE, LOCAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_config.burst_slots import HostSlot
    from broker_config.settings import BrokerSettings

PLUGIN_FILE = "minicluster-burst.py"
"""The frobnicator's plugin that routes jobs at submission, beside broker.toml."""


def own_slots(settings: BrokerSettings) -> tuple[HostSlot, ...]:
    """Return the slots of the instance that has its lead broker here; none, if another's is joined."""
    return settings.slots if settings.bursting.lead is None else ()


def tables(settings: BrokerSettings) -> dict[str, Any]:
    """Return the tables [policy], [queues] and, where bursts are managed, [ingest] and [minicluster]."""
    slots = own_slots(settings)
    if not slots:
        return {}
    requires = {DEFAULT_QUEUE: LOCAL, BURST: BURST, **{each.name: each.name for each in slots}}
    found: dict[str, Any] = {
        "policy": {"jobspec": {"defaults": {"system": {"queue": DEFAULT_QUEUE}}}},
        "queues": {queue: {"requires": [name]} for queue, name in requires.items()},
    }
    if settings.bursting.managed:
        # Each queue's constraint is written last, for the queue that the job has by then.
        plugins = ["defaults", _plugin(settings), "constraints"]
        # What fits nowhere is refused: in a queue that is stopped it would wait for ever.
        validator = {"plugins": ["jobspec", "feasibility"]}
        found["ingest"] = {"frobnicator": {"plugins": plugins}, "validator": validator}
        found["minicluster"] = {"bursting": {"slots": [each.name for each in slots]}}
    return found


def kept_local(settings: BrokerSettings, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's own tables, to be merged, with no queue of theirs on the ranks of slots by accident.

    A queue that requires `burst` or a slot by name is left as it is. Where bursts are managed, their routing
    stays among a frobnicator's own plugins.
    """
    slots = own_slots(settings)
    found = dict(own)
    if slots and "queues" in own:
        of_bursts = {BURST, *(each.name for each in slots)}
        found["queues"] = {name: _kept(name, table, of_bursts) for name, table in own["queues"].items()}
    if slots and settings.bursting.managed:
        found |= _routed(own, _plugin(settings))
    return found


def started(settings: BrokerSettings) -> tuple[str, ...]:
    """Return the queues that are started with the instance: not the waiting room, nor those of slots."""
    closed = {DEFAULT_QUEUE, BURST, *(each.name for each in own_slots(settings))}
    own = own_toml.own(settings.broker_toml).tables.get("queues", {})
    return (DEFAULT_QUEUE, *(name for name in own if name not in closed))


def _kept(queue: str, table: Any, of_bursts: set[str]) -> Any:
    requires = table.get("requires", []) if isinstance(table, dict) else None
    if not isinstance(requires, list):
        return table  # Flux tells what is wrong with it
    chosen = {LOCAL, *of_bursts}
    if not chosen.isdisjoint(each for each in requires if isinstance(each, str)):
        return table
    return {**table, "requires": [*requires, queue if queue in of_bursts else LOCAL]}


def _routed(own: Mapping[str, Any], plugin: str) -> dict[str, Any]:
    frobnicator = own.get("ingest", {}).get("frobnicator", {})
    plugins = frobnicator.get("plugins")
    if not isinstance(plugins, list) or plugin in plugins:
        return {}
    end = plugins.index("constraints") if "constraints" in plugins else len(plugins)
    changed = {**frobnicator, "plugins": [*plugins[:end], plugin, *plugins[end:]]}
    return {"ingest": {**own["ingest"], "frobnicator": changed}}


def _plugin(settings: BrokerSettings) -> str:
    return f"{settings.config_dir}/{PLUGIN_FILE}"
