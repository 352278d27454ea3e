"""Small indexes: read as mappings, changed by their methods alone. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from minicluster.kube_client.objects import Name, ObjectReference
    from minicluster.operator.records import BrokerPod
    from minicluster.plan import Dump, ObservedObject, RestartReport

K = TypeVar("K")
V = TypeVar("V")


class Index(Mapping[K, V]):
    """What is known, by key."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        """Return what is known of a key."""
        return self._known[key]

    def __iter__(self) -> Iterator[K]:
        """Return the keys."""
        return iter(self._known)

    def __len__(self) -> int:
        """Return how many keys are known."""
        return len(self._known)

    def put(self, key: K, value: V | None) -> bool:
        """Set the value of a key, None: no value; return whether that changes anything."""
        if value == self._known.get(key):
            return False
        if value is None:
            del self._known[key]
        else:
            self._known[key] = value
        return True

    def discard(self, key: K) -> None:
        """Forget a key, if it is known."""
        self._known.pop(key, None)


class Conflicts(Index["Name", "dict[ObjectReference, ObservedObject]"]):
    """The conflicting objects: another owner controls them, and they have the names of a MiniCluster's own.

    No watch reports them (they need not have our labels), so they were read.
    """

    __slots__ = ()

    def add(self, name: Name, reference: ObjectReference, item: ObservedObject) -> None:
        """Take in a conflicting object."""
        self._known.setdefault(name, {})[reference] = item

    def remove(self, name: Name, reference: ObjectReference) -> None:
        """Take in that an object does not conflict any more."""
        found = self._known.get(name, {})
        found.pop(reference, None)
        if not found:
            self.discard(name)

    def at(self, reference: ObjectReference) -> set[Name]:
        """Return the MiniClusters with which an object conflicts."""
        return {name for name, found in self._known.items() if reference in found}


class LeadAnswers(Index["Name", "dict[str, RestartReport]"]):
    """The lead's last answers to the commands that return jobs, by action."""

    __slots__ = ()

    def add(self, name: Name, action: str, answer: RestartReport) -> None:
        """Take in an answer."""
        self._known.setdefault(name, {})[action] = answer


class Dumps(Index["Name", "tuple[str, Dump]"]):
    """The newest dump of a lead whose pod is gone, with its Job's UID."""

    __slots__ = ()

    def add(self, name: Name, job_uid: str, dump: Dump) -> None:
        """Take in a dump, unless a newer one of the same Job is known."""
        uid, known = self._known.get(name, ("", None))
        if known is None or uid != job_uid or known.time < dump.time:
            self._known[name] = job_uid, dump


class DisruptedPods(Index["Name", "dict[int, BrokerPod]"]):
    """The followers' pods that Kubernetes took away and that are gone, by rank."""

    __slots__ = ()

    def add(self, name: Name, pod: BrokerPod) -> None:
        """Take in that a disrupted pod is gone."""
        self._known.setdefault(name, {})[pod.report.index] = pod

    def replaced(self, name: Name, ranks: Iterable[int]) -> None:
        """Take in that other brokers have joined with these ranks."""
        for rank in ranks:
            self._known[name].pop(rank, None)
