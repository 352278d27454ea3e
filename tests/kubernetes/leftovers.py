"""What a test leaves in its namespace that would give operators, controllers and fake nodes work.

To delete the namespace instead takes 65 requests of the namespace controller, most of them for kinds that no
test has.
"""

from http import HTTPStatus

from tests.devcluster import Api, ApiError
from tests.devcluster.api import Object
from tests.kubernetes import operators

# What else works on without a MiniCluster; the garbage collector deletes the rest of what one owns.
KINDS = (
    "/apis/batch/v1/namespaces/{}/jobs",
    "/api/v1/namespaces/{}/pods",
    "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
    "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
)
AT_ONCE = {"gracePeriodSeconds": "0", "propagationPolicy": "Background"}


def delete(api: Api, namespace: str) -> None:
    """Begin to delete it, MiniClusters first: an operator would make the other objects again."""
    for item in api.delete(operators.path(namespace)).get("items", ()):
        release(api, operators.path(namespace, item["metadata"]["name"]), item)
    for kind in KINDS:
        api.delete(kind.format(namespace), **AT_ONCE)


def release(api: Api, path: str, item: Object) -> None:
    """Take the finalizers off an object that is deleted: the operator that would may be gone."""
    if not item["metadata"].get("finalizers"):
        return
    try:
        api.merge(path, {"metadata": {"finalizers": None}})
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:  # the operator was there, and faster
            raise
