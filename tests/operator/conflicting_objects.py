"""Objects of somebody else that have the names of the operator's own."""

from dataclasses import dataclass, field

from tests.operator.field_sets import Object
from tests.operator.memory_objects import Place
from tests.operator.memory_store import Store
from tests.operator.objects import NAMESPACE


@dataclass
class ConflictingObjects:
    """Those that there are, as their owner made them."""

    store: Store
    items: dict[Place, Object] = field(default_factory=dict)

    def occupy(self, kind: str, name: str) -> None:
        """Have somebody else own an object that has this name."""
        place = Place(kind, NAMESPACE, name)
        if place not in self.store.objects:
            item = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}}
            self.items[place] = self.store.create({**item, "spec": {"parallelism": 1}}, "somebody")

    def free(self) -> None:
        """Have the foreign objects go; whether they were left alone is looked at first."""
        self.check()
        for place in list(self.items):
            self.store.delete(place)
        self.items.clear()

    def check(self) -> None:
        """Fail where somebody else's object is not as it was."""
        for place, item in self.items.items():
            assert self.store.objects.get(place) == item, f"{place} was somebody else's"
