"""What a node pool and its machines mean: one phase, with the reason in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from burst.joining.workers import LABEL_BURST, LABEL_OWNER, ends_of
from burst.lifecycle.records import ResourceKey, ResourcePhase, ResourceReport
from burst.providers.gke.node_pool import KIND
from burst.providers.google.instances import billed
from burst.providers.node_pools.pools import pool_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from burst.providers.google.instances import ListedInstance
    from burst.providers.provider import WantedBurst

_PHASES = {
    "PROVISIONING": ResourcePhase.COMING,
    "RECONCILING": ResourcePhase.COMING,
    "RUNNING": ResourcePhase.READY,
    "RUNNING_WITH_ERROR": ResourcePhase.BROKEN,
    "ERROR": ResourcePhase.BROKEN,
    "STOPPING": ResourcePhase.GOING,
}
CONDITIONS = {
    "GCE_STOCKOUT": "its zone has no more such machines now",
    "GCE_QUOTA_EXCEEDED": "the project may not have more: ask Google for a higher quota",
    "GKE_SERVICE_ACCOUNT_DELETED": "somebody has deleted the service account of GKE in this project",
    "NODE_SERVICE_ACCOUNT_MISSING_PERMISSIONS": "the nodes' service account lacks a right:"
    " right would be roles/container.defaultNodeServiceAccount",
    "CLOUD_KMS_KEY_ERROR": "the key of the nodes' disks cannot be used",
}
"""What codes of conditions mean to an administrator."""


class FoundPool(NamedTuple):
    """A node pool as GKE has it."""

    name: str
    status: str
    """In the API's words."""
    size: int
    labels: Mapping[str, str]
    """Those that its machines get."""
    problems: tuple[tuple[str, str], ...] = ()
    """Code and message of each condition."""
    message: str = ""
    created: float = 0.0
    """In seconds since 1970; 0 where GKE does not report it."""

    @property
    def owner(self) -> tuple[str, str]:
        """The label of its burst and its installation; empty where it has none."""
        return self.labels.get(LABEL_BURST, ""), self.labels.get(LABEL_OWNER, "")

    def is_of(self, wanted: WantedBurst) -> bool:
        """Return whether it is that of a burst."""
        return self.owner == (wanted.label, wanted.installation)


def read(found: Any) -> FoundPool:
    """Return a node pool as GKE's answer has it."""
    return FoundPool(
        name=found.name,
        status=found.status.name,
        size=found.initial_node_count,
        labels=dict(found.config.resource_labels),
        problems=tuple((each.code.name, each.message) for each in found.conditions),
        message=found.status_message,
    )


def key_of(label: str, nodes: int) -> ResourceKey:
    """Return the key of a burst's pool."""
    return pool_key(KIND, label, nodes)


def report(
    wanted: WantedBurst,
    pool: FoundPool | None,
    machines: Sequence[ListedInstance],
    named: Callable[[str, int], ResourceKey] = key_of,
) -> ResourceReport:
    """Return the status of a burst's pool, as it is `named`. Machines that have outlived it are to go."""
    key = named(wanted.label, wanted.nodes)
    if pool is not None and not pool.is_of(wanted):
        pool = None
    return _status(key, (wanted.label, wanted.installation), pool, machines)


def listed(
    installation: str,
    pools: Iterable[FoundPool],
    machines: Iterable[ListedInstance],
    named: Callable[[str, int], ResourceKey] = key_of,
) -> list[ResourceReport]:
    """Return all pools of an installation, and machines that have none any more."""
    left: dict[str, list[ListedInstance]] = {}
    for one in machines:
        if label := one.labels.get(LABEL_BURST, ""):
            left.setdefault(label, []).append(one)
    found = []
    for pool in pools:
        label, owner = pool.owner
        if label and owner == installation:
            key = named(label, pool.size)._replace(name=pool.name)
            found.append(_status(key, pool.owner, pool, left.pop(label, ())))
    for label, those in left.items():
        found.append(_status(named(label, len(those)), (label, installation), None, those))
    return found


def _status(
    key: ResourceKey, owner: tuple[str, str], pool: FoundPool | None, machines: Sequence[ListedInstance]
) -> ResourceReport:
    if pool is None and not machines:
        return ResourceReport(key, ResourcePhase.ABSENT, nodes=0)
    phase, reason = _left(machines) if pool is None else _phase(key.nodes, pool, machines)
    since = min((each.created for each in machines), default=pool.created if pool is not None else 0.0)
    until = ends_of(pool.labels if pool is not None else machines[0].labels)
    return ResourceReport(key, phase, reason, *owner, since, billed(machines), until)


def _left(machines: Sequence[ListedInstance]) -> tuple[ResourcePhase, str]:
    """Return what machines without a pool are: to be deleted by themselves, unless they are about to go."""
    phase = ResourcePhase.GOING if all(each.is_going for each in machines) else ResourcePhase.BROKEN
    return phase, f"it is gone, and {len(machines)} of its machines are still there"


def _phase(nodes: int, pool: FoundPool, machines: Sequence[ListedInstance]) -> tuple[ResourcePhase, str]:
    phase = _PHASES.get(pool.status, ResourcePhase.COMING)
    if phase is ResourcePhase.COMING:
        return phase, pool.message or f"{len(machines)} of {nodes} machines are there"
    if phase is ResourcePhase.BROKEN:
        problems = [_in_words(*each) for each in pool.problems]
        return phase, f"{pool.status}: {'; '.join(problems) or pool.message or 'GKE gives no reason'}"
    return phase, ""


def _in_words(code: str, message: str) -> str:
    words = f"{CONDITIONS[code]}: " if code in CONDITIONS else ""
    return f"{words}{message} ({code})"
