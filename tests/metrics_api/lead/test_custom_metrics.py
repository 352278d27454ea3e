"""What a lead answers the API server is what the adapter answers of that MiniCluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from metrics_api.adapter import evaluation
from metrics_api.answers import bodies
from metrics_api.lead import custom_metrics
from metrics_api.lead.custom_metrics import CustomMetrics, Own
from metrics_api.lead.routes import extension
from metrics_api.lead.sampled import Sampled
from metrics_api.names import ADDS
from metrics_api.numbers.records import Sample
from minicluster import document
from minicluster.broker_link.errors import InstanceGone
from minicluster.lead_server.routes import AggregatedRequest, ExtensionContext, Identity
from tests.metrics_api.adapter.scene import DEMAND

GOLDEN = Path(__file__).parents[1] / "adapter" / "golden"
V2 = "/apis/custom.metrics.k8s.io/v1beta2"
OWN = f"{V2}/namespaces/team/miniclusters.flux-framework.org/small"
SAME = [
    "minicluster",
    "minicluster-v1beta1",
    "minicluster-fraction",
    "minicluster-one-label",
    "minicluster-one-label-v1beta1",
    "minicluster-set-of-labels",
    "minicluster-all-labels-add-up",
    "minicluster-of-waits-the-longest",
    "service",
    "service-v1beta1",
    "unknown-metric",
    "selector-that-is-none",
    "group-custom",
]


def lead(why: str = "") -> CustomMetrics:
    """Return that of MiniCluster team/small, which has no numbers where it says why."""
    numbers = [Sample(name, value, labels) for name, labels, value in DEMAND]

    def read() -> Sampled:
        if why:
            raise InstanceGone(why)
        return Sampled(0.0, 0.0, numbers)

    return CustomMetrics(Own("team", "small", "small"), read, lambda: 0.25)


def get(
    path: str, *, method: str = "GET", accept: str = "", may_read: bool = True, why: str = "", **query: str
) -> tuple[int, Any]:
    """Ask; return the code and the body."""
    answer = lead(why)(AggregatedRequest(method, path, query, accept, Identity("jane"), may_read))
    body = json.loads(answer.body)
    assert answer.kind == bodies.content_type(body)
    return answer.code, body


def timeless(body: Any) -> Any:
    """Return an answer without its time."""
    return (
        {**body, "items": [{**each, "timestamp": ""} for each in body["items"]]} if "items" in body else body
    )


@pytest.mark.parametrize("case", SAME)
def test_the_answer_is_the_adapters(case: str) -> None:
    expected = json.loads((GOLDEN / f"{case}.json").read_text())
    path = expected["request"].pop("path")
    code, body = get(path, **expected["request"])
    assert (code, timeless(body)) == (expected["code"], timeless(expected["body"]))


def test_both_mean_the_same_objects() -> None:
    assert evaluation.OBJECTS[:2] == custom_metrics.OBJECTS
    assert (custom_metrics.VERSION, custom_metrics.KIND) == (document.API_VERSION, document.KIND)


class TestDiscovery:
    """Whoever the API server knows may see it."""

    def test_what_a_version_has(self) -> None:
        code, body = get(V2, may_read=False)
        names = {each["name"] for each in body["resources"]}
        assert code == 200
        assert names == {f"{kind}/{metric}" for kind in custom_metrics.OBJECTS for metric in ADDS}

    def test_external_metrics_are_not_among_the_groups(self) -> None:
        _, body = get("/apis", may_read=False)
        assert [each["name"] for each in body["groups"]] == ["custom.metrics.k8s.io"]

    def test_all_in_one_document_where_that_is_asked_for(self) -> None:
        _, body = get("/apis", accept=bodies.AGGREGATED, may_read=False)
        (group,) = body["items"]
        assert [each["version"] for each in group["versions"]] == ["v1beta2", "v1beta1"]
        assert {one["resource"] for one in group["versions"][0]["resources"]} == set(custom_metrics.OBJECTS)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (f"{V2}/namespaces/team/miniclusters.flux-framework.org/other/flux_jobs", "only its own MiniCluster"),
        (
            f"{V2}/namespaces/other/miniclusters.flux-framework.org/small/flux_jobs",
            "only its own MiniCluster",
        ),
        (f"{V2}/namespaces/team/miniclusters.flux-framework.org/{quote('*')}/flux_jobs", "only its own"),
        (f"{V2}/namespaces/team/services/other/flux_jobs", "only its own MiniCluster"),
        (f"{V2}/namespaces/team/pods/small-0/flux_jobs", "only its own MiniCluster"),
        (f"{V2}/namespaces/team/metrics/flux_jobs", "knows nothing of the namespace"),
        ("/apis/external.metrics.k8s.io/v1beta1/namespaces/team/flux_jobs", "there is nothing at"),
        ("/openapi/v2", "there is nothing at"),
        (f"{OWN}/flux_min_size", "tells of no flux_min_size"),
        (f"{OWN}/flux_nonsense", "there is no metric 'flux_nonsense'"),
    ],
)
def test_of_others_it_knows_nothing(path: str, message: str) -> None:
    code, body = get(path)
    assert (code, body["kind"], body["code"], message in body["message"]) == (404, "Status", 404, True)


def test_labels_that_nothing_has() -> None:
    code, body = get(f"{OWN}/flux_jobs", metricLabelSelector="state=inactive")
    assert (code, body["message"]) == (404, "the lead broker tells of no flux_jobs with such labels")


def test_who_may_not_read_is_refused() -> None:
    code, body = get(f"{OWN}/flux_jobs", may_read=False)
    assert (code, body["reason"]) == (403, "Forbidden")
    assert body["message"].startswith(
        "'jane' is not among those who may read the metrics of MiniCluster team/small"
    )


def test_metrics_are_only_read() -> None:
    assert get(f"{OWN}/flux_jobs", method="POST")[0] == 405


def test_numbers_that_are_too_old_are_no_numbers() -> None:
    """Never a zero: the autoscaler keeps the size."""
    code, body = get(f"{OWN}/flux_jobs", why="the newest sample is 7.0 s old")
    message = "the lead broker of MiniCluster team/small: the newest sample is 7.0 s old"
    assert (code, body["message"]) == (503, message)


@pytest.mark.parametrize(("settings", "words"), [({}, set()), ({"metrics-tls": "/tls"}, {"apis", "openapi"})])
def test_it_is_there_where_the_document_has_a_certificate_for_readers(
    settings: dict[str, str], words: set[str]
) -> None:
    found = extension(ExtensionContext(settings, lambda: None, lambda _: None))  # type: ignore[arg-type,return-value]
    assert set(found.proxied) == words
