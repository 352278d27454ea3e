"""A model of one MiniCluster's instance, as far as an operator sees it through the lead's door.

A broker has joined once its pod runs. A rank that is not drained can get jobs; it has them until they end, or
until its pod goes. With the lead's pod everything is forgotten.
"""

from dataclasses import dataclass, field

from broker_config import idset
from minicluster.plan import BrokerReport, Order
from minicluster.plan.shrinking import SHRINKING
from tests.operator.memory_jobs import index_of
from tests.operator.memory_store import Store
from tests.operator.virtual_time import now

RANK_OF_LEAD = 0


@dataclass(slots=True)
class Lead:
    """The instance. `deaf`: its door does not answer. `lost` are ranks whose jobs went with their pods."""

    store: Store
    deaf: bool = False
    busy: set[int] = field(default_factory=set)
    drained: dict[int, str] = field(default_factory=dict)
    since: dict[int, float] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)
    told: list[Order] = field(default_factory=list)
    _pods: dict[int, str] = field(default_factory=dict)

    def look(self) -> None:
        """Take in which pods run: what went with the others is lost."""
        pods = {
            index_of(pod): str(pod["metadata"]["uid"])
            for pod in self.store.find("Pod")
            if pod["status"]["phase"] == "Running"
        }
        if pods.get(RANK_OF_LEAD) != self._pods.get(RANK_OF_LEAD):
            self.busy.clear()
            self.drained.clear()
            self.since.clear()
        gone = {rank for rank in self.busy if pods.get(rank) != self._pods.get(rank)}
        self.lost += sorted(gone)
        self.busy -= gone
        self._pods = pods

    def work(self, rank: int) -> None:
        """Have a job start on a rank, if it may."""
        self.look()
        if rank in self._pods and RANK_OF_LEAD in self._pods and rank not in self.drained:
            self.busy.add(rank)

    def finish(self, rank: int) -> None:
        """Have the jobs on a rank end."""
        self.busy.discard(rank)

    def order(self, orders: tuple[Order, ...]) -> None:
        """Do as the operator says, unless the door does not answer."""
        self.look()
        if self.deaf or RANK_OF_LEAD not in self._pods:
            return
        for order in orders:
            self.told.append(order)
            for rank in idset.decode(order.ranks):
                if order.action == "drain" and rank not in self.drained:
                    self.drained[rank] = order.reason
                    self.since[rank] = now()
                elif order.action == "undrain":
                    self.drained.pop(rank, None)

    def report(self) -> BrokerReport:
        """Return what the lead says now."""
        self.look()
        ours = (rank for rank, reason in self.drained.items() if reason.startswith(SHRINKING))
        return BrokerReport(
            online=idset.encode(self._pods),
            drained=idset.encode(self.drained),
            shrunk=idset.encode(ours),
            busy=idset.encode(self.busy),
            running=True,
        )
