"""What Prometheus reads, and that the operator's page lists it."""

from __future__ import annotations

from pathlib import Path

import pytest

from minicluster.kube_client.errors import ApiError, LeadershipLostError
from minicluster.kube_client.request_counter import API_REQUESTS
from minicluster.operator import metrics as module
from minicluster.operator.cache import Cache
from minicluster.operator.metrics import OperatorMetrics
from minicluster.plan.constants import Phase
from tests.operator.objects import minicluster

PAGE = (Path(__file__).parents[2] / "docs" / "operator.md").read_text()


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def cache() -> Cache:
    return Cache()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue() -> list[str]:
    """Whatever has a length."""
    return []


@pytest.fixture
def metrics(cache: Cache, queue: list[str], clock: Clock) -> OperatorMetrics:
    return OperatorMetrics(cache, queue, clock)


def value(metrics: OperatorMetrics, name: str, **labels: str) -> float | None:
    """Return what a scrape shows now."""
    return metrics.registry.get_sample_value(name, labels)


@pytest.mark.parametrize("result", module.RESULTS)
def test_reconciles(metrics: OperatorMetrics, result: str) -> None:
    """Each end of a reconcile is there from the start, and counts by itself."""
    assert value(metrics, module.RECONCILES, result=result) == 0
    metrics.reconciled(result)
    assert {each: value(metrics, module.RECONCILES, result=each) for each in module.RESULTS} == {
        each: float(each == result) for each in module.RESULTS
    }


@pytest.mark.parametrize("step", module.STEPS)
def test_duration_of_a_step(metrics: OperatorMetrics, clock: Clock, step: str) -> None:
    """A step is measured in seconds."""
    with metrics.step(step):
        clock.now += 0.2
    assert value(metrics, f"{module.DURATION}_sum", step=step) == pytest.approx(0.2)
    assert value(metrics, f"{module.DURATION}_bucket", step=step, le="0.1") == 0
    assert value(metrics, f"{module.DURATION}_bucket", step=step, le="0.25") == 1
    assert value(metrics, module.ERRORS, step=step) == 0


def test_step_that_fails(metrics: OperatorMetrics, clock: Clock) -> None:
    """A step that fails is counted, measured, and its error goes on."""

    def fail() -> None:
        clock.now += 3
        raise ApiError(500, "", "no")

    with pytest.raises(ApiError), metrics.step("apply"):
        fail()
    assert value(metrics, module.ERRORS, step="apply") == 1
    assert value(metrics, f"{module.DURATION}_sum", step="apply") == 3


def test_step_of_one_that_does_not_lead(metrics: OperatorMetrics) -> None:
    """Not to lead any more is no error of a step."""
    with pytest.raises(LeadershipLostError), metrics.step("apply"):
        raise LeadershipLostError("gone")
    assert value(metrics, module.ERRORS, step="apply") == 0


def test_clusters_by_phase(metrics: OperatorMetrics, cache: Cache) -> None:
    """MiniClusters are counted by the phase in their status, all others are 0."""
    for number, phase in enumerate(("Running", "Running", "Failed")):
        cache.see_cluster({**minicluster(f"mc-{number}"), "status": {"phase": phase}})
    counts = {phase: value(metrics, module.CLUSTERS, phase=phase) for phase in Phase}
    assert counts == dict.fromkeys(Phase, 0) | {Phase.RUNNING: 2, Phase.FAILED: 1}


@pytest.mark.parametrize("status", [{}, {"phase": "Sideways"}], ids=["none yet", "one of another operator"])
def test_clusters_without_a_phase_of_ours(
    metrics: OperatorMetrics, cache: Cache, status: dict[str, str]
) -> None:
    """A MiniCluster that no operator of ours has looked at is pending."""
    cache.see_cluster({**minicluster(), "status": status})
    assert value(metrics, module.CLUSTERS, phase="Pending") == 1


def test_clusters_that_go(metrics: OperatorMetrics, cache: Cache) -> None:
    """What is gone does not count, without anybody telling."""
    cache.see_cluster(minicluster())
    cache.forget_cluster(minicluster())
    assert value(metrics, module.CLUSTERS, phase="Pending") == 0


def test_brokers_ready(metrics: OperatorMetrics, cache: Cache) -> None:
    """Brokers that joined are summed up over all MiniClusters."""
    for name, ready in (("a", 3), ("b", 4)):
        cache.see_cluster({**minicluster(name), "status": {"readyBrokers": ready}})
    cache.see_cluster(minicluster("c"))
    assert value(metrics, module.BROKERS_READY) == 7


def test_queue_depth(metrics: OperatorMetrics, queue: list[str]) -> None:
    """The queue's depth is the one at the time of the scrape."""
    queue.extend(["a", "b"])
    assert value(metrics, module.QUEUE_DEPTH) == 2


@pytest.mark.parametrize("leads", [True, False])
def test_leader(metrics: OperatorMetrics, leads: bool) -> None:
    """Whether it leads is asked at the time of the scrape."""
    metrics.leads = lambda: leads
    assert value(metrics, module.LEADER) == int(leads)


@pytest.mark.parametrize(("code", "shown"), [(200, "200"), (409, "409"), (None, "none")])
def test_requests(metrics: OperatorMetrics, code: int | None, shown: str) -> None:
    """Requests count by verb and status code; one without an answer has a word for it."""
    metrics.requested("PATCH", code)
    assert value(metrics, API_REQUESTS, verb="PATCH", code=shown) == 1


def test_watch_restarts(metrics: OperatorMetrics) -> None:
    """Watches that began anew count by kind."""
    metrics.watch_restarted("Job")
    assert value(metrics, module.WATCH_RESTARTS, kind="Job") == 1


def test_two_operators(cache: Cache) -> None:
    """Two operators in one process do not share their counts."""
    one, other = OperatorMetrics(cache, []), OperatorMetrics(cache, [])
    one.reconciled("ok")
    assert value(other, module.RECONCILES, result="ok") == 0


def test_scrape(metrics: OperatorMetrics) -> None:
    """A scrape shows every metric, and the process's own."""
    text, content_type = metrics.scrape()
    exposed = {line.split()[2] for line in text.decode().splitlines() if line.startswith("# TYPE")}
    assert set(module.NAMES) | {"process_cpu_seconds_total", "process_resident_memory_bytes"} <= exposed
    assert content_type.startswith("text/plain; version=0.0.4")


def test_scrape_of_openmetrics(metrics: OperatorMetrics) -> None:
    """Who asks for OpenMetrics gets it."""
    text, content_type = metrics.scrape("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith(b"# EOF\n")


@pytest.mark.parametrize("name", module.NAMES)
def test_name_is_documented(name: str) -> None:
    """Each metric stands on the operator's page."""
    assert f"`{name}`" in PAGE


def test_names_are_all() -> None:
    """The list of names is complete."""
    exposed = {each.name for each in OperatorMetrics(Cache(), []).registry.collect()}
    assert {name.removesuffix("_total") for name in module.NAMES} == {
        name for name in exposed if name.startswith("minicluster_")
    }


@pytest.mark.parametrize("word", [*module.STEPS, *module.RESULTS])
def test_label_is_documented(word: str) -> None:
    """Each step and result stands on the operator's page."""
    assert f"`{word}`" in PAGE
