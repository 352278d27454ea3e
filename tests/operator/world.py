"""A world of one operator: an API server in memory, the operator's parts, watches that tell when told to.

Time is virtual. The operator's own code runs as in the process (controller, queue, reconciler, cache); the
test decides when which watch tells how much, what goes wrong with which write, and when the process dies.
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from broker_config import curve
from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError, UnreachableError
from minicluster.kube_client.objects import Name
from minicluster.kube_client.resources import MINICLUSTERS
from minicluster.kube_client.watch import Watch, selections
from minicluster.operator.cache import Cache
from minicluster.operator.controller import Controller
from minicluster.operator.lead_watch import LeadCommands
from minicluster.operator.queue import Queue
from minicluster.operator.reconciler import Reconciler, ReconcilerOptions
from minicluster.operator.records import LeadReport, Unreachable
from minicluster.plan import DoorKeys, FreshKeys, Order, Site
from minicluster.plan.constants import KIND
from tests.operator import memory_jobs
from tests.operator.field_sets import Object
from tests.operator.memory_api import Crash, Faults, MemoryApi, Request, event_of
from tests.operator.memory_lead import BEGIN, Lead
from tests.operator.memory_objects import Place
from tests.operator.memory_store import Store
from tests.operator.virtual_time import now

NAMESPACE = "science"
NAME = "mc"
PLACE = Place(KIND, NAMESPACE, NAME)
PATIENT = 200.0  # seconds: longer than any retry waits
KINDS = (KIND, *(each.resource.kind for each in selections(())))
KEYS = [
    FreshKeys(curve.generate(), DoorKeys("certificate", "key", "token", "metrics token")) for _ in range(8)
]
TIMES = {"lastTransitionTime", "startTime", "completionTime"}

FAULTS: dict[str, BaseException] = {
    "conflict": ApiError(409, "Conflict", "the object has been modified"),
    "busy": ApiError(429, "TooManyRequests", "try again later", 1.0),
    "error": ApiError(500, "InternalError", "etcdserver: request timed out"),
    "unavailable": ApiError(503, "ServiceUnavailable", "the server is restarting"),
    "no answer": UnreachableError("no answer: connection reset"),
    "crash": Crash(),
}


@dataclass
class Armed(Faults):
    """Lets some writes pass, and has then something go wrong, before the write is done or after it."""

    kill: Callable[[], None]
    what: str = ""
    passing: int = 0
    times: int = 0
    late: bool = False

    def before(self, request: Request) -> None:
        """Raise what is due."""
        if self.passing:
            self.passing -= 1
        elif self.times and not self.late:
            self._go_off()

    def after(self, request: Request) -> None:
        """Raise what is due, though the write was done."""
        if self.times and self.late and not self.passing:
            self._go_off()

    def disarm(self) -> None:
        """Let everything pass."""
        self.times = 0

    def _go_off(self) -> None:
        self.times -= 1
        if self.what == "crash":
            self.kill()
        raise FAULTS[self.what]


class Meter:
    """Counts how reconciles end, and keeps no time."""

    def __init__(self) -> None:
        self.results: list[str] = []

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure nothing."""
        yield

    def reconciled(self, result: str) -> None:
        """Note how a reconcile ended."""
        self.results.append(result)


class Operator:
    """One process: what it knows, and its work. It knows nothing when it begins."""

    def __init__(
        self, api: MemoryApi, keys: Iterator[FreshKeys], meter: Meter, site: Site, doors: LeadCommands
    ) -> None:
        self.cache = Cache()
        self.queue = Queue(now)
        around = ReconcilerOptions(
            site, "test", lambda _: next(keys), lambda: BEGIN + timedelta(seconds=now())
        )
        reconciler = Reconciler(api, self.cache, around, meter, doors)
        self.controller = Controller(self.cache, self.queue, reconciler, meter)
        self.working: asyncio.Future[None] = asyncio.Future()

    def begin(self) -> None:
        """Have it work."""
        self.working = asyncio.ensure_future(self.controller.work())

    @property
    def crashed(self) -> bool:
        """Whether it is no more."""
        return self.working.done()

    def kill(self) -> None:
        """Let it come to nothing more."""
        self.working.cancel()

    async def end(self) -> None:
        """End it at once, wherever it is. Raises what it did not die of on purpose."""
        self.kill()
        try:
            await self.working
        except asyncio.CancelledError:
            pass
        except BaseExceptionGroup as group:
            _, others = group.split(Crash)
            if others is not None:
                raise others from None


@dataclass
class World:
    """The API server, the operator that is alive now, and how far each of its watches has told."""

    api: MemoryApi = field(default_factory=MemoryApi)
    meter: Meter = field(default_factory=Meter)
    told: dict[str, int] = field(default_factory=dict)
    foreign: dict[Place, Object] = field(default_factory=dict)
    site: Site = field(default_factory=lambda: Site(door=True))
    lead: Lead = field(init=False)

    def __post_init__(self) -> None:
        self.armed = self.api.faults = Armed(self.kill)
        self.keys = itertools.cycle(KEYS)
        self.lead = Lead(self.store)
        self.watches = {each.resource.kind: each for each in (Selection(MINICLUSTERS), *selections(()))}
        self.begin()

    @property
    def store(self) -> Store:
        """What the API server knows."""
        return self.api.store

    # What the operator is told

    def begin(self) -> None:
        """Start an operator: it lists everything before it does anything."""
        self.operator = Operator(self.api, self.keys, self.meter, self.site, self)
        for kind in reversed(KINDS):
            self.relist(kind)
        self.operator.begin()

    def kill(self) -> None:
        """Have the operator die."""
        self.operator.kill()

    async def restart(self) -> None:
        """End the operator, and start another."""
        await self.operator.end()
        self.begin()

    def tell(self, kind: str, count: int = 10_000) -> None:
        """Tell the operator the next changes of a kind."""
        later = (each for each in self.store.history.changes[self.told[kind] :] if count > 0)
        for change in later:
            self.told[kind] += 1
            event = event_of(change, self.watches[kind]) if change.place.kind == kind else None
            if event is not None:
                count -= 1
                self._take(kind, event.type, event.item)

    def tell_again(self, kind: str, count: int) -> None:
        """Have a watch begin anew at an older version: changes are told once more."""
        self.told[kind] = max(0, self.told[kind] - count)

    def relist(self, kind: str) -> None:
        """Have a watch break off and the kind listed anew: what happened in between is not told."""
        selection = self.watches[kind]
        listing = run_now(self.api.as_manager("kubelet").list(selection))
        self.told[kind] = len(self.store.history.changes)
        if kind == KIND:
            for item in listing.items:
                self.operator.controller.seen(item)
        else:
            controller = self.operator.controller
            Watch(self.api, self.operator.cache, selection, controller.changed).take(listing)

    def report(self) -> None:
        """Have the lead tell how it is, where it runs and its door can be heard."""
        name = Name(NAMESPACE, NAME)
        if self.operator.crashed:
            return
        if self.operator.cache.own_pods(name).lead is None:
            heard = None
        elif self.lead.deaf:
            heard = Unreachable("the lead's door does not answer: connection refused")
        else:
            heard = LeadReport(self.lead.report())
        if self.operator.cache.report(name, heard):
            self.operator.controller.changed(name)

    def send(self, name: Name, orders: tuple[Order, ...]) -> None:
        """Have the lead told what the operator says, and then listened to anew: what it said is forgotten."""
        if self.operator.cache.report(name, None):
            self.operator.controller.changed(name)
        answer = self.lead.order(orders)
        if answer is not None and not self.operator.crashed:
            self.operator.cache.answers.add(name, answer.order.action, answer)
        asyncio.get_running_loop().call_later(0.2, self.report)

    def _take(self, kind: str, type_: str, item: Object) -> None:
        cache, controller = self.operator.cache, self.operator.controller
        if kind == KIND:
            (controller.gone if type_ == "DELETED" else controller.seen)(item)
            return
        names = cache.forget(kind, item) if type_ == "DELETED" else cache.see(kind, item)
        for name in names:
            controller.changed(name)

    # Time

    async def live(self, seconds: float) -> None:
        """Let time pass; an operator that dies meanwhile is started again."""
        await asyncio.sleep(seconds)
        self.store.clock.advance(seconds)
        if self.operator.crashed:
            await self.restart()

    async def settle(self) -> None:
        """Nothing goes wrong any more, everything is told, and the other controllers do their part."""
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
            self.tell(kind)
        self.report()
        await self.live(PATIENT)

    # What others do

    def start_job(self) -> None:
        """Have the Job controller do its part."""
        job = Place("Job", NAMESPACE, NAME)
        if job in self.store.objects and self.is_ours(job):
            memory_jobs.start_job(self.store, NAMESPACE, NAME)

    async def write(self, document: Object) -> None:
        """Have a person create the MiniCluster."""
        await self.api.as_manager("kubectl").create(document)

    def edit(self, spec: Object) -> None:
        """Have a person change the document."""
        if PLACE in self.store.objects:
            self.store.patch(PLACE, {"spec": spec}, "kubectl")

    def dependents(self) -> list[Place]:
        """Return the operator's objects that a watch tells of, in a fixed order."""
        kinds = set(KINDS) - {KIND}
        return sorted(each for each in self.store.objects if each.kind in kinds and self.is_ours(each))

    def is_ours(self, place: Place) -> bool:
        """Whether the MiniCluster controls an object."""
        metadata = self.store.objects[place]["metadata"]
        known = self.store.objects.get(PLACE)
        owners = {each["uid"] for each in metadata.get("ownerReferences") or ()}
        return known is not None and known["metadata"]["uid"] in owners

    def occupy(self, kind: str, name: str) -> None:
        """Have somebody else own an object that has this name."""
        place = Place(kind, NAMESPACE, name)
        if place not in self.store.objects:
            item = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}}
            self.foreign[place] = self.store.create({**item, "spec": {"parallelism": 1}}, "somebody")

    def free(self) -> None:
        """Have the foreign objects go; whether they were left alone is looked at first."""
        self.check_foreign()
        for place in list(self.foreign):
            self.store.delete(place)
        self.foreign.clear()

    def check_foreign(self) -> None:
        """Fail where somebody else's object is not as it was."""
        for place, item in self.foreign.items():
            assert self.store.objects.get(place) == item, f"{place} was somebody else's"

    # What there is

    @property
    def status(self) -> Object:
        """The MiniCluster's status."""
        found: Object = self.store.objects.get(PLACE, {}).get("status", {})
        return found

    def secrets(self) -> list[str]:
        """Return the names of all Secrets that were ever made or changed, in order."""
        changes = (each for each in self.store.history.changes if each.place.kind == "Secret" and each.new)
        return [each.place.name for each in changes]

    def state(self) -> Object:
        """Return the MiniCluster and its objects, without times, and what only tells one run from another."""
        uid = self.store.objects.get(PLACE, {"metadata": {"uid": "none"}})["metadata"]["uid"]
        shown = {f"{place.kind} {place.name}": self._shown(place) for place in self.store.objects}
        text = json.dumps({key: value for key, value in shown.items() if value}, sort_keys=True)
        found: Object = json.loads(text.replace(uid, "UID").replace(uid.replace("-", "")[:12], "UID"))
        return found

    def _shown(self, place: Place) -> Object:
        item = self.store.objects[place]
        if place.kind == KIND:
            return {"spec": item["spec"], "status": without_times(item.get("status", {}))}
        if place.kind in {"Event", "Pod"} and not self.is_ours(place):
            return {}
        labels = item["metadata"].get("labels", {})
        own = {key: value for key, value in labels.items() if key != "their"}
        kept: tuple[str, ...] = () if place.kind == "Secret" else ("spec", "data")
        body: Object = {key: item[key] for key in kept if key in item}
        return {**body, "labels": own, "owned": self.is_ours(place)}


def without_times(value: Any) -> Any:
    """Return JSON without the times at which something happened."""
    if isinstance(value, dict):
        return {key: without_times(child) for key, child in value.items() if key not in TIMES}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def run_now(work: Any) -> Any:
    """Return what a coroutine returns that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


@contextlib.asynccontextmanager
async def world() -> AsyncIterator[World]:
    """Make a world, and end it. Raises where the operator met a defect of its own."""
    made = World()
    try:
        yield made
    finally:
        await made.operator.end()
    assert "error" not in made.meter.results, "a reconcile failed in a way that nobody thought of"
