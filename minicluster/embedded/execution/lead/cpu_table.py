"""Which CPU each core of R is, by rank.

Core k of a rank is the k-th CPU that its broker may use. Several brokers on one machine may have the same
CPUs. If R then has as many cores as there are CPUs, the brokers divide them, in the order of their ranks.
With more cores, some would be one CPU. With fewer, others than the brokers use these CPUs: a pod without CPUs
of its own has its CPU time on any of them. In both cases the CPUs are not the brokers' own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import hostlist, idset
from broker_config.formats.idset import ids_of
from queue_policies.errors import InvalidDomains
from queue_policies.nodes.domains import checked_domains

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_config.formats.resource_set import Node
    from minicluster.embedded.execution.broker_cpus import BrokerCpus


class RankCpus(NamedTuple):
    """The CPUs of a rank."""

    by_core: Mapping[int, int]
    """The CPU of each core of R; empty where that is not known, or R has more cores than there are CPUs."""
    why_not_own: str = ""
    """Why its tasks are not bound to cores unless a user asks for it; empty: they are."""


_UNKNOWN = RankCpus({}, "the CPUs of its broker are not known")


class CpuTable:
    """The CPUs of all ranks, as far as their brokers have joined. Of one that has left they are kept."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._joined: dict[int, BrokerCpus] = {}
        self._known: dict[int, RankCpus] = {}

    def join(self, rank: int, cpus: BrokerCpus | None) -> dict[int, tuple[int, ...]]:
        """Take over a broker's CPUs.

        Returns by rank the domains (bits of cores) of all ranks whose cores may be others now.
        """
        if rank >= len(self._nodes):
            return {}
        before = self._joined.pop(rank, None)
        if cpus is not None:
            self._joined[rank] = cpus
        machines = {each.machine for each in (before, cpus) if each is not None}
        touched = {rank, *(other for other, its in self._joined.items() if its.machine in machines)}
        for each in touched:
            self._known.pop(each, None)
        return {each: self._domains(each) for each in sorted(touched)}

    def of(self, rank: int) -> RankCpus:
        """Return the CPUs of a rank."""
        known = self._known.get(rank)
        if known is None:
            known = self._known[rank] = self._found(rank)
        return known

    def _found(self, rank: int) -> RankCpus:
        mine = self._joined.get(rank)
        if mine is None:
            return _UNKNOWN
        cores = ids_of(self._nodes[rank].cores)
        users = [other for other, its in sorted(self._joined.items()) if _overlap(mine, its)]
        counts = {each: self._nodes[each].cores.bit_count() for each in users}
        if sum(counts.values()) == len(mine.cpus) and all(self._joined[r].cpus == mine.cpus for r in users):
            first = sum(count for other, count in counts.items() if other < rank)
            return RankCpus(dict(zip(cores, mine.cpus[first : first + len(cores)], strict=True)))
        fit = cores[-1] < len(mine.cpus)
        by_core = {core: mine.cpus[core] for core in cores} if fit else {}
        return RankCpus(by_core, self._difference(users, sum(counts.values()), mine))

    def _difference(self, users: Sequence[int], cores: int, mine: BrokerCpus) -> str:
        hosts = hostlist.encode(self._nodes[each].host for each in users)
        have = "has" if len(users) == 1 else "have"
        return f"{hosts} {have} {cores} cores in R, and may use the CPUs {idset.encode(mine.cpus)}"

    def _domains(self, rank: int) -> tuple[int, ...]:
        """Return the domains of a rank's cores; (): there is one, or its CPUs are not its own."""
        cpus, mine = self.of(rank), self._joined.get(rank)
        if cpus.why_not_own or mine is None:
            return ()
        domains = [
            sum(1 << core for core, cpu in cpus.by_core.items() if cpu in domain) for domain in mine.domains
        ]
        node = self._nodes[rank]
        try:
            return checked_domains(node.host, node.cores, domains)
        except InvalidDomains:
            return ()


def _overlap(mine: BrokerCpus, other: BrokerCpus) -> bool:
    return mine.machine == other.machine and not set(mine.cpus).isdisjoint(other.cpus)
