"""Connections to leads: opened when they are first needed, and anew after one was lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from broker_config.formats import resource_set
from broker_config.formats.burst_names import DEFAULT_QUEUE
from burst.errors import BurstError, ClusterGone, LeadAway
from burst.leads.instance_lead import InstanceLead, instance_id
from burst.leads.layout import LeadLayout, of_resource_set
from burst.leads.stand_ins import StandIns
from burst.leads.waiting_jobs import WaitingJobs
from minicluster.backends.errors import BackendError
from minicluster.instance.errors import InstanceError
from minicluster.plan import Site, broker_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping

    from burst.clusters.records import BurstingCluster
    from burst.leads.payer_keys import PayerKeys
    from burst.lifecycle.isolation import StandIn
    from burst.lifecycle.records import SlotView
    from minicluster.instance.port import Instance

T = TypeVar("T")
_log = logging.getLogger(__name__)


class OpenLead(NamedTuple):
    """A connection, and what is known of its instance for as long as it lasts."""

    instance: Instance
    identity: str
    """The id of the instance: another one does not know its jobs."""
    layout: LeadLayout
    lead: InstanceLead
    waiting: WaitingJobs
    stand_ins: StandIns


class LeadConnections:
    """The connections of one process, one a MiniCluster. Methods block; any thread may call them."""

    def __init__(self, payers: PayerKeys | None = None) -> None:
        self._payers = payers
        self._clusters: Mapping[str, BurstingCluster] = {}
        self._open: dict[str, OpenLead] = {}
        self._lock = threading.Lock()
        self._connecting: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        """One that is slow to answer does not delay the others."""

    def serve(self, clusters: Iterable[BurstingCluster]) -> None:
        """Set which MiniClusters there are. Those that are gone are not connected any longer."""
        found = {each.uid: each for each in clusters}
        with self._lock:
            self._clusters = found
            gone = [self._open.pop(uid) for uid in self._open.keys() - found.keys()]
            for uid in self._connecting.keys() - found.keys():
                del self._connecting[uid]
        for each in gone:
            each.instance.close()

    def cluster(self, uid: str) -> BurstingCluster:
        """Return a MiniCluster. Raises ClusterGone."""
        found = self.find(uid)
        if found is None:
            raise ClusterGone("its MiniCluster is gone")
        return found

    def find(self, uid: str) -> BurstingCluster | None:
        """Return a MiniCluster, None if it is gone."""
        return self._clusters.get(uid)

    def opened(self, uid: str) -> OpenLead:
        """Return the connection to a lead. Raises LeadAway."""
        with self._lock:
            connecting = self._connecting[uid]
        with connecting:
            found = self._open.get(uid)
            if found is not None:
                return found
            made = _connected(self.cluster(uid), self._payers)
            with self._lock:
                is_there = uid in self._clusters
                if is_there:
                    self._open[uid] = made
        if not is_there:
            made.instance.close()
            self.cluster(uid)
        return made

    def lost(self, uid: str) -> None:
        """Connect anew the next time: a call over the connection failed."""
        with self._lock:
            found = self._open.pop(uid, None)
        if found is not None:
            found.instance.close()

    def ask(self, uid: str, work: Callable[[OpenLead], T]) -> T:
        """Return what a function returns of a lead. Raises LeadAway."""
        try:
            with _as_away():
                return work(self.opened(uid))
        except LeadAway:
            self.lost(uid)
            raise

    def close(self) -> None:
        """Hang up everywhere."""
        self.serve(())

    def lead(self, uid: str) -> ConnectedLead:
        """Return a lead that connects when it is asked for something."""
        return ConnectedLead(self, uid)

    def stand_ins(self, uid: str) -> ConnectedStandIns:
        """Return the same for what isolated bursts ask."""
        return ConnectedStandIns(self, uid)


class ConnectedLead:
    """See `burst.leads.lead.BurstLead`."""

    def __init__(self, connections: LeadConnections, uid: str) -> None:
        self._connections = connections
        self._uid = uid

    async def view(self, slot: str, label: str) -> SlotView:
        """Return what it reports of a slot."""
        return await self._asked(lambda lead: lead.view(slot, label))

    async def probe(self, slot: str, label: str, ranks: Iterable[int]) -> None:
        """Undrain ranks, and try a job on each that was not tried yet."""
        await self._asked(lambda lead: lead.probe(slot, label, ranks))

    async def move(self, jobs: Iterable[int], queue: str) -> Mapping[int, str]:
        """Move jobs into a queue."""
        return await self._asked(lambda lead: lead.move(jobs, queue))

    async def start_queue(self, queue: str) -> None:
        """Have jobs of a queue start."""
        await self._asked(lambda lead: lead.start_queue(queue))

    async def close(self, slot: str, nodes: int, reason: str) -> None:
        """Stop a slot's queue, and drain so many of its ranks."""
        await self._asked(lambda lead: lead.close(slot, nodes, reason))

    async def conclude(self, slot: str, jobs: Iterable[int], since: float) -> Mapping[int, str]:
        """Return what became of jobs; those that were lost with their nodes begin anew."""
        return await self._asked(lambda lead: lead.conclude(slot, jobs, since))

    async def restart(self, jobs: Iterable[int]) -> None:
        """Have running jobs begin anew on the MiniCluster's own nodes."""
        await self._asked(lambda lead: lead.restart(jobs))

    async def _asked(self, call: Callable[[InstanceLead], Coroutine[Any, Any, T]]) -> T:
        return await _asked(self._connections, self._uid, lambda opened: call(opened.lead))


class ConnectedStandIns:
    """See `burst.leads.lead.StandInLead`."""

    def __init__(self, connections: LeadConnections, uid: str) -> None:
        self._connections = connections
        self._uid = uid

    async def identity(self) -> str:
        """Return what tells the lead's instance from one that takes its place."""
        return await self._asked(lambda lead: lead.identity())

    async def stand_in(self, label: str, job: int) -> None:
        """Have a stand-in take a pending job's place."""
        await self._asked(lambda lead: lead.stand_in(label, job))

    async def standing(self, label: str) -> StandIn | None:
        """Return the latest stand-in of a burst."""
        return await self._asked(lambda lead: lead.standing(label))

    async def write(self, label: str, stream: str, offset: int, data: bytes) -> int:
        """Append to a stream what begins at a byte; return what it has then."""
        return await self._asked(lambda lead: lead.write(label, stream, offset, data))

    async def finish(self, label: str, status: int, digest: str, note: str) -> None:
        """Let the stand-in end."""
        await self._asked(lambda lead: lead.finish(label, status, digest, note))

    async def jobspec(self, job: int) -> Mapping[str, Any]:
        """Return a job's jobspec as it was submitted."""
        return await self._asked(lambda lead: lead.jobspec(job))

    async def begin_anew(self, standing: int, job: int, reason: str) -> str:
        """Have a job begin anew in the place of its stand-in."""
        return await self._asked(lambda lead: lead.begin_anew(standing, job, reason))

    async def _asked(self, call: Callable[[StandIns], Coroutine[Any, Any, T]]) -> T:
        return await _asked(self._connections, self._uid, lambda opened: call(opened.stand_ins))


async def _asked(
    connections: LeadConnections, uid: str, call: Callable[[OpenLead], Coroutine[Any, Any, T]]
) -> T:
    opened = await asyncio.to_thread(connections.opened, uid)
    try:
        with _as_away():
            return await call(opened)
    except LeadAway:
        await asyncio.to_thread(connections.lost, uid)
        raise


@contextlib.contextmanager
def _as_away() -> Iterator[None]:
    """Have whatever fails with one lead mean that it is away: the service looks after others as well."""
    try:
        yield
    except BurstError:
        raise
    except (InstanceError, BackendError) as error:
        raise LeadAway(str(error)) from error
    except Exception as error:
        _log.exception("what a lead answers cannot be used")
        raise LeadAway(f"its answer cannot be used: {type(error).__name__}: {error}") from error


def _connected(cluster: BurstingCluster, payers: PayerKeys | None) -> OpenLead:
    with _as_away():
        instance = cluster.connect()
        try:
            return _opened(cluster, instance, payers)
        except BaseException:
            instance.close()
            raise


def _opened(cluster: BurstingCluster, instance: Instance, payers: PayerKeys | None) -> OpenLead:
    found = resource_set.read(instance.links.rpc("resource.sched-status", {})["all"])
    slots = [each.name for each in broker_settings(cluster.document, Site()).slots]
    layout = of_resource_set(found, slots)
    home = DEFAULT_QUEUE if slots else ""  # without slots the only queue has no name
    lead = InstanceLead(instance, layout.slots, home)
    waiting = WaitingJobs(instance, layout, home, payers)
    stand_ins = StandIns(instance, home)
    return OpenLead(instance, instance_id(instance), layout, lead, waiting, stand_ins)
