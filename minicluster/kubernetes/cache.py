"""What the watches have told, kept small: the one source of every reconcile. No I/O.

Objects arrive late, twice or out of order: an older version never replaces a newer one. Each change returns
the names of the MiniClusters that it may concern.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from minicluster.kubernetes import observation
from minicluster.kubernetes.resources import JOBS, PODS
from minicluster.plan import ObjectKey
from minicluster.plan.constants import LABEL_INSTANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from minicluster.kubernetes.observation import Dependent
    from minicluster.plan import JobReport, ObservedObject, PodReport
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
)


class Name(NamedTuple):
    """Which MiniCluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Place(NamedTuple):
    """Where an object is: its kind, namespace and name."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> ObjectKey:
        """Return the key within the namespace."""
        return ObjectKey(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class BrokerPod:
    """A broker pod: whose Job made it, whether it counts before another of its index, what it says."""

    instance: str
    job_uid: str
    order: tuple[bool, str, int]
    version: int
    report: PodReport


@dataclass(slots=True)
class Cache:
    """MiniClusters, their objects, Jobs and pods, as last told.

    `strangers` are objects that stand in a MiniCluster's way and belong to somebody else. No watch tells of
    them (they need not have our labels), so they were read. `held` says of an object which of its fields the
    operator held after it last applied it.
    """

    clusters: dict[Name, Object] = field(default_factory=dict)
    dependents: dict[Place, Dependent] = field(default_factory=dict)
    jobs: dict[Place, JobReport] = field(default_factory=dict)
    pods: dict[Place, BrokerPod] = field(default_factory=dict)
    strangers: dict[Name, dict[Place, ObservedObject]] = field(default_factory=dict)
    held: dict[Place, str] = field(default_factory=dict)
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

    def applied(self, item: Object, answer: Object) -> Dependent:
        """Take in an object that was just applied; `answer` is its metadata as the server has it now."""
        place = _place(item["kind"], answer)
        found = observation.dependent(item["kind"], answer)
        known = self.dependents.get(place)
        if known is not None and known.version > found.version:
            return known
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
        return found

    def forget(self, kind: str, item: Object) -> set[Name]:
        """Take in that an object is gone."""
        place = _place(kind, item)
        gone = observation.version(item)
        pod, found = self.pods.get(place), self.dependents.get(place)
        concerned = {name for name, strangers in self.strangers.items() if place in strangers}
        if pod is not None and pod.version <= gone:
            concerned |= self._drop(place, pod.instance)
        if found is not None and found.version <= gone:
            concerned |= self._drop(place, found.instance)
        return concerned

    def replace_all(self, kind: str, items: Iterable[Object], version: int, namespace: str = "") -> set[Name]:
        """Take in a whole list of a kind (in a namespace): older ones that are not in it are gone."""
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
        best: dict[int, BrokerPod] = {}
        for place in self._by_instance.get(name, ()):
            pod = self.pods.get(place)
            if pod is None or pod.job_uid != job_uid or pod.report.index < 0:
                continue
            other = best.get(pod.report.index)
            if other is None or pod.order > other.order:
                best[pod.report.index] = pod
        return tuple(best[index].report for index in sorted(best))

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
        )
        if known is not None and known.instance != pod.instance:
            self._drop(place, known.instance)
        self.pods[place] = pod
        self._by_instance[Name(place.namespace, pod.instance)].add(place)
        if known is not None and (known.report, known.order[0]) == (pod.report, pod.order[0]):
            return set()
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
        self.pods.pop(place, None)
        self.dependents.pop(place, None)
        self.jobs.pop(place, None)
        self.held.pop(place, None)
        name = Name(place.namespace, instance)
        self._by_instance[name].discard(place)
        if not self._by_instance[name]:
            del self._by_instance[name]
        return self._concerned(place, instance)

    def _concerned(self, place: Place, instance: str) -> set[Name]:
        waiting = {name for name, strangers in self.strangers.items() if place in strangers}
        return waiting | {Name(place.namespace, instance)}


def name_of(item: Object) -> Name:
    """Return which MiniCluster an object is."""
    return Name(item["metadata"]["namespace"], item["metadata"]["name"])


def _place(kind: str, item: Object) -> Place:
    return Place(kind, item["metadata"]["namespace"], item["metadata"]["name"])


def _trimmed(item: Object) -> Object:
    metadata = item["metadata"]
    return {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "metadata": {key: metadata[key] for key in _METADATA if key in metadata},
        "spec": item.get("spec"),
        "status": item.get("status") or {},
    }
