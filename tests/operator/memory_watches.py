"""The watches of an operator over an API server in memory, which deliver at a test's calls."""

from typing import Any

from minicluster.kube_client.api import Selection
from minicluster.kube_client.resources import MINICLUSTERS
from minicluster.kube_client.watch import Watch, selections
from minicluster.plan.constants import KIND
from tests.operator.field_sets import Object
from tests.operator.live_operator import Operator
from tests.operator.memory_api import MemoryApi, event_of

SELECTIONS = {each.resource.kind: each for each in (Selection(MINICLUSTERS), *selections(()))}
KINDS = tuple(SELECTIONS)


class Watches:
    """The position of each watch in the history; the operator has listed everything before."""

    def __init__(self, api: MemoryApi, operator: Operator) -> None:
        self.api = api
        self.operator = operator
        self.positions: dict[str, int] = {}
        for kind in reversed(KINDS):
            self.relist(kind)

    def deliver(self, kind: str, count: int = 10_000) -> None:
        """Deliver the next changes of a kind to the operator."""
        later = (each for each in self.api.store.history.changes[self.positions[kind] :] if count > 0)
        for change in later:
            self.positions[kind] += 1
            event = event_of(change, SELECTIONS[kind]) if change.reference.kind == kind else None
            if event is not None:
                count -= 1
                self._take(kind, event.type, event.item)

    def redeliver(self, kind: str, count: int) -> None:
        """Set a watch back to an older version: changes are delivered once more."""
        self.positions[kind] = max(0, self.positions[kind] - count)

    def relist(self, kind: str) -> None:
        """Break a watch off, and list the kind anew: the changes in between are not delivered."""
        selection = SELECTIONS[kind]
        listing = run_now(self.api.as_manager("kubelet").list(selection))
        self.positions[kind] = len(self.api.store.history.changes)
        if kind == KIND:
            for item in listing.items:
                self.operator.controller.seen(item)
        else:
            controller = self.operator.controller
            Watch(self.api, self.operator.cache, selection, controller.changed).take(listing)

    def _take(self, kind: str, type_: str, item: Object) -> None:
        cache, controller = self.operator.cache, self.operator.controller
        if kind == KIND:
            (controller.gone if type_ == "DELETED" else controller.seen)(item)
            return
        names = cache.forget(kind, item) if type_ == "DELETED" else cache.see(kind, item)
        for name in names:
            controller.changed(name)


def run_now(work: Any) -> Any:
    """Return the result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")
