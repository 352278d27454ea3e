"""The malleable jobs of the scheduler's module. Their errors are logged, and never end the module."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_config.formats.bootstrap import lead_host
from broker_config.formats.jobspec import Companion, companion_of
from broker_config.formats.resource_set import summary
from minicluster.flux_scheduler import resize_request
from minicluster.flux_scheduler.companion_jobspec import with_credentials
from minicluster.flux_scheduler.companions import Companions
from minicluster.flux_scheduler.flux_jobs import FluxJobs
from minicluster.flux_scheduler.listener import ReactorListener
from minicluster.flux_scheduler.task_shapes import admitted_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.flux_scheduler.ranks import Ranks
    from minicluster.flux_scheduler.scheduling import Scheduling, StartedJob
    from queue_policies.orders.records import GrowOrder, ShrinkOrder

SHELL_PLUGIN = "minicluster-malleable.lua"


def owner_of(handle: Any) -> int | None:
    """Return the user whose jobs can be malleable; None: no job can.

    Programs get the scheduler's address from the job shell's plug-in alone, see malleable.lua.
    """
    shells = handle.attr_get("conf.shell_initrc") or ""
    has_plugin = (Path(shells).parent / "lua.d" / SHELL_PLUGIN).exists()
    return os.getuid() if has_plugin else None


class MalleableSide:
    """Connects the module with `Companions`, which is loaded with the first malleable job.

    `limit` is the seconds that a program has to answer.
    """

    def __init__(
        self,
        handle: Any,
        log: Any,
        scheduling: Callable[[], Scheduling],
        limit: float,
        schedule_decision: Callable[[], None],
    ) -> None:
        self._handle = handle
        self._log = log
        self._scheduling = scheduling
        self._limit = limit
        self._jobs = FluxJobs(handle, self._guarded, schedule_decision, log.debug)
        self._companions: Companions | None = None
        self._before: set[int] = set()  # jobs that ran before, until their jobspecs are read

    def _loaded(self) -> Companions:
        """Return the malleable jobs; the first call also makes the listener for their programs."""
        if self._companions is None:
            ranks = self._ranks
            self._companions = Companions(
                self._jobs, self._scheduling(), lambda rank: ranks.nodes[rank].host, self._limit
            )
            host = lead_host({"bootstrap": self._handle.conf_get("bootstrap") or {}})
            self._jobs.listener = ReactorListener(self._handle, host, self._companions, self._guarded)
        return self._companions

    @property
    def _ranks(self) -> Ranks:
        return self._scheduling().allocations.ranks

    def _guarded(self, call: Callable[[], None]) -> None:
        """Call a function, and log what it raises."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - the module must stay
            self._log.warning(f"malleable jobs: {type(error).__name__}: {error}")

    def hello(self, jobid: int) -> None:
        """Find out whether a job that ran before is a companion, and what its tasks are like."""
        self._before.add(jobid)
        self._jobs.fetch_jobspec(jobid, partial(self._on_jobspec, jobid))

    def _on_jobspec(self, jobid: int, jobspec: dict[str, Any] | None) -> None:
        if jobid in self._before:
            self._before.discard(jobid)
            whose = None if jobspec is None else companion_of(jobspec)
            if whose is not None:
                self._loaded().adopt({jobid: whose.of}, self._scheduling().running)
            elif jobspec is not None:
                self._scheduling().allocations.know_shape(jobid, admitted_shape(jobspec))

    def allocate(self, request: Any, jobid: int, whose: Companion) -> None:
        """Answer a companion's request with the resources that are reserved for it."""
        try:
            self._allocate(request, jobid, whose)
        except Exception as error:  # noqa: BLE001 - the module must stay
            self.ended(jobid)
            request.deny(f"cannot be placed: {type(error).__name__}: {error}")

    def _allocate(self, request: Any, jobid: int, whose: Companion) -> None:
        claimed = self._loaded().claim(jobid, whose)
        if isinstance(claimed, str):
            request.deny(claimed)
            return
        allocation, credentials = claimed
        resources = self._ranks.encode(allocation, starttime=time.time(), expiration=0.0, nslots=1)
        shown = {"resource_summary": summary(allocation), "companion_of": whose.of}
        request.success(with_credentials(resources, credentials), {"sched": shown})

    def order(self, orders: Iterable[GrowOrder | ShrinkOrder]) -> None:
        """Pass orders on to programs."""
        for order in orders:
            self._guarded(partial(self._loaded().order, order))

    def resize(self, jobid: int, workers: int, on_end: Callable[[str], None]) -> int:
        """Order a running job to have this number of workers, as `resize_request.order` does."""
        return resize_request.order(self._scheduling(), self._companions, jobid, workers, on_end)

    def begin(self, started: StartedJob, resources: Any) -> Any:
        """Return the R of a malleable job with its tasks' credentials."""
        credentials = self._loaded().begin(started.job.id, started.allocation, started.more)
        return with_credentials(resources, credentials)

    def ended(self, jobid: int) -> bool:
        """Note a job's end; return whether its resources belong to its base job."""
        self._before.discard(jobid)
        try:
            return self._companions is not None and self._companions.ended(jobid)
        except Exception as error:  # noqa: BLE001 - the module must stay
            self._log.warning(f"malleable jobs: {type(error).__name__}: {error}")
            return False
