"""A cluster that only counts units: places are not told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from queue_policies.records import Request, Sketch


@dataclass(frozen=True, slots=True)
class Units:
    """A request for some units."""

    size: int

    def sized(self, size: int) -> Units:
        """The same for so many units."""
        return Units(size)


class CountingCluster:
    """So many units, and what each job holds of them."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.free = total  # negative while more is held than there is, after units were lost
        self.held: dict[int, int] = {}

    def sketch(self) -> Sketch:
        """The present state, to try things on."""
        return CountingSketch(self.free, self.held)

    def hold(self, job: int, size: int) -> None:
        """The job has so many units from now on, whatever it had before."""
        self.free -= size - self.held.get(job, 0)
        self.held[job] = size

    def release(self, job: int) -> None:
        """Take back what the job has."""
        self.free += self.held.pop(job, 0)

    def resize(self, total: int) -> None:
        """The cluster has so many units from now on."""
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
        """Whether so many units are free."""
        return request.size <= self.free

    def take(self, job: int, request: Request) -> bool:
        """Count the request as the job's."""
        size = request.size
        if size > self.free:
            return False
        self._placed[job] = size
        self.free -= size
        return True

    def holds(self, job: int) -> bool:
        """Whether the job was placed here."""
        return job in self._placed

    def give(self, job: int) -> None:
        """Count the job's units as free."""
        self.free += self._placed.pop(job) if job in self._placed else self._held[job]

    def mirror(self, other: Sketch, job: int) -> None:
        """Count as much for the job as in `other`."""
        self._placed[job] = size = cast("CountingSketch", other)._placed[job]
        self.free -= size

    def copy(self) -> CountingSketch:
        """An independent copy."""
        return CountingSketch(self.free, self._held, dict(self._placed))
