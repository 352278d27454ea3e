"""Whether an API server accepts objects, without any of them being stored."""

from tests.deploy.files import Object
from tests.devcluster import Api

PLURALS = {"NetworkPolicy": "networkpolicies", "Ingress": "ingresses"}
UNSCOPED = {"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}


def path(item: Object) -> str:
    """Return where an object is."""
    version, kind, metadata = item["apiVersion"], item["kind"], item["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = "" if kind in UNSCOPED else f"/namespaces/{metadata['namespace']}"
    return f"{root}{scope}/{PLURALS.get(kind, kind.lower() + 's')}/{metadata['name']}"


def accepted(api: Api, item: Object) -> bool:
    """Try to apply an object, with every field known to the server; raises ApiError where it is refused."""
    query = "dryRun=All&fieldManager=test&force=true&fieldValidation=Strict"
    answer = api.call("PATCH", f"{path(item)}?{query}", item, "application/apply-patch+yaml")
    return bool(answer["kind"] == item["kind"])
