"""The metrics of an operator, for Prometheus.

MiniClusters by phase and the length of the queue are counted at each scrape, never kept.
"""

from __future__ import annotations

import time
from collections import Counter as Tally
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

from minicluster.kube_client.errors import LeadershipLostError
from minicluster.kube_client.request_counter import API_REQUESTS, RequestCounter
from minicluster.plan.constants import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sized

    from minicluster.operator.cache import Cache

RECONCILES = "minicluster_reconciles_total"
DURATION = "minicluster_reconcile_duration_seconds"
ERRORS = "minicluster_reconcile_errors_total"
QUEUE_DEPTH = "minicluster_queue_depth"
CLUSTERS = "minicluster_clusters"
BROKERS_READY = "minicluster_brokers_ready"
LEADER = "minicluster_leader"
WATCH_RESTARTS = "minicluster_watch_restarts_total"
NAMES = (
    RECONCILES,
    DURATION,
    ERRORS,
    QUEUE_DEPTH,
    CLUSTERS,
    BROKERS_READY,
    LEADER,
    WATCH_RESTARTS,
    API_REQUESTS,
)

STEPS = ("whole", "decide", "apply", "status", "events")
RESULTS = ("ok", "refused", "retry", "error", "gone")

# In seconds: a decision takes a millisecond, a write a few; a step of ten seconds is stuck.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class OperatorMetrics:
    """The metrics of one operator, in a registry of their own."""

    def __init__(self, cache: Cache, queue: Sized, clock: Callable[[], float] = time.perf_counter) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each counter, of no use
        self.leads: Callable[[], bool] = lambda: True
        """Returns whether the operator leads."""
        self.registry = CollectorRegistry()
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._reconciles = self._counter(RECONCILES, "Reconciles by how they ended", "result")
        self._errors = self._counter(ERRORS, "Steps of reconciles that failed", "step")
        self._watch_restarts = self._counter(WATCH_RESTARTS, "Watches that failed and began anew", "kind")
        self._requests = RequestCounter(self.registry)
        self._duration = Histogram(
            DURATION, "Seconds that a step took", ("step",), buckets=BUCKETS, registry=self.registry
        )
        self._begin_at_zero()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure a step, one of STEPS; exceptions are counted and raised."""
        begin = self._clock()
        try:
            yield
        except LeadershipLostError:
            raise  # no error of the MiniCluster: another operator reconciles it
        except Exception:
            self._errors.labels(name).inc()
            raise
        finally:
            self._duration.labels(name).observe(self._clock() - begin)

    def reconciled(self, result: str) -> None:
        """Count a reconcile by how it ended, one of RESULTS."""
        self._reconciles.labels(result).inc()

    def requested(self, verb: str, code: int | None) -> None:
        """Count a request to the API server and its answer's status code; None: there was no answer."""
        self._requests.count(verb, code)

    def watch_restarted(self, kind: str) -> None:
        """Count a watch that failed and began anew."""
        self._watch_restarts.labels(kind).inc()

    def scrape(self, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics in a format that the Accept header allows, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges with their values of now; the registry calls it at each scrape."""
        phases = Tally(dict.fromkeys(Phase, 0))
        ready = 0
        for cluster in self._cache.clusters.values():
            status = cluster.get("status") or {}
            phases[_phase(status.get("phase"))] += 1
            ready += int(status.get("readyBrokers") or 0)
        clusters = GaugeMetricFamily(CLUSTERS, "MiniClusters by phase", labels=("phase",))
        for phase, count in phases.items():
            clusters.add_metric((phase.value,), count)
        yield clusters
        yield GaugeMetricFamily(BROKERS_READY, "Brokers that have joined, of all MiniClusters", value=ready)
        yield GaugeMetricFamily(QUEUE_DEPTH, "MiniClusters that wait for a reconcile", len(self._queue))
        yield GaugeMetricFamily(LEADER, "1 for the operator that leads, 0 for a standby", int(self.leads()))

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _begin_at_zero(self) -> None:
        """Create every series at the start: a rate over a series that appears later misses its first step."""
        for result in RESULTS:
            self._reconciles.labels(result)
        for step in STEPS:
            self._errors.labels(step)
            self._duration.labels(step)


def _phase(word: object) -> Phase:
    """Return the phase of a MiniCluster; one without our status is pending: it was never reconciled."""
    try:
        return Phase(str(word))
    except ValueError:
        return Phase.PENDING
