"""What the watches have reported, kept small: the one source of every reconcile. No I/O.

Objects arrive late, twice or out of order: an older version never replaces a newer one. Each change returns
the names of the MiniClusters that it may concern.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from minicluster.document import stored_status
from minicluster.kube_client import objects
from minicluster.kube_client.objects import Name, ObjectReference, name_of
from minicluster.kube_client.resources import JOBS, PODS
from minicluster.lead_client import broker_pods
from minicluster.lead_client.lead_host import has_lead
from minicluster.operator import observation, shared_flux_files
from minicluster.operator.dependents import Dependents, applied_job
from minicluster.operator.index import Conflicts, Index, LeadAnswers
from minicluster.operator.own_pods import OwnPods
from minicluster.operator.pod_index import PodIndex
from minicluster.operator.records import BrokerPod, OwnJob
from minicluster.plan.constants import LABEL_INSTANCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.operator.observation import Dependent
    from minicluster.operator.records import LeadReport, PodWarning, Unreachable
    from minicluster.plan.objects.fields import Object

# What of a MiniCluster's metadata a document has; the rest is the API server's bookkeeping.
_METADATA = (
    "name",
    "namespace",
    "uid",
    "generation",
    "resourceVersion",
    "labels",
    "annotations",
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
)


@dataclass(slots=True)
class Cache:
    """MiniClusters and what belongs to them, as last reported."""

    clusters: Index[Name, Object] = field(default_factory=Index)
    dependents: Dependents = field(default_factory=Dependents)
    pods: PodIndex = field(default_factory=PodIndex)
    conflicts: Conflicts = field(default_factory=Conflicts)
    leads: Index[Name, LeadReport | Unreachable] = field(default_factory=Index)
    """What the lead brokers last reported, or why they report nothing."""
    answers: LeadAnswers = field(default_factory=LeadAnswers)
    _deletions: dict[str, int] = field(default_factory=dict)
    """The resourceVersion of the last deletion that was reported, by kind."""

    def see_cluster(self, item: Object) -> Name | None:
        """Take in a MiniCluster; return its name unless this is old news."""
        name = name_of(item)
        known = self.clusters.get(name)
        if known is not None and objects.version(known) >= objects.version(item):
            return None
        self.clusters.put(name, _interned(_trimmed(item)))
        return name

    def forget_cluster(self, item: Object) -> Name | None:
        """Take in that a MiniCluster is gone; return its name unless a newer one of that name is known."""
        name = name_of(item)
        known = self.clusters.get(name)
        if known is None or known["metadata"]["uid"] != item["metadata"]["uid"]:
            return None
        for index in (self.clusters, self.conflicts, self.leads, self.answers):
            index.discard(name)
        self.pods.forget(name)
        return name

    def see(self, kind: str, item: Object) -> set[Name]:
        """Take in an object of a MiniCluster."""
        reference = _reference(kind, item)
        if kind == PODS.kind and broker_pods.is_broker(item):
            return self._see_pod(reference, item)
        found = observation.dependent(kind, item)
        known = self.dependents.get(reference)
        if known is not None and known.version >= found.version:
            return set()
        report = observation.job_report(item) if kind == JOBS.kind else None
        is_news = known is None or replace(known, version=found.version) != found
        is_news = is_news or self.dependents.jobs.get(reference) != report
        before = self._keep(reference, found)
        if report is not None:
            self.dependents.jobs.put(reference, report)
        return before | self._concerned(reference, found.instance) if is_news else set()

    def applied(self, item: Object, answer: Object) -> bool:
        """Take in an object that was just applied; `answer` is its metadata in the server's response.

        Return False, and do not take it in, where a watch may have reported its deletion meanwhile.
        """
        reference = _reference(item["kind"], answer)
        found = observation.dependent(item["kind"], answer)
        known = self.dependents.get(reference)
        if known is None and found.version < self._deletions.get(reference.kind, 0):
            return False
        if known is not None and known.version > found.version:
            return True
        is_the_same = known is not None and known.uid == found.uid
        report = self.dependents.jobs.get(reference) if is_the_same else None
        self._keep(reference, found)
        if item["kind"] == JOBS.kind:
            self.dependents.jobs.put(reference, applied_job(item, report))
        self.dependents.owned_fields.put(reference, found.owned_fields)
        return True

    def forget(self, kind: str, item: Object) -> set[Name]:
        """Take in that an object is gone."""
        reference = _reference(kind, item)
        gone = objects.version(item)
        self._deletions[kind] = max(gone, self._deletions.get(kind, 0))
        pod, found = self.pods.get(reference), self.dependents.get(reference)
        concerned = self.conflicts.at(reference)
        if pod is not None and pod.version <= gone:
            concerned |= self._drop(reference, pod.instance)
        if found is not None and found.version <= gone:
            concerned |= self._drop(reference, found.instance)
        return concerned

    def replace_all(self, kind: str, items: Iterable[Object], version: int, namespace: str = "") -> set[Name]:
        """Take in the list of all objects of a kind (in a namespace); older ones that it lacks are gone."""
        self._deletions[kind] = max(version, self._deletions.get(kind, 0))
        concerned: set[Name] = set()
        present: set[ObjectReference] = set()
        for item in items:
            present.add(_reference(kind, item))
            concerned |= self.see(kind, item)
        for known in (self.pods, self.dependents):
            gone = [
                (reference, entry.instance)
                for reference, entry in known.items()
                if reference.kind == kind
                and namespace in {"", reference.namespace}
                and reference not in present
                and entry.version <= version
            ]
            for reference, instance in gone:
                concerned |= self._drop(reference, instance)
        return concerned

    def own_pods(self, name: Name) -> OwnPods:
        """Return the broker pods of a MiniCluster's own Job."""
        cluster = self.clusters.get(name)
        job = self.dependents.get(ObjectReference(JOBS.kind, name.namespace, name.name))
        uid = cluster["metadata"]["uid"] if cluster else ""
        if job is None or job.owner_uid != uid:
            return OwnPods(uid, {})
        own, report = OwnJob(name.name, job.uid), self.dependents.job_of(name)
        leads = cluster is not None and has_lead(cluster)
        return OwnPods(uid, self.pods.of_job(name, job.uid), own, report, leads)

    def warn(self, name: Name, warning: PodWarning | None) -> bool:
        """Take in a warning Event of a pod or Job, None: there is none; return whether that is news."""
        return name in self.clusters and self.pods.warnings.put(name, warning)

    def report(self, name: Name, report: LeadReport | Unreachable | None) -> bool:
        """Take in what a lead reports, None: nothing is known; return whether that is news."""
        if name not in self.clusters or not self.leads.put(name, report):
            return False
        self._see_return(name)
        return True

    def _see_return(self, name: Name) -> None:
        """Forget the disrupted pods of ranks with which other brokers have joined."""
        if self.pods.disrupted.get(name):
            self.pods.see_joined(name, self.leads.get(name), self.own_pods(name).by_index)

    def _see_pod(self, reference: ObjectReference, item: Object) -> set[Name]:
        version = objects.version(item)
        known = self.pods.get(reference)
        if known is not None and known.version >= version:
            return set()
        pod = BrokerPod(
            instance=(item["metadata"].get("labels") or {}).get(LABEL_INSTANCE, ""),
            job_uid=objects.controller_uid(item),
            order=broker_pods.pod_order(item),
            version=version,
            report=broker_pods.pod_report(item),
            name=item["metadata"]["name"],
            uid=item["metadata"]["uid"],
            creating=broker_pods.is_creating(item),
            disrupted=broker_pods.disrupted(item),
        )
        if known is not None and known.instance != pod.instance:
            self._drop(reference, known.instance)
        self.pods.add(reference, pod)
        self._see_return(Name(reference.namespace, pod.instance))
        if known is not None and replace(known, version=pod.version, order=pod.order) == pod:
            return set() if known.stays == pod.stays else self._concerned(reference, pod.instance)
        return self._concerned(reference, pod.instance)

    def _keep(self, reference: ObjectReference, found: Dependent) -> set[Name]:
        """Keep an object; return which MiniClusters it concerned before, if its UID or label has changed."""
        known = self.dependents.get(reference)
        moved = known is not None and (known.uid, known.instance) != (found.uid, found.instance)
        before = self._drop(reference, known.instance) if known is not None and moved else set[Name]()
        self.dependents.add(reference, found)
        return before

    def _drop(self, reference: ObjectReference, instance: str) -> set[Name]:
        name = Name(reference.namespace, instance)
        self.pods.drop(reference, name, remembered=name in self.clusters)
        self.dependents.drop(reference, name)
        return self._concerned(reference, instance)

    def _concerned(self, reference: ObjectReference, instance: str) -> set[Name]:
        """Return the MiniClusters that an object concerns: what they share, all of its namespace."""
        found = self.conflicts.at(reference) | {Name(reference.namespace, instance)}
        if reference == shared_flux_files.reference(reference.namespace):
            found |= {name for name in self.clusters if name.namespace == reference.namespace}
        return found


def _reference(kind: str, item: Object) -> ObjectReference:
    return ObjectReference(kind, item["metadata"]["namespace"], item["metadata"]["name"])


def _trimmed(item: Object) -> Object:
    """Return a MiniCluster with what this operator reads of it.

    A patch of its status is made from this: fields that a later operator has written stay as they are.
    """
    metadata = item["metadata"]
    return {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "metadata": {key: metadata[key] for key in _METADATA if key in metadata},
        "spec": item.get("spec"),
        "status": stored_status.known_fields(item.get("status") or {}),
    }


def _interned(value: Any) -> Any:
    """Return a JSON value whose texts are there once, however many MiniClusters have them.

    Most are names of fields and defaults. Parsed one by one, each document has its own of each.
    """
    if isinstance(value, dict):
        return {sys.intern(key): _interned(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_interned(each) for each in value]
    return sys.intern(value) if isinstance(value, str) else value
