"""The broker pods of all MiniClusters, and what is kept of pods that are gone. No I/O."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from broker_config.formats import idset
from minicluster.kube_client.objects import Name
from minicluster.operator.index import DisruptedPods, Dumps, Index
from minicluster.operator.records import BrokerPod, LeadReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.kube_client.objects import ObjectReference
    from minicluster.operator.records import PodWarning, Unreachable
    from minicluster.plan import Disruption, Dump, PodReport


class PodIndex(Index["ObjectReference", BrokerPod]):
    """The broker pods by reference."""

    __slots__ = ("_by_instance", "disrupted", "dumps", "warnings")

    def __init__(self) -> None:
        super().__init__()
        self.warnings: Index[Name, PodWarning] = Index()
        """The last warning Events of pods that do not start, or of Jobs that cannot make theirs."""
        self.dumps = Dumps()
        """The newest dumps of leads whose pods are gone."""
        self.disrupted = DisruptedPods()
        """The disrupted pods that are gone."""
        self._by_instance: defaultdict[Name, set[ObjectReference]] = defaultdict(set)

    def add(self, reference: ObjectReference, pod: BrokerPod) -> None:
        """Take in a pod, as it is now."""
        self.put(reference, pod)
        self._by_instance[Name(reference.namespace, pod.instance)].add(reference)

    def drop(self, reference: ObjectReference, name: Name, *, remembered: bool) -> None:
        """Take in that a pod is gone; `remembered`: keep its dump and its disruption for later reconciles."""
        pod = self.get(reference)
        if pod is None:
            return
        self.discard(reference)
        self._by_instance[name].discard(reference)
        if not self._by_instance[name]:
            del self._by_instance[name]
        if remembered and pod.report.dump is not None:
            self.dumps.add(name, pod.job_uid, pod.report.dump)
        if remembered and pod.disrupted:
            self.disrupted.add(name, pod)

    def forget(self, name: Name) -> None:
        """Forget what is kept of the pods of a MiniCluster that is gone."""
        for index in (self.warnings, self.dumps, self.disrupted):
            index.discard(name)

    def of_job(self, name: Name, job_uid: str) -> dict[int, BrokerPod]:
        """Return the pods of a Job by index; of several with one index the last in `order`."""
        best: dict[int, BrokerPod] = {}
        for reference in self._by_instance.get(name, ()):
            pod = self[reference]
            if pod.job_uid != job_uid or pod.report.index < 0:
                continue
            other = best.get(pod.report.index)
            if other is None or pod.order > other.order:
                best[pod.report.index] = pod
        return best

    def reports(self, name: Name, job_uid: str) -> tuple[PodReport, ...]:
        """Return the reports of a Job's broker pods, one for each index."""
        best = self.of_job(name, job_uid)
        warning = self.warnings.get(name)
        return tuple(_explained(best[index], warning) for index in sorted(best))

    def refusal(self, name: Name, job_uid: str) -> str:
        """Return why a Job could not make pods; empty where that is not known."""
        warning = self.warnings.get(name)
        return warning.message if warning is not None and warning.uid == job_uid else ""

    def dump(self, name: Name, job_uid: str) -> Dump | None:
        """Return the newest dump of a Job's lead pods."""
        found = [kept for uid, kept in (self.dumps.get(name, ("", None)),) if kept and uid == job_uid]
        for reference in self._by_instance.get(name, ()):
            pod = self[reference]
            if pod.job_uid == job_uid and pod.report.dump is not None:
                found.append(pod.report.dump)
        return max(found, key=lambda each: each.time, default=None)

    def disruptions(self, name: Name, job_uid: str) -> tuple[Disruption, ...]:
        """Return which followers of a Job Kubernetes took away: see `Observed`."""
        gone = {rank: pod for rank, pod in self.disrupted.get(name, {}).items() if pod.job_uid == job_uid}
        there = {rank: pod for rank, pod in self.of_job(name, job_uid).items() if pod.disrupted}
        found = (gone | there).items()
        return tuple(pod.disrupted for rank, pod in sorted(found) if rank and pod.disrupted)

    def see_joined(
        self, name: Name, lead: LeadReport | Unreachable | None, pods: Mapping[int, BrokerPod]
    ) -> None:
        """Forget the disrupted pods of ranks whose new pods run, and have joined by the lead's report."""
        if isinstance(lead, LeadReport):
            online = self.disrupted[name].keys() & set(idset.decode(lead.report.online))
            running = [rank for rank in online if rank in pods and pods[rank].report.phase == "Running"]
            self.disrupted.replaced(name, running)


def _explained(pod: BrokerPod, warning: PodWarning | None) -> PodReport:
    """Return what a pod reports, with the reason and message of its warning where it has none itself."""
    if warning is None or warning.uid != pod.uid or not pod.creating or pod.report.reason:
        return pod.report
    return replace(pod.report, reason=warning.reason, message=warning.message)
