"""What jobs tell of their tasks: a part of what they request, and how their tasks are bound to cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from broker_config.formats.jobspec import user_of
from queue_policies.placement.records import Affinity
from queue_policies.placement.workers import floats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_config.formats.jobspec import Parsed, RequestedResources
    from minicluster.embedded.jobs.scheduler import Scheduler
    from queue_policies.placement.records import TaskShape
    from queue_policies.placement.workers import TaskWorker

    ReadShape = Callable[[Mapping[str, Any], int, int], TaskShape | None]


def with_shape(parsed: Parsed, spec: Mapping[str, Any], read: ReadShape) -> Parsed:
    """Return the job with the shape of its tasks, as far as its jobspec tells it.

    `read` is `placement.attributes.shape_of`, which raises TaskAttributeError, or `valid_shape_of`.
    """
    tasks = 0 if parsed.tasks_per is not None else parsed.ntasks
    shape = read(user_of(spec), tasks, parsed.resources.slots_in_all)
    if shape is None:
        return parsed
    return parsed._replace(resources=parsed.resources._replace(shape=shape))


class LaunchShapes:
    """How the tasks of jobs that start are divided and bound; `config` is broker.toml."""

    def __init__(self, scheduler: Scheduler, config: Mapping[str, Any]) -> None:
        self._scheduler = scheduler
        affinity = config.get("minicluster", {}).get("affinity")
        self._affinity = Affinity(affinity) if affinity else None

    def of(self, job: int) -> tuple[Mapping[int, tuple[TaskWorker, ...]], bool]:
        """Return a job's task workers by rank, and whether its tasks are to be bound to no cores."""
        running, pool = self._scheduler.running, self._scheduler.pool
        request = cast("RequestedResources", running[job].request) if job in running else None
        if request is None or (request.shape is None and pool.placement is None):
            return {}, floats(None, self._affinity)
        workers = pool.workers_of(request, pool.allocation(job))
        return workers, floats(request.shape, self._affinity)
