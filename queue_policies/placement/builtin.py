"""The placements of this package by their names; each module is imported when its placement is asked for."""

CLASSES = {
    "low-rank": "queue_policies.placement.low_rank:LowRank",
    "spread": "queue_policies.placement.spread:SpreadNodes",
    "pack": "queue_policies.placement.pack:PackNodes",
    "random": "queue_policies.placement.random_nodes:RandomNodes",
    "task-group": "queue_policies.placement.task_group:TaskGroup",
    "balanced": "queue_policies.placement.balanced:Balanced",
}
"""Where each placement's class is, by its `name`."""
