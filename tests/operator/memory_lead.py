"""A model of one MiniCluster's instance, as far as an operator sees it by the lead API.

A broker has joined once its pod runs. A rank that is not drained can get jobs; it has them until they end, or
until its pod goes. With the lead's pod everything is forgotten, unless it was saved.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from broker_config.formats import idset
from broker_config.formats.drain_reasons import SHRINKING
from minicluster.plan import BrokerReport, LeadCommand, RestartReport, SaveProgress
from tests.operator import memory_jobs
from tests.operator.memory_jobs import index_of
from tests.operator.memory_store import Store
from tests.operator.virtual_time import now

RANK_OF_LEAD = 0
REPLACED = 75
BACK_OFF = 10.0
"""Seconds before the Job controller replaces a pod that has failed."""
BEGIN = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


@dataclass(slots=True)
class Lead:
    """The instance. `deaf`: its lead API does not answer. `lost` are ranks whose jobs ended with their pods.

    A save waits for jobs, writes, and ends the lead; one that is `broken` fails instead, one that `hangs`
    never ends. `abrupt` has the times at which a lead ended without a save, `saves` counts the others.
    """

    store: Store
    deaf: bool = False
    busy: set[int] = field(default_factory=set)
    drained: dict[int, str] = field(default_factory=dict)
    since: dict[int, float] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)
    orders: list[LeadCommand] = field(default_factory=list)
    saving: SaveProgress | None = None
    broken: bool = False
    hangs: bool = False
    saves: int = 0
    abrupt: list[float] = field(default_factory=list)
    copies: dict[int, tuple[str, str]] = field(default_factory=dict)
    ended: float = -BACK_OFF
    _pods: dict[int, str] = field(default_factory=dict)
    _saved: str = ""

    def refresh(self) -> None:
        """Take in which pods run; the jobs of the others are lost."""
        pods = {
            index_of(pod): str(pod["metadata"]["uid"])
            for pod in self.store.find("Pod")
            if pod["status"]["phase"] == "Running"
        }
        if pods.get(RANK_OF_LEAD) != self._pods.get(RANK_OF_LEAD):
            if RANK_OF_LEAD in self._pods and self._pods[RANK_OF_LEAD] != self._saved:
                self.abrupt.append(now())
            self.saving = None
            self.busy.clear()
            self.drained.clear()
            self.since.clear()
        gone = {rank for rank in self.busy if pods.get(rank) != self._pods.get(rank)}
        self.lost += sorted(gone)
        self.busy -= gone
        self._pods = pods

    def work(self, rank: int) -> None:
        """Have a job start on a rank, if it may."""
        self.refresh()
        free = rank in self._pods and rank not in self.drained and not self._is_saving
        if free and RANK_OF_LEAD in self._pods:
            self.busy.add(rank)

    def finish(self, rank: int) -> None:
        """Have the jobs on a rank end."""
        self.busy.discard(rank)

    def order(self, orders: tuple[LeadCommand, ...]) -> RestartReport | None:
        """Run the operator's commands, unless the lead API is deaf; return the answer about jobs."""
        self.refresh()
        answer = None
        if self.deaf or RANK_OF_LEAD not in self._pods:
            return None
        for order in orders:
            self.orders.append(order)
            if order.action == "save" and not self._is_saving:
                self._enter("waiting")
            elif order.action == "restart":
                answer = self._restart(order)
            for rank in idset.decode(order.ranks):
                if order.action == "drain" and rank not in self.drained:
                    self.drained[rank] = order.reason
                    self.since[rank] = now()
                elif order.action == "undrain":
                    self.drained.pop(rank, None)
                    self.copies.pop(rank, None)
        return answer

    def advance(self) -> None:
        """Take the next step of a save; after the last one the lead has ended."""
        self.refresh()
        if self.saving is None or self.hangs:
            return
        if self.saving.phase == "waiting" and not self.busy:
            self._enter("writing")
        elif self.saving.phase == "writing" and self.broken:
            self._enter("failed", "no space left on device")
        elif self.saving.phase == "writing":
            self._save()

    @property
    def may_be_replaced(self) -> bool:
        """Whether the Job controller makes another pod for a lead that has ended."""
        return now() - self.ended >= BACK_OFF

    @property
    def _is_saving(self) -> bool:
        return self.saving is not None and self.saving.phase != "failed"

    def _enter(self, phase: Literal["waiting", "writing", "failed"], error: str = "") -> None:
        at = BEGIN + timedelta(seconds=now())
        self.saving = SaveProgress(phase, at.isoformat(), len(self.busy), error, at)

    def _save(self) -> None:
        """Write the dump, and end with a termination message about it."""
        pod = next(each for each in self.store.find("Pod") if each["metadata"]["uid"] == self._pods[0])
        about, job = pod["metadata"], pod["metadata"]["labels"][memory_jobs.LABEL_JOB]
        self._saved, self.ended = self._pods[RANK_OF_LEAD], now()
        self.saves += 1
        words = json.dumps({"saved": "/archive/mc.tgz", "bytes": 100 + self.saves, "jobs": 2})
        memory_jobs.end_pod(self.store, about["namespace"], job, RANK_OF_LEAD, REPLACED, words)
        self.refresh()

    def _restart(self, order: LeadCommand) -> RestartReport:
        """Start the jobs of ranks again elsewhere; return also those that were started before."""
        ranks = idset.decode(order.ranks)
        for rank in self.busy & set(ranks):
            self.copies[rank] = (f"ƒold{rank}", f"ƒnew{rank}")
        self.busy -= set(ranks)
        return RestartReport(order, tuple(self.copies[rank] for rank in ranks if rank in self.copies))

    def report(self) -> BrokerReport:
        """Return the lead's report of now."""
        self.refresh()
        ours = (rank for rank, reason in self.drained.items() if reason.startswith(SHRINKING))
        return BrokerReport(
            online=idset.encode(self._pods),
            drained=idset.encode(self.drained),
            shrunk=idset.encode(ours),
            busy=idset.encode(self.busy),
            running=True,
            saving=self.saving,
        )
