"""A document as it is planned once its brokers are cut: one broker of the document becomes several.

What all brokers have together stays the same: each of `parts` brokers has that part of the CPU, memory and
devices that the document gives one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.brokers import guarantee

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from minicluster.document import Container, MiniCluster, ResourceRequirements

CPU, MEMORY = "cpu", "memory"


def parts(cluster: MiniCluster) -> int:
    """Return how many brokers each one of `spec.size` was cut into; 1 where none were cut."""
    found = cluster.status.granularity
    return found.brokers if found is not None else 1


def cut(cluster: MiniCluster) -> MiniCluster:
    """Return the document with the sizes, resources and network of its brokers as they were cut.

    Its status stays as it is stored.
    """
    found = cluster.status.granularity
    if found is None:
        return cluster
    spec, number = cluster.spec, found.brokers
    index = document.runner_index(spec)
    runner = spec.containers[index]
    each = divided(runner.resources, number)
    if found.profile != "io":
        each = guarantee.completed(each)
    containers: list[Container] = list(spec.containers)
    containers[index] = runner.model_copy(update={"resources": each})
    changed = {
        "size": spec.size * number,
        "max_size": spec.max_size * number,
        "min_size": spec.min_size * number,
        "containers": tuple(containers),
    }
    if spec.network.one_per_node != "Required":
        changed["network"] = spec.network.model_copy(update={"disable_affinity": True})
    if found.profile != "io":
        view = spec.flux.container
        resources = guarantee.completed(view.resources, otherwise=each)
        changed["flux"] = spec.flux.model_copy(
            update={"container": view.model_copy(update={"resources": resources})}
        )
    return cluster.model_copy(update={"spec": spec.model_copy(update=changed)})


def divided(resources: ResourceRequirements, number: int) -> ResourceRequirements:
    """Return the resources of each of `number` equal parts."""
    if number == 1:
        return resources
    amounts = {
        kind: {name: _part(name, text, number) for name, text in given.items()}
        for kind, given in (("limits", resources.limits), ("requests", resources.requests))
        if given
    }
    return resources.model_copy(update=amounts)


def greatest_cut(resources: ResourceRequirements, most: int) -> int:
    """Return into how many equal parts, at most `most`, resources can be cut without a loss.

    Each part has whole CPUs and whole devices. Memory is divided to the byte, upwards.
    """
    amounts = [*_whole_amounts(resources.limits), *_whole_amounts(resources.requests)]
    if not amounts or resources.claims or any(each.denominator != 1 for each in amounts):
        return 1
    whole = math.gcd(*(int(each) for each in amounts))
    return next((each for each in range(min(most, whole), 1, -1) if whole % each == 0), 1)


def _whole_amounts(given: Mapping[str, str]) -> list[Fraction]:
    """Return what must be divided without a rest: all but memory and other amounts of bytes."""
    return [document.quantity(text) for name, text in given.items() if not _is_bytes(name)]


def _is_bytes(name: str) -> bool:
    return name in {MEMORY, "ephemeral-storage"}


def _part(name: str, text: str, number: int) -> str:
    amount = document.quantity(text) / number
    return str(math.ceil(amount)) if _is_bytes(name) else str(int(amount))
