"""Elastic jobs as their jobspec has them: `attributes.user.elastic`, sizes in workers.

    flux submit -n 1 --setattr=user.elastic.min=1 --setattr=user.elastic.max=4 …

A worker is a task: one a slot, or one a node where the job asks for nodes. The size is chosen between `min`
and `max` when the job starts; the number asked for does not count. With `malleable` (default: false) it may
change while the job runs, once its program said that it heeds orders (`minicluster.malleable`).
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from minicluster.embedded.errors import RpcError
from minicluster.embedded.resource_set import ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.embedded.jobspec import Resources
    from minicluster.embedded.resource_set import Holding, Share
    from minicluster.embedded.taskmap import Node

_WHERE = "attributes.user.elastic"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of workers with which a job can run."""

    least: int
    most: int
    malleable: bool = False


def sizes_of(attributes: Mapping[str, Any], resources: Resources, count: Mapping[str, int]) -> Sizes | None:
    """The sizes that a jobspec's attributes name, or None: it is rigid. Raises RpcError with the reason.

    `count` is that of the jobspec's task section.
    """
    user = attributes.get("user")
    table = user.get("elastic") if isinstance(user, dict) else None
    if table is None:
        return None
    sizes = _table(table)
    _check_tasks(resources, count, _per_resource(attributes["system"]))
    return sizes


def _table(table: Any) -> Sizes:
    if not isinstance(table, dict):
        raise _refused(f"{_WHERE} must be a mapping with min, max and perhaps malleable")
    for key in table:
        if key not in ("min", "max", "malleable"):
            raise _refused(f"{_WHERE}: unknown key '{key}': min, max and malleable are known")
    for key in ("min", "max"):
        if key not in table:
            raise _refused(f"{_WHERE}.{key} is missing: a least and a largest size are needed")
        value = table[key]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise _refused(f"{_WHERE}.{key} must be an integer > 0, not {value!r}")
    if table["min"] > table["max"]:
        raise _refused(f"{_WHERE}: min {table['min']} is greater than max {table['max']}")
    malleable = table.get("malleable", False)
    if malleable not in (False, True):
        raise _refused(f"{_WHERE}.malleable must be true or false, not {malleable!r}")
    return Sizes(table["min"], table["max"], bool(malleable))


def _per_resource(system: Mapping[str, Any]) -> object:
    shell = system.get("shell")
    options = shell.get("options") if isinstance(shell, dict) else None
    return options.get("per-resource") if isinstance(options, dict) else None


def _check_tasks(resources: Resources, count: Mapping[str, int], per_resource: object) -> None:
    one_a_slot = count.get("per_slot") == 1 and per_resource is None
    if not one_a_slot or (resources.nodes and resources.slots != 1):
        raise _refused(
            "an elastic job runs one task a slot (-n), or one task a node (-N): tasks cannot be counted"
            " otherwise"
        )


def _refused(reason: str) -> RpcError:
    return RpcError(errno.EPERM, reason)


def counted(resources: Resources, cores: Iterable[int]) -> Resources:
    """The request as it is counted: whole nodes with all cores, of which each node that suits has so many."""
    if not resources.exclusive:
        return resources
    each = min((n for n in cores if n >= resources.slots * resources.cores), default=resources.cores)
    return replace(resources, cores=max(each // resources.slots, resources.cores))


@dataclass(frozen=True, slots=True)
class Place:
    """What one worker holds on its rank."""

    rank: int
    share: Share


def places(holding: Holding, request: Resources) -> list[Place]:
    """What each worker gets of a holding, ranks rising: all of its node, or a slot's cores and GPUs."""
    found = []
    for rank, share in sorted(holding.items()):
        if request.nodes or request.exclusive:
            found.append(Place(rank, share))
        else:
            found += [Place(rank, part) for part in _slots(share, request)]
    return found


def _slots(share: Share, request: Resources) -> list[Share]:
    cores, gpus = list(ids(share[0])), list(ids(share[1]))
    return [
        (
            _bits(cores[number * request.cores : (number + 1) * request.cores]),
            _bits(gpus[number * request.gpus : (number + 1) * request.gpus]),
        )
        for number in range(len(cores) // request.cores)
    ]


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def holding(taken: Iterable[Place]) -> Holding:
    """What some workers hold together."""
    found: Holding = {}
    for place in taken:
        cores, gpus = found.get(place.rank, (0, 0))
        found[place.rank] = (cores | place.share[0], gpus | place.share[1])
    return found


def with_task(node: Node, task: int, place: Place) -> Node:
    """The node of a layout with one more task, and what that holds."""
    return replace(
        node,
        tasks=(*node.tasks, task),
        cores=tuple(sorted({*node.cores, *ids(place.share[0])})),
        gpus=tuple(sorted({*node.gpus, *ids(place.share[1])})),
    )


def without_task(node: Node, task: int, place: Place) -> Node:
    """The node of a layout without a task, and without what that held."""
    return replace(
        node,
        tasks=tuple(each for each in node.tasks if each != task),
        cores=tuple(each for each in node.cores if not place.share[0] >> each & 1),
        gpus=tuple(each for each in node.gpus if not place.share[1] >> each & 1),
    )
