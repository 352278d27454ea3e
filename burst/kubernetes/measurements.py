"""What Prometheus reads of the service. Users, jobs and MiniClusters are no labels: there may be many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

from burst.kubernetes.counted_provider import CALLS, OK, CountedProvider
from burst.lifecycle.states import OPEN, BurstState
from burst.planning import money
from minicluster.kube_client.request_counter import API_REQUESTS, RequestCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.metrics_core import Metric

    from burst.kubernetes.figures import BurstFigures
    from burst.lifecycle.records import BurstRecord
    from burst.providers.provider import BurstProvider
    from burst.settings.records import BurstSettings
    from burst.sweep import SweepReport

BURSTS = "minicluster_bursts"
STATE_SECONDS = "minicluster_burst_state_seconds"
NODES = "minicluster_burst_nodes"
COST = "minicluster_burst_cost_total"
RESERVED = "minicluster_burst_reserved"
BUDGET = "minicluster_burst_budget"
ORPHANS = "minicluster_burst_orphans_total"
STUCK = "minicluster_burst_stuck"
JOBS = "minicluster_burst_jobs_total"
PROVIDER_REQUESTS = "minicluster_burst_provider_requests_total"
SWEEP_AGE = "minicluster_burst_sweep_age_seconds"
LEADER = "minicluster_burst_leader"
STUCK_COST = "minicluster_burst_stuck_cost"
BEYOND = "minicluster_burst_beyond_reserved"
BUDGET_USED = "minicluster_burst_budget_used"
LISTING_AGE = "minicluster_burst_listing_age_seconds"
NAMES = (
    *(BURSTS, STATE_SECONDS, NODES, COST, RESERVED, BUDGET, ORPHANS, STUCK, JOBS),
    *(PROVIDER_REQUESTS, SWEEP_AGE, LEADER, API_REQUESTS),
    *(STUCK_COST, BEYOND, BUDGET_USED, LISTING_AGE),
)

DELETED, NOT_DELETED = "deleted", "not-deleted"
ACTIONS = (DELETED, NOT_DELETED)
"""What a sweep does of what belongs to no burst; what is young, or going, is left alone."""

# In seconds: a slot is taken within one, nodes come within minutes, and jobs may run for a day.
BUCKETS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14400.0, 43200.0, 86400.0)


class BurstMeasurements:
    """The metrics of one process, in a registry of their own."""

    def __init__(self, settings: BurstSettings, now: Callable[[], float]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each, of no use
        self.registry = CollectorRegistry()
        self.figures: BurstFigures | None = None
        """What was read of the ledger last; None: nothing yet, and none of it is shown."""
        self.leads: Callable[[], bool] = lambda: True
        """Returns whether this process makes bursts."""
        self.swept: Callable[[], float | None] = lambda: None
        """Returns when the last sweep has ended; None: there was none."""
        self.listed: Callable[[], Mapping[str, float]] = dict
        """Returns when each provider has last listed what is there."""
        self._settings = settings
        self._now = now
        self._report: SweepReport | None = None
        self._seconds = Histogram(
            STATE_SECONDS, "Seconds in a state", ("state",), buckets=BUCKETS, registry=self.registry
        )
        self._orphans = Counter(
            ORPHANS, "What sweeps found without a burst", ("action",), registry=self.registry
        )
        self._requests = Counter(
            PROVIDER_REQUESTS, "Calls of providers", ("provider", "call", "code"), registry=self.registry
        )
        self._api = RequestCounter(self.registry)
        self._begin_at_zero(each.name for each in settings.providers)
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def counted(self, provider: BurstProvider) -> BurstProvider:
        """Return a provider whose calls are counted."""
        return CountedProvider(
            provider, lambda name, call, code: self._requests.labels(name, call, code).inc()
        )

    def left(self, burst: BurstRecord, now: float) -> None:
        """Measure for how long a burst was in the state that it has left."""
        self._seconds.labels(str(burst.state)).observe(max(now - burst.state_since, 0.0))

    def swept_up(self, report: SweepReport | None) -> None:
        """Count what a sweep has found; the same report is counted once."""
        if report is None or report is self._report:
            return
        self._report = report
        for orphan in report.orphans:
            if orphan.action == "deleted":
                self._orphans.labels(DELETED).inc()
            elif orphan.action.startswith("not deleted"):
                self._orphans.labels(NOT_DELETED).inc()

    def requested(self, verb: str, code: int | None) -> None:
        """Count a request to the API server by its status code; None: there was no answer."""
        self._api.count(verb, code)

    def scrape(self, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics in a format that the Accept header allows, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def collect(self) -> Iterator[Metric]:
        """Yield what is known by now; the registry calls it at each scrape."""
        yield GaugeMetricFamily(LEADER, "1 for the process that makes bursts, else 0", int(self.leads()))
        yield self._budgets()
        swept = self.swept()
        if swept is not None:
            age = max(self._now() - swept, 0.0)
            yield GaugeMetricFamily(SWEEP_AGE, "Seconds since the last sweep", age)
        listing = GaugeMetricFamily(LISTING_AGE, "Seconds since the last listing", labels=("provider",))
        for name, at in self.listed().items():
            listing.add_metric((name,), max(self._now() - at, 0.0))
        yield listing
        if self.figures is not None:
            yield from self._of_ledger(self.figures)
            yield from self._of_money(self.figures)

    def _budgets(self) -> GaugeMetricFamily:
        found = GaugeMetricFamily(
            BUDGET, "What bursts may cost in a period", labels=("currency", "scope", "period")
        )
        for each in self._settings.budgets:
            amount = _units(money.amount(each.amount))
            found.add_metric((self._settings.currency, each.scope, each.period), amount)
        return found

    def _of_ledger(self, figures: BurstFigures) -> Iterator[Metric]:
        currency = self._settings.currency
        states = GaugeMetricFamily(BURSTS, "Bursts that are not deleted", labels=("state", "provider"))
        for labels, number in figures.states.items():
            states.add_metric(labels, number)
        yield states
        nodes = GaugeMetricFamily(NODES, "Nodes of bursts, also those to come", labels=("provider",))
        for name, number in figures.nodes.items():
            nodes.add_metric((name,), number)
        yield nodes
        cost = CounterMetricFamily(COST, "What deleted bursts have cost", labels=("currency", "provider"))
        for name, amount in figures.charged.items():
            cost.add_metric((currency, name), _units(amount))
        yield cost
        reserved = GaugeMetricFamily(
            RESERVED, "What open bursts may cost at worst", labels=("currency", "scope")
        )
        for scope, amount in figures.reserved.items():
            reserved.add_metric((currency, scope), _units(amount))
        yield reserved
        jobs = CounterMetricFamily(JOBS, "Jobs of deleted bursts", labels=("result",))
        for result, number in figures.jobs.items():
            jobs.add_metric((result,), number)
        yield jobs
        yield GaugeMetricFamily(STUCK, "Bursts whose deletion takes too long", figures.stuck)

    def _of_money(self, figures: BurstFigures) -> Iterator[Metric]:
        """Yield what alarms are about."""
        currency = self._settings.currency
        for metric, words, amounts in (
            (STUCK_COST, "What bursts cost an hour whose deletion takes too long", figures.stuck_cost),
            (BEYOND, "What open bursts have cost beyond what was reserved", figures.beyond),
        ):
            found = GaugeMetricFamily(metric, words, labels=("currency", "provider"))
            for name, amount in amounts.items():
                found.add_metric((currency, name), _units(amount))
            yield found
        labels = ("currency", "scope", "period")
        used = GaugeMetricFamily(
            BUDGET_USED, "What is charged or reserved in the present period", labels=labels
        )
        for (scope, period), amount in figures.used.items():
            used.add_metric((currency, scope, period), _units(amount))
        yield used

    def _begin_at_zero(self, providers: Iterable[str]) -> None:
        """Create every series at the start: a rate over a series that appears later misses its first step."""
        for state in BurstState:
            if state in OPEN:
                self._seconds.labels(str(state))
        for action in ACTIONS:
            self._orphans.labels(action)
        for name in providers:
            for call in CALLS:
                self._requests.labels(name, call, OK)


def _units(amount: int) -> float:
    return amount / money.MICRO
