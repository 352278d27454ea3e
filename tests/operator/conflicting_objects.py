"""Objects of somebody else that have the names of the operator's own."""

from dataclasses import dataclass, field

from minicluster.kube_client.objects import ObjectReference
from tests.operator.field_sets import Object
from tests.operator.memory_store import Store
from tests.operator.objects import NAMESPACE


@dataclass
class ConflictingObjects:
    """Those that there are, as their owner made them."""

    store: Store
    items: dict[ObjectReference, Object] = field(default_factory=dict)

    def occupy(self, kind: str, name: str) -> None:
        """Have somebody else own an object that has this name."""
        reference = ObjectReference(kind, NAMESPACE, name)
        if reference not in self.store.objects:
            item = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}}
            self.items[reference] = self.store.create({**item, "spec": {"parallelism": 1}}, "somebody")

    def free(self) -> None:
        """Have the foreign objects go; whether they were left alone is looked at first."""
        self.check()
        for reference in list(self.items):
            self.store.delete(reference)
        self.items.clear()

    def check(self) -> None:
        """Fail where somebody else's object is not as it was."""
        for reference, item in self.items.items():
            assert self.store.objects.get(reference) == item, f"{reference} was somebody else's"
