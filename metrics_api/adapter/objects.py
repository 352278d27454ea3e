"""The observed objects: MiniClusters, their broker pods and their Services. Watches update them. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.kube_client.objects import Name
from minicluster.kube_client.resources import MINICLUSTERS, PODS, SERVICES
from minicluster.lead_client import broker_pods
from minicluster.lead_client.broker_pods import Lead
from minicluster.lead_client.lead_host import has_lead
from minicluster.plan.constants import LABEL_INSTANCE, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from minicluster.kube_client.objects import Object

AT_REST = frozenset({Phase.INVALID, Phase.SUSPENDED, Phase.SUCCEEDED, Phase.FAILED})
"""Phases in which a MiniCluster has no queue, so that it has no samples."""
ENDED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class ObservedCluster:
    """A MiniCluster."""

    name: Name
    uid: str
    labels: Mapping[str, str]
    phase: str
    has_lead: bool = True
    """Whether it has a lead broker, and so a queue; with a `leadBroker` those are another MiniCluster's."""

    @property
    def is_at_rest(self) -> bool:
        """Whether it has no queue, by its document or by the phase in its status."""
        return not self.has_lead or self.phase in AT_REST


@dataclass(frozen=True, slots=True)
class Pod:
    """A broker pod."""

    name: Name
    uid: str
    cluster: Name
    labels: Mapping[str, str]
    index: int
    phase: str
    address: str
    order: tuple[bool, str, int]
    """Of several pods of one index, the one with the greatest order counts."""

    @property
    def counts(self) -> bool:
        """Whether the autoscaler counts it: it has not ended, and is not being deleted."""
        return self.order[0] and self.phase not in ENDED


@dataclass(frozen=True, slots=True)
class Service:
    """A Service of a MiniCluster."""

    name: Name
    cluster: Name
    labels: Mapping[str, str]


@dataclass(slots=True)
class Objects:
    """The objects as last received from the watches."""

    clusters: dict[Name, ObservedCluster] = field(default_factory=dict)
    pods: dict[Name, Pod] = field(default_factory=dict)
    services: dict[Name, Service] = field(default_factory=dict)
    _pods_of: dict[Name, set[Name]] = field(default_factory=dict)

    def see(self, kind: str, item: Object) -> Iterable[Name]:
        """Add or update an object."""
        name = _name(item)
        self._drop(kind, name)
        labels = item["metadata"].get("labels") or {}
        if kind == MINICLUSTERS.kind:
            phase = (item.get("status") or {}).get("phase") or ""
            self.clusters[name] = ObservedCluster(
                name, item["metadata"]["uid"], labels, phase, has_lead(item)
            )
        elif kind == SERVICES.kind and LABEL_INSTANCE in labels:
            self.services[name] = Service(name, Name(name.namespace, labels[LABEL_INSTANCE]), labels)
        elif kind == PODS.kind and broker_pods.is_broker(item):
            pod = _pod(name, item)
            if pod.index >= 0:
                self.pods[name] = pod
                self._pods_of.setdefault(pod.cluster, set()).add(name)
        return ()

    def forget(self, kind: str, item: Object) -> Iterable[Name]:
        """Remove an object that is gone."""
        self._drop(kind, _name(item))
        return ()

    def replace_all(
        self,
        kind: str,
        items: Iterable[Object],
        version: int,  # noqa: ARG002  # a watch delivers in order
        namespace: str = "",
    ) -> Iterable[Name]:
        """Replace all objects of a kind (in a namespace) by a list: others are gone."""
        known = self._of_kind(kind)
        for name in [name for name in known if namespace in {"", name.namespace}]:
            self._drop(kind, name)
        for item in items:
            self.see(kind, item)
        return ()

    def in_namespace(self, namespace: str) -> list[ObservedCluster]:
        """Return the MiniClusters of a namespace, by name."""
        return sorted(
            (each for each in self.clusters.values() if each.name.namespace == namespace),
            key=lambda each: each.name,
        )

    def lead(self, name: Name) -> Lead | None:
        """Return the lead broker of a MiniCluster, if it runs and is not being deleted.

        Any user can give a pod these labels. The lead API's certificate proves that it is this MiniCluster's.
        """
        cluster = self.clusters.get(name)
        pods = [each for each in self._own_pods(name) if each.index == 0]
        if cluster is None or not cluster.has_lead or not pods:
            return None
        pod = max(pods, key=lambda each: each.order)
        if not pod.order[0] or pod.phase != "Running" or not pod.address:
            return None
        return Lead(cluster.uid, pod.uid, pod.address)

    def brokers(self, name: Name) -> list[Pod]:
        """Return the broker pods of a MiniCluster that count, one for each index, by index."""
        best: dict[int, Pod] = {}
        for pod in self._own_pods(name):
            if pod.counts and (pod.index not in best or pod.order > best[pod.index].order):
                best[pod.index] = pod
        return [best[index] for index in sorted(best)]

    def _own_pods(self, name: Name) -> Iterator[Pod]:
        return (self.pods[each] for each in self._pods_of.get(name, ()))

    def _of_kind(self, kind: str) -> dict[Name, ObservedCluster] | dict[Name, Pod] | dict[Name, Service]:
        if kind == PODS.kind:
            return self.pods
        return self.services if kind == SERVICES.kind else self.clusters

    def _drop(self, kind: str, name: Name) -> None:
        if kind != PODS.kind:
            self._of_kind(kind).pop(name, None)
            return
        pod = self.pods.pop(name, None)
        if pod is not None:
            own = self._pods_of[pod.cluster]
            own.discard(name)
            if not own:
                del self._pods_of[pod.cluster]


def _pod(name: Name, item: Object) -> Pod:
    report = broker_pods.pod_report(item)
    labels = item["metadata"].get("labels") or {}
    return Pod(
        name=name,
        uid=item["metadata"]["uid"],
        cluster=Name(name.namespace, labels.get(LABEL_INSTANCE, "")),
        labels=labels,
        index=report.index,
        phase=report.phase,
        address=report.address,
        order=broker_pods.pod_order(item),
    )


def _name(item: Object) -> Name:
    return Name(item["metadata"]["namespace"], item["metadata"]["name"])
