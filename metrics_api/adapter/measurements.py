"""The adapter's metrics of its own work, for Prometheus. Those of leads are in `samples`."""

from __future__ import annotations

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

from metrics_api.answers.queries import APIS
from minicluster.kube_client.request_counter import API_REQUESTS, RequestCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REQUESTS = "minicluster_adapter_requests_total"
DURATION = "minicluster_adapter_request_duration_seconds"
LEAD_REQUESTS = "minicluster_adapter_lead_requests_total"
LEAD_DURATION = "minicluster_adapter_lead_request_duration_seconds"
CLUSTERS = "minicluster_adapter_clusters"
CONFLICTING = "minicluster_adapter_foreign_apis"
NAMES = (REQUESTS, DURATION, LEAD_REQUESTS, LEAD_DURATION, CLUSTERS, CONFLICTING, API_REQUESTS)

GROUPS = (*dict.fromkeys(api.group for api in APIS), "other")
"""The API groups of requests, or `other`, such as discovery of all groups."""
RESULTS = ("ok", "error")

# A lead answers in some milliseconds; the API server waits for a minute.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Measurements:
    """The metrics of one adapter, in a registry of their own.

    `clusters` returns the number of known MiniClusters, `conflicting` that of APIServices of other servers.
    """

    def __init__(self, clusters: Callable[[], int] = lambda: 0) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each, which no reader needs
        self.conflicting: Callable[[], int] = lambda: 0
        self.registry = CollectorRegistry()
        self._clusters = clusters
        self._requests = self._counter(REQUESTS, "Requests of the API server, by answer", "group", "code")
        self._duration = self._histogram(DURATION, "Seconds until a request was answered", "group")
        self._leads = self._counter(LEAD_REQUESTS, "Questions to lead brokers", "result")
        self._lead_duration = self._histogram(LEAD_DURATION, "Seconds that a lead broker took")
        self._api = RequestCounter(self.registry)
        for group in GROUPS:  # a rate over a series that appears misses its first step
            self._requests.labels(group, "200")
            self._duration.labels(group)
        for result in RESULTS:
            self._leads.labels(result)
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def answered(self, path: str, code: int, seconds: float) -> None:
        """Count a request of the API server by its path, and its answer."""
        group = _group(path)
        self._requests.labels(group, str(code)).inc()
        self._duration.labels(group).observe(seconds)

    def asked(self, result: str, seconds: float) -> None:
        """Count a request to a lead broker, by its result, one of RESULTS."""
        self._leads.labels(result).inc()
        self._lead_duration.observe(seconds)

    def requested(self, verb: str, code: int | None) -> None:
        """Count a request to the API server by its status code; None: there was no answer."""
        self._api.count(verb, code)

    def scrape(self, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics as text, and its content type, in a form that the Accept header allows."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges' present values; the registry calls this."""
        yield GaugeMetricFamily(CLUSTERS, "MiniClusters that are known", self._clusters())
        yield GaugeMetricFamily(CONFLICTING, "Metrics APIs that another server holds", self.conflicting())

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(name, text, labels, buckets=BUCKETS, registry=self.registry)


def _group(path: str) -> str:
    _, _, rest = path.partition("/apis/")
    group = rest.partition("/")[0]
    return group if group in GROUPS else "other"
