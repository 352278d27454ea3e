"""A real Prometheus, by the example's configuration and rules, collects from a real lead."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.devcluster import MissingProgramsError
from tests.devcluster.debian import unpacked
from tests.lead.client import NAME, until
from tests.metrics_api.prometheus import Prometheus, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.lead.pods import Pods
    from tests.metrics_api.lead.reading import Reader

EXAMPLES = Path(__file__).parents[3] / "examples" / "autoscaling"
WHO = "default/scaling"


@pytest.fixture(scope="session")
def program() -> Path:
    """Return the program; it may not be missing under CI."""
    try:
        return unpacked("prometheus", "prometheus")
    except MissingProgramsError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture
def cluster(lead: Callable[..., tuple[Pods, Reader]]) -> Pods:
    """Two nodes of at most three."""
    cluster, reader = lead(2, max_size=3)
    reader.until(nodes_up=2)
    return cluster


@pytest.fixture
def prometheus(program: Path, cluster: Pods, tmp_path: Path) -> Iterator[Prometheus]:
    """One by the example's files, but for where the door and its keys are, and in less time."""
    folder = tmp_path / "prometheus"
    folder.mkdir()
    (folder / "prometheus-rules.yml").write_text((EXAMPLES / "prometheus-rules.yml").read_text())
    given = yaml.safe_load((EXAMPLES / "prometheus.yml").read_text())
    (job,) = given["scrape_configs"]
    job["scrape_interval"] = "1s"
    job["authorization"]["credentials_file"] = str(cluster.secret / "metrics.token")
    job["tls_config"] = {"ca_file": str(cluster.secret / "door.crt"), "server_name": NAME}
    job["static_configs"][0]["targets"] = [f"127.0.0.1:{cluster.lead_api.port}"]
    given["global"] = {"evaluation_interval": "1s"}
    configuration = folder / "prometheus.yml"
    configuration.write_text(yaml.safe_dump(given))
    with running(program, configuration) as server:
        yield server


def test_it_collects_what_the_queue_demands(cluster: Pods, prometheus: Prometheus) -> None:
    """And the rules make of it what they are for."""
    until(lambda: prometheus.values("flux_nodes_demanded") == [1], "one node to be demanded")
    until(lambda: prometheus.values("minicluster:nodes_up:ratio") == [2], "twice as many as are demanded")
    assert prometheus.alerts() == {}
    for _ in range(3):
        cluster.run("submit", "-N1", "--exclusive", "sleep", "inf")
    until(lambda: prometheus.values("minicluster:nodes_up:ratio") == [2 / 3], "two nodes of three")
    below = f"MiniCluster {WHO} has fewer nodes than its queue demands"
    until(
        lambda: prometheus.alerts() == {"MiniClusterBelowDemand": ("pending", below)},
        "the alert to begin its quarter of an hour",
    )
    cluster.run("submit", "-N4", "--urgency=0", "sleep", "inf")  # others are refused at once
    firing = ("firing", f"1 jobs of {WHO} can never fit")
    until(lambda: prometheus.alerts().get("MiniClusterJobsNeverFit") == firing, "the alert of that job")


def test_a_lead_that_is_silent_demands_nothing_rather_than_zero(
    cluster: Pods, prometheus: Prometheus
) -> None:
    until(lambda: prometheus.values("flux_nodes_demanded") == [1], "one node to be demanded")
    cluster.run("shutdown")
    until(lambda: prometheus.values("flux_nodes_demanded") == [], "no value any more")
    silent = ("pending", f"The lead broker of {WHO} tells nothing of its queue")
    until(lambda: prometheus.alerts() == {"MiniClusterSilent": silent}, "the alert of it")
    (trouble,) = prometheus.trouble()
    assert "connection refused" in trouble
    assert prometheus.values("min_over_time(flux_nodes_demanded[5m])") == [1]


def test_the_token_of_another_is_refused(cluster: Pods, prometheus: Prometheus) -> None:
    """It collects nothing, and says why."""
    until(lambda: prometheus.values('up{minicluster="scaling"}') == [1], "the lead to be collected from")
    token = cluster.secret / "metrics.token"
    token.unlink()
    token.write_text("another")
    until(lambda: prometheus.values('up{minicluster="scaling"}') == [0], "the lead to be down")
    assert prometheus.trouble() == {"server returned HTTP status 401 Unauthorized"}
