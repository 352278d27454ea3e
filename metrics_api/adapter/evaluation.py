"""Evaluates queries: finds their MiniClusters, reads their leads' samples, and computes the values.

If one of several leads does not answer, the result is an error, not a partial sum.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from metrics_api.adapter.samples import split_evenly
from metrics_api.answers import bodies, samples
from metrics_api.answers.bodies import Body, DescribedObject, ExternalValue, Value
from metrics_api.answers.errors import NotFoundError, UnavailableError
from metrics_api.answers.queries import APIS, EVERY, DocumentQuery, ExternalQuery, NamespaceQuery
from metrics_api.names import ADDS, OF_BURSTS
from minicluster.kube_client.objects import Name
from minicluster.kube_client.resources import MINICLUSTERS, PODS, SERVICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from metrics_api.adapter.objects import Objects, ObservedCluster, Pod
    from metrics_api.adapter.samples import Reading
    from metrics_api.answers.queries import ObjectQuery, Query
    from metrics_api.answers.selectors import Selector
    from minicluster.lead_client.broker_pods import Lead

CLUSTER_LABEL = "minicluster"
"""The label of an external metric with its MiniCluster's name. The other labels are from its lead."""
CLUSTERS = f"{MINICLUSTERS.plural}.{MINICLUSTERS.version.partition('/')[0]}"
OBJECTS = (CLUSTERS, SERVICES.plural, PODS.plural)
DESCRIBED = (*OBJECTS, bodies.NAMESPACES)


class LeadAnswer(Protocol):
    """A reading, with its time by this machine's clock."""

    @property
    def reading(self) -> Reading:
        """The samples of a lead."""
        ...

    @property
    def time(self) -> datetime:
        """When the samples were made."""
        ...


class LeadSource(Protocol):
    """Reads leads' samples."""

    async def ask(self, name: Name, lead: Lead) -> LeadAnswer:
        """Return a lead's samples. Raises UnavailableError."""
        ...


class Evaluation:
    """Answers queries. `adds` has each metric that is served, and whether its values can be added up."""

    def __init__(self, objects: Objects, leads: LeadSource, adds: Mapping[str, bool] = ADDS) -> None:
        self._objects = objects
        self._leads = leads
        self._adds = adds

    async def answer(self, query: Query) -> Body:
        """Return the body of an answer. Raises NotFoundError, UnavailableError."""
        if isinstance(query, DocumentQuery):
            return bodies.document(query, APIS, self._adds, DESCRIBED)
        if query.metric not in self._adds:
            raise NotFoundError(f"there is no metric {query.metric[:80]!r}")
        if isinstance(query, ExternalQuery):
            return bodies.external_values(query.metric, await self._external(query))
        if isinstance(query, NamespaceQuery):
            found: Sequence[Value] = [await self._namespace(query)]
        else:
            found = await self._of_objects(query)
        return bodies.values(query.api, query.metric, query.metric_labels, found)

    async def _of_objects(self, query: ObjectQuery) -> Sequence[Value]:
        if query.resource == CLUSTERS:
            return await self._clusters(query)
        if query.resource == SERVICES.plural:
            return await self._services(query)
        if query.resource == PODS.plural:
            return await self._pods(query)
        right = ", ".join(OBJECTS)
        raise NotFoundError(f"there are no metrics of {query.resource[:80]!r}: right are {right}")

    async def _clusters(self, query: ObjectQuery) -> Sequence[Value]:
        if query.name == EVERY:
            chosen = [each for each in self._active(query.namespace) if query.labels.matches(each.labels)]
        else:
            chosen = [self._cluster(Name(query.namespace, query.name))]
        _some(chosen, f"no MiniCluster in {query.namespace} matches, or none that does has a queue")
        answers = await self._ask(chosen)
        if query.name == EVERY:
            chosen, answers = _with_metric(query.metric, chosen, answers)
        return [
            Value(
                DescribedObject(MINICLUSTERS.version, MINICLUSTERS.kind, each.name.name, each.name.namespace),
                self._total(each.name, one.reading, query.metric, query.metric_labels),
                one.time,
            )
            for each, one in zip(chosen, answers, strict=True)
        ]

    async def _services(self, query: ObjectQuery) -> Sequence[Value]:
        known = self._objects.services
        if query.name == EVERY:
            active = {each.name for each in self._active(query.namespace)}
            chosen = [
                known[name]
                for name in sorted(known)
                if known[name].cluster in active and query.labels.matches(known[name].labels)
            ]
        else:
            chosen = [each for each in (known.get(Name(query.namespace, query.name)),) if each]
        what = "" if query.name == EVERY else f" {query.name[:80]!r}"
        _some(chosen, f"there is no Service{what} of a MiniCluster in {query.namespace}")
        answers = await self._ask([self._cluster(each.cluster) for each in chosen])
        return [
            Value(
                DescribedObject(SERVICES.version, SERVICES.kind, each.name.name, each.name.namespace),
                self._total(each.cluster, one.reading, query.metric, query.metric_labels),
                one.time,
            )
            for each, one in zip(chosen, answers, strict=True)
        ]

    async def _pods(self, query: ObjectQuery) -> Sequence[Value]:
        """Return an equal part for each pod: the autoscaler multiplies the mean of pods by their number."""
        known = self._objects.pods
        if query.name == EVERY:
            chosen = [
                known[name]
                for name in sorted(known)
                if name.namespace == query.namespace and query.labels.matches(known[name].labels)
            ]
        else:
            chosen = [each for each in (known.get(Name(query.namespace, query.name)),) if each]
        chosen = [each for each in chosen if each.counts and each.cluster in self._objects.clusters]
        _some(chosen, f"no pod of a MiniCluster in {query.namespace} matches")
        clusters = [self._cluster(name) for name in sorted({each.cluster for each in chosen})]
        answers = dict(zip((each.name for each in clusters), await self._ask(clusters), strict=True))
        return [self._pod_value(query, pod, answers[pod.cluster]) for pod in chosen]

    def _pod_value(self, query: ObjectQuery, pod: Pod, answer: LeadAnswer) -> Value:
        whole = self._total(pod.cluster, answer.reading, query.metric, query.metric_labels)
        if self._adds[query.metric]:
            brokers = [each.name for each in self._objects.brokers(pod.cluster)]
            parts = split_evenly(whole, max(len(brokers), 1))
            whole = parts[brokers.index(pod.name) if pod.name in brokers else 0]
        return Value(
            DescribedObject(PODS.version, PODS.kind, pod.name.name, pod.name.namespace), whole, answer.time
        )

    async def _namespace(self, query: NamespaceQuery) -> Value:
        chosen = self._active(query.namespace)
        _some(chosen, f"there is no MiniCluster with a queue in namespace {query.namespace}")
        chosen, answers = _with_metric(query.metric, chosen, await self._ask(chosen))
        values = [
            self._total(each.name, one.reading, query.metric, query.metric_labels)
            for each, one in zip(chosen, answers, strict=True)
        ]
        whole = sum(values) if self._adds[query.metric] else max(values)
        return Value(
            DescribedObject("v1", "Namespace", query.namespace), whole, min(one.time for one in answers)
        )

    async def _external(self, query: ExternalQuery) -> Sequence[ExternalValue]:
        whose = query.labels.about([CLUSTER_LABEL])
        chosen = [
            each for each in self._active(query.namespace) if whose.matches({CLUSTER_LABEL: each.name.name})
        ]
        answers = await self._ask(chosen)
        found = [
            ExternalValue(labels, sample.thousandths, one.time)
            for each, one in zip(chosen, answers, strict=True)
            for sample in one.reading.samples
            if sample.name == query.metric
            for labels in [{**sample.labels, CLUSTER_LABEL: each.name.name}]
            if query.labels.matches(labels)
        ]
        _some(found, f"no MiniCluster with a queue in {query.namespace} has {query.metric} with such labels")
        return found

    def _active(self, namespace: str) -> list[ObservedCluster]:
        """Return the MiniClusters of a namespace that have a queue, or should have one."""
        return [
            each
            for each in self._objects.in_namespace(namespace)
            if not each.is_at_rest or self._objects.lead(each.name) is not None
        ]

    def _cluster(self, name: Name) -> ObservedCluster:
        found = self._objects.clusters.get(name)
        if found is None:
            raise NotFoundError(f"there is no MiniCluster {name.name[:80]!r} in {name.namespace}")
        return found

    async def _ask(self, clusters: Iterable[ObservedCluster]) -> Sequence[LeadAnswer]:
        """Ask all leads at the same time. Raises UnavailableError if one does not answer."""
        return await asyncio.gather(*[self._answer(each) for each in clusters])

    async def _answer(self, cluster: ObservedCluster) -> LeadAnswer:
        lead = self._objects.lead(cluster.name)
        if not cluster.has_lead:
            raise NotFoundError(
                f"MiniCluster {cluster.name} has no queue of its own: it joins another's lead broker"
                " (spec.flux.bursting.leadBroker)"
            )
        if lead is None:
            stage = f" (it is {cluster.phase})" if cluster.phase else ""
            raise UnavailableError(f"the lead broker of MiniCluster {cluster.name} does not run{stage}")
        return await self._leads.ask(cluster.name, lead)

    def _total(self, name: Name, reading: Reading, metric: str, labels: Selector) -> int:
        found = reading.chosen(metric, labels)
        suited = " with such labels" if labels else ""
        _some(found, f"the lead broker of MiniCluster {name} tells of no {metric}{suited}")
        return samples.total(found, adds=self._adds[metric])


def _with_metric(
    metric: str, clusters: Sequence[ObservedCluster], answers: Sequence[LeadAnswer]
) -> tuple[list[ObservedCluster], list[LeadAnswer]]:
    """Return the MiniClusters that can have this metric, with their answers.

    Metrics of bursts are there only where hosts of bursts are declared.
    """
    found = [
        (each, one)
        for each, one in zip(clusters, answers, strict=True)
        if metric not in OF_BURSTS or any(sample.name == metric for sample in one.reading.samples)
    ]
    _some(found, f"no MiniCluster declares hosts of bursts (spec.flux.bursting), so none has {metric}")
    return [each for each, _ in found], [one for _, one in found]


def _some(found: Sequence[object], otherwise: str) -> None:
    if not found:
        raise NotFoundError(otherwise)


def moment(now: datetime, age: float) -> datetime:
    """Return when a sample of this age was made, by this machine's clock, as leads' clocks may differ."""
    return now - timedelta(seconds=age)
