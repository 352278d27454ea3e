"""The policies of this package by their names; each module is imported when its policy is asked for.

A lead runs one of them, and starts the sooner for it.
"""

CLASSES = {
    "fcfs": "queue_policies.fcfs:Fcfs",
    "backfill": "queue_policies.backfill:Backfill",
    "easy": "queue_policies.easy:Easy",
    "conservative": "queue_policies.conservative:Conservative",
    "preemptive": "queue_policies.preemptive:Preemptive",
    "rigid-min": "queue_policies.rigid_min:RigidMin",
    "rigid-max": "queue_policies.rigid_max:RigidMax",
    "moldable": "queue_policies.moldable:Moldable",
    "priority-elastic": "queue_policies.priority_elastic:PriorityElastic",
    "water-filling": "queue_policies.water_filling:WaterFilling",
    "malleable": "queue_policies.malleable:Malleable",
    "min-agreement": "queue_policies.min_agreement:MinAgreement",
    "common-pool": "queue_policies.common_pool:CommonPool",
    "cosched": "queue_policies.cosched.cosched:Cosched",
    "static": "queue_policies.cosched.static:Static",
}
"""Where each policy's class is, by its `name`."""
