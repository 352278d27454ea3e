"""Routing of a jobspec (RFC 25): unchanged, into the waiting room, or refused.

A job is *burstable* by `attributes.system.burstable`: true, 1, or the name of a provider. What can never
run on the MiniCluster's own nodes, not even when all of them are there, is routed into the queue `burst`.
There it waits for the burst service; else the engine would refuse it, as it does what no slot can run
either. All other jobs keep their queue: the service moves those that wait too long.

The queues of slots are closed: what is submitted there by hand would run on nodes that were made for
others. Jobs of the service that try a slot's ranks have the attribute `minicluster.probe`. Moving a pending
job by hand, as by `flux update JOB queue=burst-0`, is not seen here: real Flux's job manager does that
without its ingest, so that nothing of ours can refuse it. The embedded instance does the same. The service
has to reckon with such jobs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import idset, jobspec
from broker_config.formats.burst_names import BURST, BURSTABLE, LOCAL
from minicluster.burst_routing.errors import BurstableError, BurstingTableError, SlotQueueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias  # novm - for type checkers alone

    from broker_config.formats.jobspec import RequestedResources
    from broker_config.formats.resource_set import Node

PROBE = "minicluster.probe"
"""Attribute (`attributes.system.minicluster.probe`) of a job of the service that tries a slot's rank."""
_PROVIDER = re.compile(r"[A-Za-z0-9.-]+")

Shape: TypeAlias = "tuple[int, int]"
"""How many cores and GPUs a node has."""


class Routing(NamedTuple):
    """What a jobspec is compared with."""

    slots: Mapping[str, Mapping[Shape, int]]
    """How many nodes of each shape each slot has; its name is that of its queue."""
    home: str | None
    """The queue of jobs that name none."""
    local: Mapping[Shape, int]
    """How many nodes of each shape the MiniCluster has at most, without those of bursts."""


def configured(config: Mapping[str, Any], nodes: Iterable[Node]) -> Routing | None:
    """Return what broker.toml and R say; None where bursts are not managed, so that nothing is routed.

    Raises BurstingTableError.
    """
    table = config.get("minicluster", {}).get("bursting")
    if table is None:
        return None
    slots = table.get("slots") if isinstance(table, dict) else None
    if not isinstance(slots, list) or not all(isinstance(name, str) for name in slots):
        raise BurstingTableError(
            'broker.toml, [minicluster.bursting]: slots = ["burst-0"] is right, their names'
        )
    defaults = config.get("policy", {}).get("jobspec", {}).get("defaults", {}).get("system", {})
    counted: dict[str, dict[Shape, int]] = {name: {} for name in (LOCAL, *slots)}
    for node in nodes:
        shape = (idset.size_of(node.cores), idset.size_of(node.gpus))
        for name in node.properties & counted.keys():
            counted[name][shape] = counted[name].get(shape, 0) + 1
    local = counted.pop(LOCAL)
    return Routing(counted, defaults.get("queue"), local)


def route(spec: Any, routing: Routing) -> str | None:
    """Return the queue into which a submitted job goes in place of its own; None: it keeps what it has.

    A job with constraints of its own keeps its queue, also if it is burstable and fits nowhere. Flux lets
    nobody move it later (`job appears to have non-queue constraints`), so it could never leave the waiting
    room.

    Raises BurstableError and SlotQueueError, for the submitter.
    """
    system = jobspec.system_of(spec)
    burstable = _is_burstable(system)
    queue = system.get("queue")
    if isinstance(queue, str) and queue in routing.slots and not _is_the_services(spec, system):
        raise SlotQueueError(
            f"queue {queue} is for bursts: submit with --setattr={BURSTABLE}, the job is moved there when its"
            " nodes are up"
        )
    if not burstable or queue not in (None, routing.home) or system.get("constraints") is not None:
        return None
    asked = jobspec.read(spec).resources
    if fits(asked, routing.local) or not any(fits(asked, slot) for slot in routing.slots.values()):
        return None
    return BURST


def fits(asked: RequestedResources, local: Mapping[Shape, int]) -> bool:
    """Return whether a request can be satisfied once all these nodes are free, as the schedulers count.

    It is `queue_policies.nodes.feasibility.infeasible`, which Flux's older Pythons do not run.
    """
    slots = {shape: _slots_on(shape, asked) for shape in local}
    if not asked.nodes and not asked.exclusive:
        return sum(slots[shape] * count for shape, count in local.items()) >= asked.slots
    nodes, each = (asked.nodes, asked.slots) if asked.nodes else (asked.slots, 1)
    return sum(count for shape, count in local.items() if slots[shape] >= each) >= nodes


def _slots_on(shape: Shape, asked: RequestedResources) -> int:
    cores, gpus = shape
    slots = cores // max(asked.cores, 1)  # what is no number is refused by who validates the jobspec
    return min(slots, gpus // asked.gpus) if asked.gpus else slots


def _is_burstable(system: Mapping[str, Any]) -> bool:
    """Return what the attribute says; without it a job is not. Raises BurstableError."""
    given = system.get(BURSTABLE, False)
    if isinstance(given, str) and _PROVIDER.fullmatch(given):
        return True
    if isinstance(given, int) and given in (0, 1):  # `flux submit --setattr=burstable` gives the number 1
        return bool(given)
    raise BurstableError(f"{BURSTABLE}: {given!r}: true, false or the name of a provider is right")


def _is_the_services(spec: Any, system: Mapping[str, Any]) -> bool:
    """Return whether a job tries a rank, or is one more worker of a job that runs there already."""
    group, _, name = PROBE.partition(".")
    table = system.get(group)
    tries = isinstance(table, dict) and bool(table.get(name))
    return tries or jobspec.companion_of(spec) is not None
