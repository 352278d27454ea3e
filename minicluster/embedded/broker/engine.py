"""The job engine of a lead broker: builds its parts, registers its topics, and closes it."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from broker_config.formats.constraints import matches
from broker_config.formats.job_states import JobState
from broker_config.formats.jobid import IdMaker
from broker_config.formats.resource_set import nodes_of
from minicluster.burst_routing.errors import RoutingError
from minicluster.burst_routing.routing import configured as configured_routing
from minicluster.embedded import log, ports
from minicluster.embedded.configuration import order_timeout
from minicluster.embedded.errors import ConfigurationError, SchedulerError, StorageFull
from minicluster.embedded.jobs import dump
from minicluster.embedded.jobs.co_scheduling import described
from minicluster.embedded.jobs.configured_domains import configured_domains
from minicluster.embedded.jobs.job_control import JobControl
from minicluster.embedded.jobs.job_info import JobInfo
from minicluster.embedded.jobs.job_list import JobList
from minicluster.embedded.jobs.job_manager import JobManager
from minicluster.embedded.jobs.job_waits import JobWaits
from minicluster.embedded.jobs.parts import Parts
from minicluster.embedded.jobs.queue_control import QueueControl
from minicluster.embedded.jobs.queues import Queues
from minicluster.embedded.jobs.replay import replay
from minicluster.embedded.jobs.resource_status import ResourceStatus
from minicluster.embedded.jobs.scheduler import Scheduler, placement_of, placement_text, policy_of
from minicluster.embedded.jobs.store import Store
from queue_policies.core_sharing import needs_sharing
from queue_policies.nodes.pool import Pool
from queue_policies.sharing import CoreSharing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_config.formats.resource_set import Node
    from minicluster.burst_routing.routing import Routing
    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import Registry, RpcHandler
    from queue_policies.policy import Policy
    from queue_policies.records import Action
    from queue_policies.records import State as SchedulerState

DATABASE = "jobs.sqlite"


class LeadEngine:
    """The engine as the lead broker uses it."""

    def __init__(self, manager: JobManager, resources: ResourceStatus) -> None:
        self._manager = manager
        self.membership = resources
        self.events = manager.reports
        self.waits = JobWaits(manager)
        self.control = JobControl(manager, self.waits)
        self.queues = QueueControl(manager, self.waits)
        self.listing = JobList(manager)
        self.info = JobInfo(manager)

    @property
    def policy(self) -> str:
        """Return the name of the queue policy that decides, and the placement that broker.toml names."""
        parts = self._manager.parts
        placement = placement_text(parts.config)
        return f"{parts.scheduler.policy.name}{f', placement {placement}' if placement else ''}"

    def start_queue(self) -> None:
        """Begin to schedule."""
        self._manager.decisions.ready = True
        self._manager.commits.schedule()

    async def drain_all(self, timeout: float) -> bool:
        """End every running job and wait; return False where some still run. Waiting jobs stay stored.

        As with Flux, whose third cleanup command is `flux cancel`, what is ended is counted in a line.
        """
        self._manager.decisions.ready = False
        ended = [job for job in self._manager.active.values() if job.state == JobState.RUN]
        for job in ended:
            self._manager.lifecycle.raise_exception(job, "cancel", 0, "instance is shutting down")
        if ended:
            jobs = "1 job" if len(ended) == 1 else f"{len(ended)} jobs"
            self._manager.parts.log(log.ERR, f"cleanup.2: flux-cancel: Canceled {jobs} (0 errors)")
        deadline = asyncio.get_running_loop().time() + timeout
        while running := [j for j in self._manager.active.values() if j.state in JobState.RUNNING]:
            left = deadline - asyncio.get_running_loop().time()
            try:
                await asyncio.wait_for(self._manager.watchers.changed(running[0].id), left)
            except TimeoutError:
                return False
        return True

    def dump(self, path: str) -> int:
        """Write every job to `path` and return how many. Raises DumpError."""
        self._manager.commits.write()
        return dump.write(self._manager.parts.store.database.copy_to, Path(path))

    def close(self) -> None:
        """Write pending changes and close the store."""
        parts = self._manager.parts
        for each in (parts.listener, parts.scheduler.recorder):
            if each is not None:
                each.close()
        try:
            parts.store.close()
        except StorageFull as lost:
            parts.log(log.ERR, str(lost))


def build_lead_services(context: ports.LeadContext, registry: Registry) -> LeadEngine:
    """Open (or restore) the job data, load its jobs, and register the engine's topics.

    Raises StorageError, DumpError, SchedulerError or ConfigurationError: then the lead cannot start.
    """
    clock = context.clock or time.time
    path = Path(context.statedir) / DATABASE
    if context.restore is not None:
        dump.restore(Path(context.restore), path, context.log)
    store = Store(path)
    manager = JobManager(_parts(context, store, clock))
    resources = ResourceStatus(manager, clock)
    manager.parts.queues.restore(store.values.get("queues"))
    replay(manager)
    engine = LeadEngine(manager, resources)
    _register(registry, engine, manager, resources)
    return engine


def _parts(context: ports.LeadContext, store: Store, clock: ports.Clock) -> Parts:
    epoch = store.values.get("epoch")
    if epoch is None:
        epoch = repr(clock())
        store.values.set("epoch", epoch)
    order_timeout(context.config)  # refuses what it cannot read, before a malleable job needs it
    nodes = nodes_of(context.R)
    policy = policy_of(context.config, context.log)
    pool = Pool(_with_domains(context.config, nodes), matches, placement_of(context.config, context.log))
    scheduler = Scheduler(pool, policy, context.log)
    if needs_sharing(policy):
        found = _enforcement(context, policy)
        sharing = CoreSharing(whole_cores=found.whole_cores)
        scheduler.co_scheduling.open(sharing, found.way, policy.name, store.values)
    decisions = context.config.get("minicluster", {}).get("decisions")
    if decisions is not None:
        scheduler.recorder = DecisionFile(str(decisions), scheduler.policy.name)
    return Parts(
        store=store,
        scheduler=scheduler,
        nodes=nodes,
        queues=Queues(context.config, _routing(context.config, nodes)),
        executor=context.executor,
        ids=IdMaker(float(epoch), store.jobs.largest_id()),
        owner=context.owner,
        clock=clock,
        loop=context.loop or asyncio.get_running_loop(),
        log=context.log,
        config=context.config,
        listener=context.listener,
    )


def _with_domains(config: JSON, nodes: Sequence[Node]) -> Sequence[Node]:
    configured = configured_domains(config, nodes)
    return nodes if configured is None else [each._replace(domains=configured[each.rank]) for each in nodes]


def _enforcement(context: ports.LeadContext, policy: Policy) -> ports.QuotaEnforcement:
    """Return what enforces quotas. Raises SchedulerError where nothing does."""
    found = ports.QuotaEnforcement("", False, "") if context.enforcement is None else context.enforcement()
    if not found.way:
        raise SchedulerError(
            f"queue policy {policy.name} has jobs share cores, and nothing enforces CPU quotas here; one of"
            f" these would: {found.others or 'none was looked for'}"
        )
    context.log(log.INFO, f"CPU quotas are enforced by {found.way}")
    return found


def _routing(config: JSON, nodes: Sequence[Node]) -> Routing | None:
    try:
        return configured_routing(config, nodes)
    except RoutingError as error:
        raise ConfigurationError(str(error)) from error


class DecisionFile:
    """Appends each decision to a file: `[minicluster] decisions` of broker.toml."""

    def __init__(self, path: str, policy: str) -> None:
        from queue_policies.decision_log import encode  # noqa: PLC0415 - seldom needed

        self._encode = encode
        self._policy = policy
        try:
            self._file = Path(path).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115 - see close
        except OSError as error:
            message = f"broker.toml, [minicluster] decisions = {path!r}: {error.strerror}"
            raise ConfigurationError(message) from error

    def __call__(self, state: SchedulerState, now: float, actions: Sequence[Action]) -> None:
        """Record a decision; write errors, such as of a full disk, are ignored."""
        with suppress(OSError):
            self._file.write(self._encode(self._policy, state, now, actions) + "\n")

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._file.close()


def _register(registry: Registry, engine: LeadEngine, manager: JobManager, resources: ResourceStatus) -> None:
    control, waits, queues = engine.control, engine.waits, engine.queues
    listing, info, scheduler = engine.listing, engine.info, manager.parts.scheduler
    topics: dict[str, RpcHandler] = {
        "job-ingest.submit": control.submit,
        "feasibility.check": control.feasible,
        "job-manager.raise": control.raise_,
        "job-manager.raiseall": control.raiseall,
        "job-manager.kill": control.kill,
        "job-manager.urgency": control.urgency,
        "job-manager.update": control.update,
        "minicluster-sched.resize": control.resize,
        "minicluster-sched.sharing": lambda _request: described(scheduler.co_scheduling, scheduler.policy),
        "job-manager.wait": waits.wait,
        "job-manager.drain": waits.drain,
        "job-manager.idle": waits.idle,
        "config.get": queues.config,
        "job-manager.queue-list": queues.list,
        "job-manager.queue-status": queues.status,
        "job-manager.queue-start": queues.start,
        "job-manager.history.get": listing.history,
        "job-manager.events-journal": info.journal,
        "minicluster-jobs.attributes": info.user_attributes,
        "job-list.list": listing.list,
        "job-list.list-id": listing.list_id,
        "job-list.job-stats": listing.stats,
        "job-info.lookup": info.lookup,
        "job-info.eventlog-watch": info.watch,
        "resource.status": resources.status,
        "resource.drain": resources.drain,
        "resource.undrain": resources.undrain,
        "resource.sched-status": resources.sched_status,
        "sched.resource-status": resources.sched_status,
        "content.dump": lambda request: dump.dump(manager, request),
    }
    for topic, handler in topics.items():
        registry.register(topic, handler)
