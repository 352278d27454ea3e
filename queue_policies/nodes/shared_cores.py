"""Which jobs of a pool have the same cores: a host and its guests. Such a core counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.nodes.records import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from queue_policies.nodes.records import Allocation

    AllocationOf = Callable[[int], Allocation]


class SharedCores:
    """Of each job that has cores with others: these others."""

    def __init__(self) -> None:
        self._others: dict[int, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._others)

    def join(self, guest: int, host: int) -> None:
        """Note that a job has some of the cores of another one, and of that one's guests."""
        together = {host, *self._others.get(host, ())}
        self._others[guest] = together
        for each in together:
            self._others.setdefault(each, set()).add(guest)

    def leave(self, job: int) -> Collection[int]:
        """Note that a job has no cores any more; return those that had cores with it."""
        others = self._others.pop(job, set())
        for each in others:
            self._others[each].discard(job)
            if not self._others[each]:
                del self._others[each]
        return others

    def others(self, job: int) -> Collection[int]:
        """Return the jobs that have cores with this one."""
        return self._others.get(job, ())


def without(allocation: Allocation, others: Collection[int], of: AllocationOf) -> Allocation:
    """Return what of an allocation none of the others has."""
    left = dict(allocation)
    for other in others:
        for rank, (cores, gpus) in of(other).items():
            had = left.get(rank, NOTHING)
            left[rank] = (had[0] & ~cores, had[1] & ~gpus)
    return {rank: resources for rank, resources in left.items() if resources != NOTHING}
