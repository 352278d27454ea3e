"""A world of one operator: an API server in memory, the operator's parts, watches that a test drives.

Time is virtual. The operator's own code runs as in the process (controller, queue, reconciler, cache). The
test decides what each watch delivers and when, which writes fail, and when the process dies.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from broker_config import curve
from minicluster.kube_client.objects import Name, ObjectReference
from minicluster.operator.records import LeadReport, Unreachable
from minicluster.plan import FreshKeys, LeadCommand, LeadKeys, Site
from tests.operator import memory_jobs
from tests.operator.conflicting_objects import ConflictingObjects
from tests.operator.contents import MINICLUSTER, NAME, Contents
from tests.operator.faults import Armed
from tests.operator.field_sets import Object
from tests.operator.live_operator import Meter, Operator
from tests.operator.memory_api import MemoryApi
from tests.operator.memory_lead import Lead
from tests.operator.memory_store import Store
from tests.operator.memory_watches import KINDS, Watches
from tests.operator.objects import NAMESPACE

PATIENT = 200.0  # seconds: longer than any retry waits
TOKENS = {"jobs.token": "the token for jobs"}  # the same each time, unlike keys
KEYS = [
    FreshKeys(curve.generate(), LeadKeys("certificate", "key", "token", "metrics", TOKENS)) for _ in range(8)
]


@dataclass
class World:
    """The API server, the operator that is alive now, its watches, its lead, and objects of others."""

    api: MemoryApi = field(default_factory=MemoryApi)
    meter: Meter = field(default_factory=Meter)
    site: Site = field(default_factory=lambda: Site(lead_api=True))
    lead: Lead = field(init=False)

    def __post_init__(self) -> None:
        self.armed = self.api.faults = Armed(self.kill)
        self.keys = itertools.cycle(KEYS)
        self.lead = Lead(self.store)
        self.conflicting = ConflictingObjects(self.store)
        self.contents = Contents(self.store)
        self.begin()

    @property
    def store(self) -> Store:
        """The state of the API server."""
        return self.api.store

    def begin(self) -> None:
        """Start an operator: it lists everything before it does anything."""
        self.operator = Operator(self.api, self.keys, self.meter, self.site, self)
        self.watches = Watches(self.api, self.operator)
        self.operator.begin()

    def kill(self) -> None:
        """Kill the operator."""
        self.operator.kill()

    async def restart(self) -> None:
        """End the operator, and start another."""
        await self.operator.end()
        self.begin()

    def report(self) -> None:
        """Deliver the lead's report, or that it is unreachable, if its pod runs."""
        name = Name(NAMESPACE, NAME)
        if self.operator.crashed:
            return
        if self.operator.cache.own_pods(name).lead is None:
            report = None
        elif self.lead.deaf:
            report = Unreachable("the lead API does not answer: connection refused")
        else:
            report = LeadReport(self.lead.report())
        if self.operator.cache.report(name, report):
            self.operator.controller.changed(name)

    def send(self, name: Name, orders: tuple[LeadCommand, ...]) -> None:
        """Send the operator's commands to the lead; its last report is forgotten until the next one."""
        if self.operator.cache.report(name, None):
            self.operator.controller.changed(name)
        answer = self.lead.order(orders)
        if answer is not None and not self.operator.crashed:
            self.operator.cache.answers.add(name, answer.order.action, answer)
        asyncio.get_running_loop().call_later(0.2, self.report)

    async def live(self, seconds: float) -> None:
        """Let time pass; an operator that dies meanwhile is started again."""
        await asyncio.sleep(seconds)
        self.store.clock.advance(seconds)
        if self.operator.crashed:
            await self.restart()

    async def converge(self) -> None:
        """Let nothing fail any more, deliver everything, and let the other controllers work."""
        self.armed.disarm()
        self.api.latency = 0.0
        for _ in range(12):
            before = self.store.history.version
            await self._work_off()
            if self.store.history.version == before:
                return
        raise AssertionError(f"never at rest; last writes: {[str(each) for each in self.api.writes[-12:]]}")

    async def _work_off(self) -> None:
        self.store.collect_garbage()
        self.start_job()
        for kind in KINDS:
            self.watches.deliver(kind)
        self.report()
        await self.live(PATIENT)

    def start_job(self) -> None:
        """Let the Job controller work."""
        job = ObjectReference("Job", NAMESPACE, NAME)
        if job in self.store.objects and self.contents.is_ours(job):
            memory_jobs.start_job(self.store, NAMESPACE, NAME)

    async def write(self, document: Object) -> None:
        """Create the MiniCluster as a user."""
        await self.api.as_manager("kubectl").create(document)

    def edit(self, spec: Object) -> None:
        """Change the document as a user."""
        if MINICLUSTER in self.store.objects:
            self.store.patch(MINICLUSTER, {"spec": spec}, "kubectl")


@contextlib.asynccontextmanager
async def world() -> AsyncIterator[World]:
    """Make a world, and end it. Raises where the operator met a defect of its own."""
    made = World()
    try:
        yield made
    finally:
        await made.operator.end()
    assert "error" not in made.meter.results, "a reconcile failed in a way that nobody thought of"
