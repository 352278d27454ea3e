"""Objects of an API server in memory: their references and names, label selectors, bare metadata."""

from minicluster.kube_client.objects import ObjectReference
from minicluster.kube_client.resources import RESOURCES
from tests.operator.field_sets import Object


def reference_of(item: Object) -> ObjectReference:
    """Return the reference to an object."""
    return ObjectReference(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"])


def shown(reference: ObjectReference) -> str:
    """Return an object's name as the server's messages have it: `jobs.batch "mc"`."""
    resource = RESOURCES[reference.kind]
    group = resource.version.rpartition("/")[0]
    return f'{resource.plural}{"." if group else ""}{group} "{reference.name}"'


def matches(item: Object | None, labels: str) -> bool:
    """Whether a label selector (`a=b,c`) selects an object."""
    if item is None:
        return False
    there = item["metadata"].get("labels") or {}
    wanted = [each.partition("=") for each in labels.split(",") if each]
    return all(there.get(key) == value if sign else key in there for key, sign, value in wanted)


def bare(item: Object) -> Object:
    """Return an object's metadata, as the server does where that was asked for."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": item["metadata"],
    }
