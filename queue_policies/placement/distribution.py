"""How tasks, CPU and memory are divided among workers (Algorithm 2), with nothing lost to rounding.

Source: Liu, Guitart, "Fine-Grained Scheduling for Containerized HPC Workloads in Kubernetes Clusters", 2022,
Algorithm 2. There a worker's request is printed as `R(cpu/Nt · n)`; it is the product of its tasks and of
what a task has. The artefact's host file counts the CPUs of the tasks; its slots are the tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def distribute(tasks: int, workers: int) -> list[int]:
    """Return how many of the tasks each worker has; the first ones have one more. Both are at least 0."""
    if not workers:
        return []
    each, more = divmod(tasks, workers)
    return [each + 1] * more + [each] * (workers - more)


def portions(total: int, tasks: Sequence[int]) -> list[int]:
    """Return the part of `total` (cores, millicores or bytes) for workers with so many tasks each.

    A part is tasks · total / all tasks, rounded so that all parts together are `total`.
    """
    in_all = sum(tasks)
    found, before, given = [], 0, 0
    for each in tasks:
        before += each
        upto = before * total // in_all
        found.append(upto - given)
        given = upto
    return found


def hostfile(hosts: Iterable[str], tasks: Iterable[int]) -> str:
    """Return MPI's host file: a line a worker, in their order, with as many slots as it has tasks."""
    return "".join(f"{host} slots={count}\n" for host, count in zip(hosts, tasks, strict=True))
