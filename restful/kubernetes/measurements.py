"""What Prometheus reads of one replica. Users, jobs and clusters' names are no labels: there may be many."""

from __future__ import annotations

from collections import Counter as Tally
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

from minicluster.kube_client.request_counter import API_REQUESTS, RequestCounter
from restful.clusters.connection import ConnectionState
from restful.identity.logins import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restful.front.request_log import AnsweredRequest
    from restful.identity.identities import Identities
    from restful.services import Services

REQUESTS = "minicluster_rest_requests_total"
DURATION = "minicluster_rest_request_duration_seconds"
STREAMS = "minicluster_rest_streams"
CLUSTERS = "minicluster_rest_clusters"
PROJECTIONS = "minicluster_rest_projections"
LOGINS = "minicluster_rest_logins_total"
HASHES = "minicluster_rest_password_hashes"
NAMES = (REQUESTS, DURATION, STREAMS, CLUSTERS, PROJECTIONS, LOGINS, HASHES, API_REQUESTS)

# In seconds: a status is answered from memory in a millisecond, a submit within the instance's 50 ms.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class RestMeasurements:
    """The metrics of one replica, in a registry of their own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each, of no use
        self.registry = CollectorRegistry()
        self._served: tuple[Services, Identities] | None = None
        self._requests = Counter(
            REQUESTS, "Requests by route and answer", ("method", "route", "code"), registry=self.registry
        )
        self._duration = Histogram(
            DURATION, "Seconds until an answer began", ("route",), buckets=BUCKETS, registry=self.registry
        )
        self._logins = Counter(LOGINS, "Logins by password", ("result",), registry=self.registry)
        self._api = RequestCounter(self.registry)
        for outcome in OUTCOMES:  # a rate over a series that appears misses its first step
            self._logins.labels(outcome)
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def serve(self, services: Services, identities: Identities) -> None:
        """Have the gauges show these."""
        self._served = (services, identities)

    def answered(self, request: AnsweredRequest) -> None:
        """Count a request."""
        self._requests.labels(request.method, request.route, str(request.status)).inc()
        self._duration.labels(request.route).observe(request.seconds)

    def logged_in(self, outcome: str) -> None:
        """Count a login, by one of OUTCOMES."""
        self._logins.labels(outcome).inc()

    def requested(self, verb: str, code: int | None) -> None:
        """Count a request to the API server by its status code; None: there was no answer."""
        self._api.count(verb, code)

    def scrape(self, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics in a format that the Accept header allows, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges with their values of now; the registry calls it at each scrape."""
        if self._served is None:
            return
        services, identities = self._served
        served = list(services.clusters)
        states = Tally(each.connection.state for each in served)
        clusters = GaugeMetricFamily(CLUSTERS, "MiniClusters that are served", labels=("state",))
        for state in (ConnectionState.READY, ConnectionState.AWAY):
            clusters.add_metric((state.value,), states[state])
        yield clusters
        written = sum(each.caught_up.is_set() for each in served)
        yield GaugeMetricFamily(PROJECTIONS, "Those whose jobs this replica writes down", written)
        yield GaugeMetricFamily(STREAMS, "Live streams that are open", services.streams.limiter.open)
        running = identities.passwords.under_way
        yield GaugeMetricFamily(HASHES, "Passwords that are being checked", running)
