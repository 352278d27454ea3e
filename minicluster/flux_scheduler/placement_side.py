"""What the scheduler's module does about cores: placement, domains, and the binding of tasks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from minicluster.flux_scheduler.binding import bindings, floating, with_bindings
from minicluster.flux_scheduler.choice import (
    affinity_chosen,
    domains_chosen,
    placement_chosen,
)
from minicluster.flux_scheduler.topologies import Topologies
from minicluster.flux_scheduler.topology import domains_of
from queue_policies.errors import InvalidDomains
from queue_policies.nodes.domains import checked_domains
from queue_policies.placement.plugins import load
from queue_policies.placement.workers import floats
from queue_policies.plugin_group import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_config.formats.resource_set import Node, R
    from minicluster.flux_scheduler.resource_pool import RanksPool
    from minicluster.flux_scheduler.scheduling import Scheduling, StartedJob
    from queue_policies.placement.protocol import Placement


class PlacementSide:
    """As `[minicluster]` of broker.toml has it. Raises PolicyError or WrongArgument if that is wrong.

    Nodes are asked for their domains; until they answer, and where they do not, all cores are one.
    """

    def __init__(
        self,
        handle: Any,
        log: Any,
        scheduling: Callable[[], Scheduling],
        resources: Callable[[], RanksPool],
        schedule_decision: Callable[[], None],
    ) -> None:
        self._log = log
        self._scheduling = scheduling
        self._resources = resources
        self._schedule_decision = schedule_decision
        table = handle.conf_get("minicluster")
        self._affinity = affinity_chosen(table)
        self._domains = domains_chosen(table)
        self._topologies = Topologies(handle, self._on_topologies, log.debug)
        choice = placement_chosen(table)
        self.placement: Placement | None = None
        self._shown = ""
        if choice is not None:
            self.placement = load(choice.name, choice.settings, log.warning)
            settings = ",".join(f"{key}={shown(value)}" for key, value in choice.settings.items())
            self._shown = ":".join(filter(None, (choice.name, settings)))
            log.info(f"placement {self._shown}")

    def stats(self) -> dict[str, Any]:
        """Return the placement, NAME[:SETTING=VALUE,…], or empty, and the number of domains of all nodes."""
        nodes = self._scheduling().pool.nodes
        domains = sum(len(node.domains) or 1 for node in nodes if node.cores)
        return {"placement": self._shown, "domains": domains}

    def follow_ranks(self) -> None:
        """Ask the ranks that have come about their nodes."""
        if self._domains:
            self._apply()
        self._topologies.follow(self._scheduling().allocations.ranks.up)

    def resources_of(self, started: StartedJob, now: float) -> R:
        """Return the R of a job that starts, with what its shells are to do about the cores of its tasks.

        Where nothing is asked about cores they do as always; so they do for a malleable job.
        """
        job, request, known = started.job, started.request, self._resources()
        end = now + job.limit if job.limit < math.inf else known.expiration
        resources = known.ranks.encode(
            started.allocation, starttime=now, expiration=end, nslots=started.slots
        )
        pool = self._scheduling().pool
        if job.elastic is not None and job.elastic.malleable:
            return resources
        floating_tasks = floats(request.shape, self._affinity)
        if pool.placement is None and request.shape is None:
            return with_bindings(resources, floating(started.allocation)) if floating_tasks else resources
        tables = bindings(pool.workers_of(request, started.allocation), self._topologies.by_rank)
        if floating_tasks:
            tables = {rank: {**table, "floats": True} for rank, table in tables.items()}
        return with_bindings(resources, tables)

    def _on_topologies(self) -> None:
        if not self._domains:
            self._apply()

    def _apply(self) -> None:
        """Tell the pool the domains that are known now. Raises nothing, as that would end the module."""
        try:
            allocations = self._scheduling().allocations
            allocations.know_domains({rank: self._of(node) for rank, node in allocations.ranks.nodes.items()})
            self._schedule_decision()
        except Exception as error:  # noqa: BLE001 - see above
            self._log.error(f"NUMA domains: {type(error).__name__}: {error}")

    def _of(self, node: Node) -> tuple[int, ...]:
        if not self._domains:
            topology = self._topologies.by_rank.get(node.rank)
            return () if topology is None else domains_of(topology, node.cores)
        try:
            return checked_domains(node.host, node.cores, self._domains)
        except InvalidDomains as error:
            self._log.error(f"broker.toml, [minicluster] domains: {error}")
            return ()
