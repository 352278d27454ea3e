"""Objects of another owner that have the names of the operator's own."""

from dataclasses import dataclass, field

from minicluster.kube_client.objects import ObjectReference
from tests.operator.field_sets import Object
from tests.operator.memory_store import Store
from tests.operator.objects import NAMESPACE


@dataclass
class ConflictingObjects:
    """The conflicting objects that exist, as their owner made them."""

    store: Store
    items: dict[ObjectReference, Object] = field(default_factory=dict)

    def occupy(self, kind: str, name: str) -> None:
        """Create an object of another owner with this name, unless it exists."""
        reference = ObjectReference(kind, NAMESPACE, name)
        if reference not in self.store.objects:
            item = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}}
            self.items[reference] = self.store.create({**item, "spec": {"parallelism": 1}}, "somebody")

    def free(self) -> None:
        """Check that the conflicting objects were left alone, and delete them."""
        self.check()
        for reference in list(self.items):
            self.store.delete(reference)
        self.items.clear()

    def check(self) -> None:
        """Fail where a conflicting object is not as its owner made it."""
        for reference, item in self.items.items():
            assert self.store.objects.get(reference) == item, f"{reference} was somebody else's"
