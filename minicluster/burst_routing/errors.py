"""The errors of routing; their texts are what a submitter reads.

RoutingError             ValueError, as Flux's ingest passes on the text of one
├── BurstableError       the attribute `burstable` is none
├── SlotQueueError       a job is submitted into the queue of a slot
└── BurstingTableError   broker.toml: the table [minicluster.bursting] is wrong
"""

from __future__ import annotations


class RoutingError(ValueError):
    """A job or a configuration is refused."""


class BurstableError(RoutingError):
    """`attributes.system.burstable` is neither a truth value nor the name of a provider."""


class SlotQueueError(RoutingError):
    """Only the burst service brings jobs into the queue of a slot."""


class BurstingTableError(RoutingError):
    """`[minicluster.bursting]` of broker.toml has no list of slots."""
