"""Which right a request takes: the same that the API server asks for when it passes it on."""

import pytest

from metrics_api.answers.queries import RequestAttributes, attributes

CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"
TABLE = {
    "object": (
        f"/apis/{CUSTOM}/v1beta2/namespaces/ns/miniclusters.flux-framework.org/mc/flux_jobs",
        RequestAttributes(
            "", CUSTOM, "v1beta2", "ns", "get", "miniclusters.flux-framework.org", "mc", "flux_jobs"
        ),
    ),
    "pods": (
        f"/apis/{CUSTOM}/v1beta1/namespaces/ns/pods/%2A/flux_jobs",
        RequestAttributes("", CUSTOM, "v1beta1", "ns", "get", "pods", "*", "flux_jobs"),
    ),
    "namespace": (
        f"/apis/{CUSTOM}/v1beta2/namespaces/ns/metrics/flux_jobs",
        RequestAttributes("", CUSTOM, "v1beta2", "ns", "get", "metrics", "flux_jobs"),
    ),
    "external": (
        f"/apis/{EXTERNAL}/v1beta1/namespaces/ns/flux_jobs",
        RequestAttributes("", EXTERNAL, "v1beta1", "ns", "list", "flux_jobs"),
    ),
}
DOCUMENTS = ["/apis", f"/apis/{CUSTOM}", f"/apis/{CUSTOM}/v1beta2", "/openapi/v2/a/b/c"]


@pytest.mark.parametrize(("path", "wanted"), TABLE.values(), ids=TABLE)
def test_of_an_object(path: str, wanted: RequestAttributes) -> None:
    found = attributes(path)
    assert (found.group, found.version, found.namespace) == (wanted.group, wanted.version, wanted.namespace)
    assert (found.verb, found.resource) == (wanted.verb, wanted.resource)
    assert (found.name, found.subresource) == (wanted.name, wanted.subresource)


@pytest.mark.parametrize("path", DOCUMENTS)
def test_of_a_mere_path(path: str) -> None:
    assert attributes(path) == RequestAttributes(path)
