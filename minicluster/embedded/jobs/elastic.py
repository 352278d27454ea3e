"""A job's layout with a task added or removed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_config.formats.idset import ids_of

if TYPE_CHECKING:
    from minicluster.embedded.jobs.taskmap import NodeTasks
    from queue_policies.nodes.records import Slot


def with_task(node: NodeTasks, task: int, slot: Slot) -> NodeTasks:
    """Return the node with one more task, and its slot's resources."""
    return replace(
        node,
        tasks=(*node.tasks, task),
        cores=tuple(sorted({*node.cores, *ids_of(slot.resources[0])})),
        gpus=tuple(sorted({*node.gpus, *ids_of(slot.resources[1])})),
    )


def without_task(node: NodeTasks, task: int, slot: Slot) -> NodeTasks:
    """Return the node without a task, and without its slot's resources."""
    return replace(
        node,
        tasks=tuple(each for each in node.tasks if each != task),
        cores=tuple(each for each in node.cores if not slot.resources[0] >> each & 1),
        gpus=tuple(each for each in node.gpus if not slot.resources[1] >> each & 1),
    )
