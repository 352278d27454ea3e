"""A cluster that only counts units, and knows no nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from queue_policies.records import Request, Sketch


@dataclass(frozen=True, slots=True)
class Units:
    """A request for a number of units."""

    size: int

    def sized(self, size: int) -> Units:
        """Return a request for `size` units."""
        return Units(size)


class CountingCluster:
    """A number of units, and how many of them each job holds."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.free = total  # negative while more is held than there is, after units were lost
        self.held: dict[int, int] = {}

    def sketch(self) -> Sketch:
        """Return a scratch copy of the present state."""
        return CountingSketch(self.free, self.held)

    def hold(self, job: int, size: int) -> None:
        """Set the job's units to `size`."""
        self.free -= size - self.held.get(job, 0)
        self.held[job] = size

    def release(self, job: int) -> None:
        """Release all units of the job."""
        self.free += self.held.pop(job, 0)

    def resize(self, total: int) -> None:
        """Set the number of the cluster's units."""
        self.free += total - self.total
        self.total = total


class CountingSketch:
    """A scratch copy of the counts."""

    __slots__ = ("_held", "_placed", "free")

    def __init__(self, free: int, held: dict[int, int], placed: dict[int, int] | None = None) -> None:
        self.free = free
        self._held = held
        self._placed = {} if placed is None else placed

    def fits(self, request: Request) -> bool:
        """Return whether enough units are free."""
        return request.size <= self.free

    def take(self, job: int, request: Request) -> bool:
        """Give the job the requested units and return True, or change nothing and return False."""
        size = request.size
        if size > self.free:
            return False
        self._placed[job] = size
        self.free -= size
        return True

    def holds(self, job: int) -> bool:
        """Return whether the job was placed here."""
        return job in self._placed

    def give(self, job: int) -> None:
        """Release the job's units."""
        self.free += self._placed.pop(job) if job in self._placed else self._held[job]

    def mirror(self, other: Sketch, job: int) -> None:
        """Give the job as many units as it has in `other`."""
        self._placed[job] = size = cast("CountingSketch", other)._placed[job]
        self.free -= size

    def copy(self) -> CountingSketch:
        """Return an independent copy."""
        return CountingSketch(self.free, self._held, dict(self._placed))
