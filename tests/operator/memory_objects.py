"""Which object of an API server in memory: where it is, which selectors match it, and its metadata alone."""

from typing import NamedTuple

from minicluster.kube_client.resources import RESOURCES
from tests.operator.field_sets import Object


class Place(NamedTuple):
    """Which object."""

    kind: str
    namespace: str
    name: str

    @property
    def named(self) -> str:
        """The object as the server's messages name it: `jobs.batch "mc"`."""
        resource = RESOURCES[self.kind]
        group = resource.version.rpartition("/")[0]
        return f'{resource.plural}{"." if group else ""}{group} "{self.name}"'


def place_of(item: Object) -> Place:
    """Return where an object is."""
    return Place(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"])


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
