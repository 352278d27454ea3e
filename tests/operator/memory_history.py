"""The clock of an API server in memory, and all that ever happened to its objects."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.objects import ObjectReference
from tests.operator.field_sets import Object


@dataclass(slots=True)
class Clock:
    """The server's time; it passes only by `advance`."""

    now: datetime = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)

    def text(self) -> str:
        """Return the time as objects carry it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Change:
    """A step in the history: an object before and after, None where there was or is none."""

    version: int
    reference: ObjectReference
    old: Object | None
    new: Object | None


@dataclass(slots=True)
class History:
    """Changes in their order; `version` is that of the last one, `oldest` of the last one forgotten."""

    changes: list[Change] = field(default_factory=list)
    version: int = 1
    oldest: int = 0
    listeners: list[Callable[[], None]] = field(default_factory=list)

    def record(self, reference: ObjectReference, old: Object | None, new: Object | None) -> None:
        """Add a change; what is new gets its version."""
        self.version += 1
        if new is not None:
            new["metadata"]["resourceVersion"] = str(self.version)
        self.changes.append(Change(self.version, reference, old, new))
        for listener in list(self.listeners):
            listener()

    def forget(self) -> None:
        """Forget all changes up to now: a watch from an earlier version must list again."""
        self.oldest = self.version

    def since(self, version: int, kind: str) -> Iterator[Change]:
        """Return the changes of a kind after a version; ApiError 410 where they are forgotten."""
        if version < self.oldest:
            raise ApiError(410, "Expired", f"too old resource version: {version} ({self.oldest})")
        later = (change for change in self.changes if change.version > version)
        return (change for change in later if change.reference.kind == kind)
