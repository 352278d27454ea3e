"""What Prometheus reads of an adapter, and that the page about metrics lists it."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from metrics_api.adapter import measurements as module
from metrics_api.adapter.measurements import Measurements
from minicluster.kube_client.request_counter import API_REQUESTS

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"


@pytest.fixture
def made() -> Measurements:
    return Measurements(lambda: 3)


def value(made: Measurements, name: str, **labels: str) -> float | None:
    """Return what a scrape shows now."""
    return made.registry.get_sample_value(name, labels)


@pytest.mark.parametrize(
    ("path", "group"),
    [
        (f"/apis/{CUSTOM}/v1beta2/namespaces/a/services/mc/flux_nodes_demanded", CUSTOM),
        (f"/apis/{EXTERNAL}/v1beta1", EXTERNAL),
        ("/apis", "other"),
        ("/openapi/v3", "other"),
        ("/apis/somebody.else/v1", "other"),
    ],
    ids=["custom", "external", "discovery", "no-api", "unknown"],
)
def test_a_request_counts_for_its_group(made: Measurements, path: str, group: str) -> None:
    """Nothing that somebody asks for becomes a label of its own."""
    made.answered(path, 404, 0.25)
    assert value(made, module.REQUESTS, group=group, code="404") == 1
    seconds = {each: value(made, f"{module.DURATION}_sum", group=each) for each in module.GROUPS}
    assert seconds == {each: 0.25 if each == group else 0 for each in module.GROUPS}


@pytest.mark.parametrize("result", module.RESULTS)
def test_a_question_to_a_lead_counts_by_its_result(made: Measurements, result: str) -> None:
    made.asked(result, 0.5)
    counted = {each: value(made, module.LEAD_REQUESTS, result=each) for each in module.RESULTS}
    assert counted == {each: float(each == result) for each in module.RESULTS}
    assert value(made, f"{module.LEAD_DURATION}_sum") == 0.5


def test_what_is_true_now_is_counted_when_it_is_asked_for(made: Measurements) -> None:
    made.conflicting = lambda: 2
    assert (value(made, module.CLUSTERS), value(made, module.CONFLICTING)) == (3, 2)


def test_a_request_that_nobody_answers_has_a_code_as_well(made: Measurements) -> None:
    made.requested("GET", None)
    assert value(made, API_REQUESTS, verb="GET", code="none") == 1


def test_prometheus_reads_it(made: Measurements) -> None:
    made.requested("GET", 200)
    body, content_type = made.scrape()
    found = {each.name for each in text_string_to_metric_families(body.decode())}
    assert {name.removesuffix("_total") for name in module.NAMES} <= found
    assert content_type.startswith("text/plain")


@pytest.mark.parametrize("name", module.NAMES)
def test_the_page_lists_each(name: str) -> None:
    assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize("word", [*module.GROUPS, *module.RESULTS])
def test_the_page_names_each_value_of_a_label(word: str) -> None:
    assert f"`{word}`" in PAGE
