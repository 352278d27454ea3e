"""What the watches have told, kept small: the one source of every reconcile. No I/O.

Objects arrive late, twice or out of order: an older version never replaces a newer one. Each change returns
the names of the MiniClusters that it may concern.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from broker_config import idset
from minicluster.kubernetes import observation
from minicluster.kubernetes.records import BrokerPod, Creating, Lead, Name, Place, name_of
from minicluster.kubernetes.resources import JOBS, PODS
from minicluster.plan.constants import LABEL_INSTANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from minicluster.kubernetes.observation import Dependent
    from minicluster.kubernetes.records import Complaint, Heard
    from minicluster.plan import (
        Disruption,
        Dump,
        JobReport,
        ObservedObject,
        PodReport,
        Restarted,
    )
    from minicluster.plan.fields import Object

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
    """MiniClusters, their objects, Jobs and pods, as last told.

    `strangers` are objects that stand in a MiniCluster's way and belong to somebody else. No watch tells of
    them (they need not have our labels), so they were read. `held` says of an object which of its fields the
    operator held after it last applied it. `heard` is what the lead brokers say, or why they say nothing,
    `complaints` what kubelets say of a pod that does not come up. `dumps` are what leads have left whose pods
    are gone, by their Job's UID, `disrupted` followers' pods that were taken away and are gone, by rank.
    `answers` are the last ones to orders that are answered with jobs, by action. `deletions` is the version
    of the last deletion that was told, by kind.
    """

    clusters: dict[Name, Object] = field(default_factory=dict)
    dependents: dict[Place, Dependent] = field(default_factory=dict)
    jobs: dict[Place, JobReport] = field(default_factory=dict)
    pods: dict[Place, BrokerPod] = field(default_factory=dict)
    strangers: dict[Name, dict[Place, ObservedObject]] = field(default_factory=dict)
    held: dict[Place, str] = field(default_factory=dict)
    heard: dict[Name, Heard] = field(default_factory=dict)
    complaints: dict[Name, Complaint] = field(default_factory=dict)
    dumps: dict[Name, tuple[str, Dump]] = field(default_factory=dict)
    disrupted: dict[Name, dict[int, BrokerPod]] = field(default_factory=dict)
    answers: dict[Name, dict[str, Restarted]] = field(default_factory=dict)
    deletions: dict[str, int] = field(default_factory=dict)
    _by_instance: defaultdict[Name, set[Place]] = field(default_factory=lambda: defaultdict(set))

    def job_of(self, name: Name) -> JobReport | None:
        """Return what the Job of a MiniCluster's name says; it may be somebody else's."""
        return self.jobs.get(Place(JOBS.kind, name.namespace, name.name))

    def see_cluster(self, item: Object) -> Name | None:
        """Take in a MiniCluster; return its name unless this is old news."""
        name = name_of(item)
        known = self.clusters.get(name)
        if known is not None and observation.version(known) >= observation.version(item):
            return None
        self.clusters[name] = _trimmed(item)
        return name

    def forget_cluster(self, item: Object) -> Name | None:
        """Take in that a MiniCluster is gone; return its name unless a newer one has taken its place."""
        name = name_of(item)
        known = self.clusters.get(name)
        if known is None or known["metadata"]["uid"] != item["metadata"]["uid"]:
            return None
        del self.clusters[name]
        self.strangers.pop(name, None)
        for known_of in (self.heard, self.complaints, self.dumps, self.disrupted, self.answers):
            known_of.pop(name, None)
        return name

    def see(self, kind: str, item: Object) -> set[Name]:
        """Take in an object of a MiniCluster."""
        place = _place(kind, item)
        if kind == PODS.kind and observation.is_broker(item):
            return self._see_pod(place, item)
        found = observation.dependent(kind, item)
        known = self.dependents.get(place)
        if known is not None and known.version >= found.version:
            return set()
        report = observation.job_report(item) if kind == JOBS.kind else None
        is_news = known is None or replace(known, version=found.version) != found
        is_news = is_news or self.jobs.get(place) != report
        before = self._keep(place, found)
        if report is not None:
            self.jobs[place] = report
        return before | self._concerned(place, found.instance) if is_news else set()

    def applied(self, item: Object, answer: Object) -> bool:
        """Take in an object that was just applied; `answer` is its metadata as the server had it then.

        Return False where a watch may have told of its deletion before the answer came: it is not taken in.
        """
        place = _place(item["kind"], answer)
        found = observation.dependent(item["kind"], answer)
        known = self.dependents.get(place)
        if known is None and found.version < self.deletions.get(place.kind, 0):
            return False
        if known is not None and known.version > found.version:
            return True
        report = self.jobs.get(place) if known is not None and known.uid == found.uid else None
        self._keep(place, found)
        if item["kind"] == JOBS.kind:
            told = observation.job_report(item)
            if "suspend" not in item["spec"]:  # it is Kueue's, which holds back every new Job
                told = replace(told, suspended=report.suspended if report else True)
            self.jobs[place] = (
                replace(report, parallelism=told.parallelism, suspended=told.suspended) if report else told
            )
        self.held[place] = found.held
        return True

    def forget(self, kind: str, item: Object) -> set[Name]:
        """Take in that an object is gone."""
        place = _place(kind, item)
        gone = observation.version(item)
        self._see_deletion(kind, gone)
        pod, found = self.pods.get(place), self.dependents.get(place)
        concerned = {name for name, strangers in self.strangers.items() if place in strangers}
        if pod is not None and pod.version <= gone:
            concerned |= self._drop(place, pod.instance)
        if found is not None and found.version <= gone:
            concerned |= self._drop(place, found.instance)
        return concerned

    def replace_all(self, kind: str, items: Iterable[Object], version: int, namespace: str = "") -> set[Name]:
        """Take in a whole list of a kind (in a namespace): older ones that are not in it are gone."""
        self._see_deletion(kind, version)
        concerned: set[Name] = set()
        present: set[Place] = set()
        for item in items:
            present.add(_place(kind, item))
            concerned |= self.see(kind, item)
        for known in (self.pods, self.dependents):
            gone = [
                (place, entry.instance)
                for place, entry in known.items()
                if place.kind == kind
                and namespace in {"", place.namespace}
                and place not in present
                and entry.version <= version
            ]
            for place, instance in gone:
                concerned |= self._drop(place, instance)
        return concerned

    def meet_stranger(self, name: Name, place: Place, stranger: ObservedObject) -> None:
        """Take in that an object of somebody else stands in a MiniCluster's way."""
        self.strangers.setdefault(name, {})[place] = stranger

    def lose_stranger(self, name: Name, place: Place) -> None:
        """Take in that such an object is out of the way."""
        met = self.strangers.get(name, {})
        met.pop(place, None)
        if not met:
            self.strangers.pop(name, None)

    def objects(self, name: Name) -> Iterator[Dependent]:
        """Return the objects that are labelled as this MiniCluster's."""
        places = self._by_instance.get(name, ())
        return (self.dependents[place] for place in places if place in self.dependents)

    def reports(self, name: Name, job_uid: str) -> tuple[PodReport, ...]:
        """Return what the broker pods of a Job say, one an index."""
        best = self._broker_pods(name, job_uid)
        told = self.complaints.get(name)
        return tuple(_complaining(best[index], told) for index in sorted(best))

    def dump(self, name: Name, job_uid: str) -> Dump | None:
        """Return the newest dump that the leads of a Job have left."""
        found = [kept for uid, kept in (self.dumps.get(name, ("", None)),) if kept and uid == job_uid]
        for place in self._by_instance.get(name, ()):
            pod = self.pods.get(place)
            if pod is not None and pod.job_uid == job_uid and pod.report.dump is not None:
                found.append(pod.report.dump)
        return max(found, key=lambda each: each.time, default=None)

    def disruptions(self, name: Name, job_uid: str) -> tuple[Disruption, ...]:
        """Return which followers of a Job were taken away: see `Observed`."""
        gone = {rank: pod for rank, pod in self.disrupted.get(name, {}).items() if pod.job_uid == job_uid}
        there = {rank: pod for rank, pod in self._broker_pods(name, job_uid).items() if pod.disrupted}
        found = (gone | there).items()
        return tuple(pod.disrupted for rank, pod in sorted(found) if rank and pod.disrupted)

    def lead(self, name: Name) -> Lead | None:
        """Return the lead broker of a MiniCluster, where it runs and is to stay."""
        uid, pods = self._own_pods(name)
        pod = pods.get(0)
        if pod is None or not pod.stays or not pod.report.address or pod.report.phase != "Running":
            return None
        return Lead(uid, pod.uid, pod.report.address)

    def creating(self, name: Name) -> Creating | None:
        """Return the first broker pod of a MiniCluster that does not come up yet."""
        _, pods = self._own_pods(name)
        for index in sorted(pods):
            if pods[index].creating and pods[index].stays:
                return Creating(pods[index].name, pods[index].uid)
        return None

    def complain(self, name: Name, complaint: Complaint | None) -> bool:
        """Take in what a kubelet complains of; return whether that is news."""
        if name not in self.clusters or complaint == self.complaints.get(name):
            return False
        if complaint is None:
            del self.complaints[name]
        else:
            self.complaints[name] = complaint
        return True

    def hear(self, name: Name, heard: Heard | None) -> bool:
        """Take in what a lead says; return whether that is news."""
        if name not in self.clusters or heard == self.heard.get(name):
            return False
        if heard is None:
            del self.heard[name]
        else:
            self.heard[name] = heard
            self._see_return(name)
        return True

    def _see_return(self, name: Name) -> None:
        """Forget that pods were taken away in whose places others have joined."""
        gone, heard = self.disrupted.get(name), self.heard.get(name)
        if not gone or heard is None or heard.report is None:
            return
        _, pods = self._own_pods(name)
        for rank in gone.keys() & set(idset.decode(heard.report.online)):
            if rank in pods and pods[rank].report.phase == "Running":
                del gone[rank]

    def _own_pods(self, name: Name) -> tuple[str, dict[int, BrokerPod]]:
        """Return a MiniCluster's UID, and its broker pods."""
        cluster = self.clusters.get(name)
        job = self.dependents.get(Place(JOBS.kind, name.namespace, name.name))
        uid = cluster["metadata"]["uid"] if cluster else ""
        return uid, self._broker_pods(name, job.uid) if job and job.owner_uid == uid else {}

    def _broker_pods(self, name: Name, job_uid: str) -> dict[int, BrokerPod]:
        """Return the pods of a Job that count, one an index."""
        best: dict[int, BrokerPod] = {}
        for place in self._by_instance.get(name, ()):
            pod = self.pods.get(place)
            if pod is None or pod.job_uid != job_uid or pod.report.index < 0:
                continue
            other = best.get(pod.report.index)
            if other is None or pod.order > other.order:
                best[pod.report.index] = pod
        return best

    def _see_pod(self, place: Place, item: Object) -> set[Name]:
        version = observation.version(item)
        known = self.pods.get(place)
        if known is not None and known.version >= version:
            return set()
        pod = BrokerPod(
            instance=(item["metadata"].get("labels") or {}).get(LABEL_INSTANCE, ""),
            job_uid=observation.controller_uid(item),
            order=observation.pod_order(item),
            version=version,
            report=observation.pod_report(item),
            name=item["metadata"]["name"],
            uid=item["metadata"]["uid"],
            creating=observation.is_creating(item),
            disrupted=observation.disrupted(item),
        )
        if known is not None and known.instance != pod.instance:
            self._drop(place, known.instance)
        self.pods[place] = pod
        self._by_instance[Name(place.namespace, pod.instance)].add(place)
        self._see_return(Name(place.namespace, pod.instance))
        if known is not None and replace(known, version=pod.version, order=pod.order) == pod:
            return set() if known.stays == pod.stays else self._concerned(place, pod.instance)
        return self._concerned(place, pod.instance)

    def _keep(self, place: Place, found: Dependent) -> set[Name]:
        """Keep an object; return whom it concerned so far, where it is another one or another's now."""
        known = self.dependents.get(place)
        moved = known is not None and (known.uid, known.instance) != (found.uid, found.instance)
        before = self._drop(place, known.instance) if known is not None and moved else set[Name]()
        self.dependents[place] = found
        self._by_instance[Name(place.namespace, found.instance)].add(place)
        return before

    def _drop(self, place: Place, instance: str) -> set[Name]:
        pod = self.pods.pop(place, None)
        if pod is not None and pod.report.dump is not None:
            self._keep_dump(Name(place.namespace, instance), pod.job_uid, pod.report.dump)
        if pod is not None and pod.disrupted and Name(place.namespace, instance) in self.clusters:
            self.disrupted.setdefault(Name(place.namespace, instance), {})[pod.report.index] = pod
        self.dependents.pop(place, None)
        self.jobs.pop(place, None)
        self.held.pop(place, None)
        name = Name(place.namespace, instance)
        self._by_instance[name].discard(place)
        if not self._by_instance[name]:
            del self._by_instance[name]
        return self._concerned(place, instance)

    def _see_deletion(self, kind: str, version: int) -> None:
        self.deletions[kind] = max(version, self.deletions.get(kind, 0))

    def _keep_dump(self, name: Name, job_uid: str, dump: Dump) -> None:
        """Remember what a lead has left whose pod is gone: it may not have been told yet."""
        uid, known = self.dumps.get(name, ("", None))
        if name in self.clusters and (known is None or uid != job_uid or known.time < dump.time):
            self.dumps[name] = job_uid, dump

    def _concerned(self, place: Place, instance: str) -> set[Name]:
        waiting = {name for name, strangers in self.strangers.items() if place in strangers}
        return waiting | {Name(place.namespace, instance)}


def _place(kind: str, item: Object) -> Place:
    return Place(kind, item["metadata"]["namespace"], item["metadata"]["name"])


def _complaining(pod: BrokerPod, told: Complaint | None) -> PodReport:
    """Return what a pod says, or where it says nothing, what its kubelet does."""
    if told is None or told.pod != pod.uid or not pod.creating or pod.report.reason:
        return pod.report
    return replace(pod.report, reason=told.reason, message=told.message)


def _trimmed(item: Object) -> Object:
    metadata = item["metadata"]
    return {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "metadata": {key: metadata[key] for key in _METADATA if key in metadata},
        "spec": item.get("spec"),
        "status": item.get("status") or {},
    }
