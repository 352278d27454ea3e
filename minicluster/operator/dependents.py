"""The objects of all MiniClusters except their broker pods, and the reports of their Jobs. No I/O."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from minicluster.kube_client.objects import Name, ObjectReference
from minicluster.kube_client.resources import JOBS
from minicluster.operator import observation
from minicluster.operator.index import Index
from minicluster.operator.observation import Dependent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.plan import JobReport
    from minicluster.plan.objects.fields import Object


class Dependents(Index["ObjectReference", Dependent]):
    """The objects by reference."""

    __slots__ = ("_by_instance", "jobs", "owned_fields")

    def __init__(self) -> None:
        super().__init__()
        self.jobs: Index[ObjectReference, JobReport] = Index()
        """What the Jobs report."""
        self.owned_fields: Index[ObjectReference, str] = Index()
        """A digest of the fields that the operator owned after it last applied the object."""
        self._by_instance: defaultdict[Name, set[ObjectReference]] = defaultdict(set)

    def add(self, reference: ObjectReference, found: Dependent) -> None:
        """Take in an object, as it is now."""
        self.put(reference, found)
        self._by_instance[Name(reference.namespace, found.instance)].add(reference)

    def drop(self, reference: ObjectReference, name: Name) -> None:
        """Take in that an object is gone, or belongs to another MiniCluster now."""
        for index in (self, self.jobs, self.owned_fields):
            index.discard(reference)
        if name in self._by_instance:
            self._by_instance[name].discard(reference)
            if not self._by_instance[name]:
                del self._by_instance[name]

    def of(self, name: Name) -> Iterator[Dependent]:
        """Return the objects that are labelled as this MiniCluster's."""
        return (self[reference] for reference in self._by_instance.get(name, ()) if reference in self)

    def job_of(self, name: Name) -> JobReport | None:
        """Return the report of the Job with a MiniCluster's name; another owner may control it."""
        return self.jobs.get(ObjectReference(JOBS.kind, name.namespace, name.name))


def applied_job(item: Object, known: JobReport | None) -> JobReport:
    """Return the report of a Job that was just applied; `known` is its report before that."""
    report = observation.job_report(item)
    if "suspend" not in item["spec"]:  # Kueue owns the field, and suspends every new Job
        report = replace(report, suspended=known.suspended if known else True)
    if known is None:
        return report
    return replace(known, parallelism=report.parallelism, suspended=report.suspended)
