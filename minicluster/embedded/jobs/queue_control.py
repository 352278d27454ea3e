"""The requests about queues: list, status, start and stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats.job_states import JobState

if TYPE_CHECKING:
    from minicluster.embedded.jobs.job_manager import JobManager
    from minicluster.embedded.jobs.job_waits import JobWaits
    from minicluster.embedded.services import RpcRequest

JSON = dict[str, Any]


class QueueControl:
    """Answers job-manager.queue-*."""

    def __init__(self, manager: JobManager, waits: JobWaits) -> None:
        self._manager = manager
        self._parts = manager.parts
        self._waits = waits

    def list(self, _request: RpcRequest) -> JSON:
        """job-manager.queue-list: the named queues."""
        return {"queues": self._parts.queues.names()}

    def config(self, _request: RpcRequest) -> JSON:
        """config.get: the tables about queues alone, and what is managed of bursts."""
        config = self._parts.config
        found: JSON = {table: config[table] for table in ("policy", "queues") if table in config}
        bursting = config.get("minicluster", {}).get("bursting")
        return found if bursting is None else {**found, "minicluster": {"bursting": bursting}}

    def status(self, request: RpcRequest) -> JSON:
        """job-manager.queue-status."""
        status = self._parts.queues[request.payload.get("name")].status()
        trouble = self._manager.commits.trouble
        return status if trouble is None else {**status, "start": False, "stop_reason": trouble}

    def start(self, request: RpcRequest) -> JSON:
        """job-manager.queue-start: whether jobs may start."""
        start, reason = request.need("start", bool), request.payload.get("reason")
        queues = self._parts.queues
        for queue in queues.choose(request.payload.get("name"), bool(request.payload.get("all", False))):
            queue.stopped = None if start else reason or ""
        self._parts.store.values.set("queues", queues.save())
        self._manager.commits.schedule()
        for job in tuple(self._manager.active.values()):
            if job.state == JobState.SCHED:
                self._manager.admission.enqueue(job)
        self._waits.check_idle()
        return {}
