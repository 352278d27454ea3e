"""The dependencies of the job manager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from broker_config.formats.jobid import IdMaker
    from broker_config.formats.resource_set import Node
    from minicluster.embedded.jobs.queues import Queues
    from minicluster.embedded.jobs.scheduler import Scheduler
    from minicluster.embedded.jobs.store import Store
    from minicluster.embedded.ports import JSON, Executor, Listener


@dataclass(frozen=True, slots=True)
class Parts:
    """What all parts of the job manager use; made before the first job."""

    store: Store
    scheduler: Scheduler
    nodes: Sequence[Node]
    """Of the instance, by rank."""
    queues: Queues
    executor: Executor
    ids: IdMaker
    owner: int
    clock: Callable[[], float]
    loop: asyncio.AbstractEventLoop
    log: Callable[[int, str], None]
    config: JSON
    """broker.toml, parsed."""
    listener: Listener | None
    """For the programs of malleable jobs."""

    def call_at(self, when: float, function: Callable[[], None]) -> asyncio.TimerHandle:
        """Call a function at time `when` of the clock."""
        return self.loop.call_later(max(0.0, when - self.clock()), function)
