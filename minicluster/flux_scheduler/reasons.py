"""Why a job waits, as text for its user."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from broker_config.formats.jobid import f58
from queue_policies.nodes.obstacles import obstacle

if TYPE_CHECKING:
    from broker_config.formats.jobspec import RequestedResources
    from minicluster.flux_scheduler.scheduling import Scheduling
    from queue_policies.records import QueuedJob, Sketch

FAILED = "{what} failed, and is asked again when something changes"
DOWN = "needs nodes that are down or drained"
SHORT = "needs {wanted}; {free} free"
BEHIND = "its resources are free, but queue policy {name} keeps them for job {first}"
KEPT = "its resources are free, but queue policy {name} does not start it yet"


class Reasons:
    """The reasons at one moment. Jobs with equal requests have the same reason, so it is computed once."""

    def __init__(self, scheduling: Scheduling) -> None:
        self._scheduling = scheduling
        self._now = scheduling.pool.sketch()
        self._known: dict[RequestedResources, str] = {}
        self._all: Sketch | None = None
        self._first = next(iter(scheduling.queue), None)

    def of(self, job: QueuedJob) -> str:
        """Return why this queued job does not run."""
        scheduling = self._scheduling
        if scheduling.defect:
            return FAILED.format(what=self._failed())
        request = cast("RequestedResources", job.request)
        if request not in self._known:
            self._known[request] = self._missing(request)
        return self._known[request] or self._kept(job)

    def _failed(self) -> str:
        placement = self._scheduling.pool.placement
        if placement is not None and self._scheduling.defect.startswith(f"placement {placement.name} "):
            return f"placement {placement.name}"
        return f"queue policy {self._scheduling.policy.name}"

    def _kept(self, job: QueuedJob) -> str:
        name = self._scheduling.policy.name
        if self._first is None or self._first.id == job.id:
            return KEPT.format(name=name)
        return BEHIND.format(name=name, first=f58(self._first.id))

    def _missing(self, request: RequestedResources) -> str:
        if self._now.fits(request):
            return ""
        if self._all is None:
            self._all = self._now.copy()
            for job in self._scheduling.running:
                self._all.give(job)
        if not self._all.fits(request):
            return DOWN
        if fragmented := obstacle(self._scheduling.pool, request):
            return fragmented
        return SHORT.format(wanted=wanted(request), free=free_cores(self._now.free))


def free_cores(count: int) -> str:
    """Return how many cores are free, in words."""
    return f"{_counted(count, 'core')} {'is' if count == 1 else 'are'}"


def wanted(request: RequestedResources) -> str:
    """Return what a job requests, in words."""
    gpus = f" and {request.slots * request.gpus} GPUs" if request.gpus else ""
    if request.exclusive:
        return _counted(request.nodes or request.slots, "whole node")
    cores = _counted(request.slots * request.cores, "core")
    if not request.nodes:
        return f"{cores}{gpus}"
    each = " each" if request.nodes > 1 else ""
    return f"{_counted(request.nodes, 'node')} with {cores}{gpus}{each}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
