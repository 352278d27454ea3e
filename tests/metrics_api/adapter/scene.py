"""A cluster with MiniClusters whose leads give a test's answers, without any server."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from metrics_api.adapter import samples
from metrics_api.adapter.evaluation import Evaluation
from metrics_api.adapter.leads import CachedAnswer
from metrics_api.adapter.objects import Objects
from metrics_api.answers import bodies, queries
from metrics_api.answers.errors import StatusError, UnavailableError
from metrics_api.answers.samples import MetricValue
from metrics_api.names import ADDS
from minicluster.kube_client.objects import Name
from minicluster.lead_client.broker_pods import Lead

Object = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, 0, 0, 250_000, UTC)
OURS = {"app.kubernetes.io/managed-by": "minicluster", "app.kubernetes.io/name": "minicluster"}
DEMAND: list[tuple[str, dict[str, str], float]] = [
    ("flux_nodes_demanded", {}, 7),
    ("flux_oldest_wait_seconds", {}, 12.25),
    ("flux_jobs", {"state": "run"}, 2),
    ("flux_jobs", {"state": "sched"}, 40),
    ("flux_queue_jobs_pending", {"queue": "batch"}, 30),
    ("flux_queue_jobs_pending", {"queue": "debug"}, 10),
    ("flux_queue_oldest_wait_seconds", {"queue": "batch"}, 12.25),
    ("flux_queue_oldest_wait_seconds", {"queue": "debug"}, 3),
]


SERVED = {name: ADDS[name] for name, _, _ in DEMAND}


def cluster(name: str, namespace: str = "team", phase: str = "Running", **labels: str) -> Object:
    """Return a MiniCluster."""
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}-{name}",
            "labels": labels,
        },
        "status": {"phase": phase},
    }


def pod(cluster: str, index: int, namespace: str = "team", phase: str = "Running", **metadata: Any) -> Object:
    """Return a broker pod."""
    labels = {
        **OURS,
        "app.kubernetes.io/instance": cluster,
        "app.kubernetes.io/component": "broker",
        "batch.kubernetes.io/job-completion-index": str(index),
        "hpa-selector": cluster,
    }
    named = {"name": f"{cluster}-{index}-x", "namespace": namespace, "uid": f"uid-{cluster}-{index}"}
    return {
        "metadata": {"labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z", **named, **metadata},
        "spec": {"nodeName": "node-1", "containers": [{"name": "app"}]},
        "status": {"phase": phase, "podIP": f"10.0.0.{index + 1}"},
    }


def service(cluster: str, namespace: str = "team") -> Object:
    """Return a MiniCluster's Service."""
    labels = {**OURS, "app.kubernetes.io/instance": cluster}
    return {"metadata": {"name": cluster, "namespace": namespace, "labels": labels}}


def answer(numbers: Iterable[tuple[str, Mapping[str, str], float]], age: float = 0.25) -> Object:
    """Return a lead's answer."""
    listed = [{"name": name, "labels": labels, "value": value} for name, labels, value in numbers]
    return {"sampled": "2026-01-01T12:00:00.000Z", "age": age, "samples": listed}


@dataclass
class Leads:
    """Leads with `numbers` as samples, by MiniCluster; without numbers the lead does not answer."""

    numbers: dict[Name, samples.Reading] = field(default_factory=dict)
    asked: list[Name] = field(default_factory=list)

    async def ask(self, name: Name, lead: Lead) -> CachedAnswer:
        self.asked.append(name)
        if name not in self.numbers:
            raise UnavailableError(f"MiniCluster {name}: the lead API at {lead.address} does not answer")
        return CachedAnswer(self.numbers[name], NOW, 0.0)


@dataclass
class Scene:
    """The objects, and the evaluation of queries about them."""

    objects: Objects = field(default_factory=Objects)
    leads: Leads = field(default_factory=Leads)

    def has(
        self,
        name: str,
        size: int = 2,
        namespace: str = "team",
        numbers: Iterable[tuple[str, Mapping[str, str], float]] | None = DEMAND,
        phase: str = "Running",
        **labels: str,
    ) -> "Scene":
        """Add a MiniCluster with broker pods; without numbers its lead does not answer."""
        self.objects.see("MiniCluster", cluster(name, namespace, phase, **labels))
        self.objects.see("Service", service(name, namespace))
        for index in range(size):
            self.objects.see("Pod", pod(name, index, namespace))
        if numbers is not None:
            reading = samples.Reading(0.25, tuple(_sample(*each) for each in numbers))
            self.leads.numbers[Name(namespace, name)] = reading
        return self

    async def get(self, path: str, **parameters: str) -> tuple[int, Object]:
        """Ask, without a server; return the code and the body."""
        try:
            query = queries.parse(path, parameters)
            return 200, await Evaluation(self.objects, self.leads, SERVED).answer(query)
        except StatusError as error:
            return error.code, bodies.status(error)


def _sample(name: str, labels: Mapping[str, str], value: float) -> MetricValue:
    return MetricValue(name, dict(labels), round(value * 1000))
