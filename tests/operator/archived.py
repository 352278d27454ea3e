"""A MiniCluster with an archive in a world of one operator, and what happens to it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from minicluster.kube_client.objects import ObjectReference
from minicluster.plan.constants import FINALIZER, SAVE_SECONDS
from tests.operator import memory_jobs
from tests.operator.cases import STEPS, Step, deliver_all, document, gap
from tests.operator.contents import MINICLUSTER, NAME
from tests.operator.field_sets import Object
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import now
from tests.operator.world import World, world

TIMEOUT = 60.0 + SAVE_SECONDS
"""How long a deletion waits at most; `document` leaves drainTimeoutSeconds out."""
JOB = ObjectReference("Job", NAMESPACE, NAME)


class Instance:
    """A MiniCluster with an archive, and the steps that a test takes with it."""

    def __init__(self, here: World, **spec: Any) -> None:
        self.here = here
        self.written = document(size=3, minSize=1, archive={"path": "/archive/mc.tgz"}, **spec)
        self.asked: float | None = None
        """When its deletion was requested; None: it was not."""

    async def begin(self) -> None:
        """Have it made, and its brokers join."""
        await self.create()
        for _ in range(4):
            await self.second()

    async def create(self) -> None:
        """Have it made, unless it is there."""
        if MINICLUSTER not in self.here.store.objects:
            self.here.store.collect_garbage()
            self.asked = None
            await self.here.write(self.written)

    def delete(self) -> None:
        """Delete it."""
        if MINICLUSTER in self.here.store.objects:
            self.asked = now() if self.asked is None else self.asked
            self.here.store.delete(MINICLUSTER)

    def suspend(self, suspended: bool) -> None:
        """Suspend or resume it."""
        if "deletionTimestamp" not in self.about:
            self.asked = (now() if self.asked is None else self.asked) if suspended else None
        self.here.edit({"suspend": suspended})

    def resize(self, size: int) -> None:
        """Ask for another size."""
        self.here.edit({"size": size})

    async def second(self) -> None:
        """Let a second pass: watches report everything, and kubelets, lead and Job controller work."""
        self.here.store.collect_garbage()
        self.here.start_job()
        self.run()
        self.here.lead.advance()
        deliver_all(self.here)
        self.here.report()
        await self.here.live(1.1)
        self.here.lead.refresh()

    async def minute(self) -> None:
        """Let a minute pass."""
        for _ in range(55):
            await self.second()

    def run(self) -> None:
        """Run the pods that wait; the successor of a lead that has ended only after its time."""
        job = self.here.store.objects.get(JOB)
        for pod in memory_jobs.pods(self.here.store, job) if job else ():
            index = memory_jobs.index_of(pod)
            waits = pod["status"]["phase"] == "Pending"
            if waits and (index or self.here.lead.may_be_replaced):
                memory_jobs.run_pod(self.here.store, NAMESPACE, NAME, index)

    async def take(self, step: Step) -> None:
        """Take a step."""
        what, *how = step
        lead = self.here.lead
        own: dict[str, Callable[..., Awaitable[None] | None]] = {
            "suspend": self.suspend,
            "delete": self.delete,
            "create": self.create,
            "size": self.resize,
            "begin": lead.work,
            "finish": lead.finish,
            "breaks": lambda broken: setattr(lead, "broken", broken),
            "hangs": lambda hangs: setattr(lead, "hangs", hangs),
            "deaf": lambda deaf: setattr(lead, "deaf", deaf),
            "second": self.second,
            "minute": self.minute,
        }
        doing = own[what](*how) if what in own else STEPS[what](self.here, *how)
        if doing is not None:
            await doing

    async def rest(self) -> None:
        """Let nothing fail any more, end all jobs, and have everything reported."""
        lead = self.here.lead
        lead.broken = lead.hangs = lead.deaf = False
        self.here.armed.disarm()
        self.here.api.latency = 0.0
        gap(self.here)
        for seconds in (*(1.1,) * 8, *(30.0,) * 30, *(1.1,) * 30):
            for rank in range(4):
                lead.finish(rank)
            await self.second()
            await self.here.live(seconds - 1.1)
        self.here.store.collect_garbage()

    @property
    def about(self) -> Object:
        """The MiniCluster's metadata, empty where there is none."""
        found: Object = self.here.store.objects.get(MINICLUSTER, {}).get("metadata", {})
        return found

    @property
    def suspended(self) -> tuple[str, str]:
        """Status and reason of the condition."""
        (found,) = (each for each in self.here.contents.status["conditions"] if each["type"] == "Suspended")
        return found["status"], found["reason"]

    @property
    def notes(self) -> list[tuple[str, str]]:
        """The Events: reason and words."""
        found = self.here.store.find("Event")
        return [(each["reason"], each["message"]) for each in sorted(found, key=lambda one: one["eventTime"])]

    async def check(self) -> None:
        """Fail where it is not as was last requested."""
        store = self.here.store
        if MINICLUSTER not in store.objects:
            assert JOB not in store.objects
            assert store.find("Pod") == []
            return
        assert "deletionTimestamp" not in self.about, "it stays for ever"
        assert self.about["finalizers"] == [FINALIZER]
        spec, job = store.objects[MINICLUSTER]["spec"], store.objects[JOB]
        assert job["spec"]["suspend"] == spec.get("suspend", False)
        expected = ("True", "Suspended") if spec.get("suspend") else ("False", "NotSuspended")
        assert self.suspended == expected
        written = len(self.here.api.writes)
        await self.here.live(700.0)
        assert self.here.api.writes[written:] == [], "a settled MiniCluster was written to"


async def play(schedule: Sequence[Step], *, watched: bool = True) -> Instance:
    """Play a schedule to its end; `watched`: see that no lead goes before it has saved, or its time."""
    async with world() as here:
        instance = Instance(here)
        await instance.begin()
        for step in schedule:
            asked = instance.asked
            await instance.take(step)
            here.lead.refresh()
            if watched:
                early = [at for at in here.lead.abrupt if asked is None or at - asked < TIMEOUT - 2]
                assert not early, f"the lead went before it had saved, at {step}"
            here.lead.abrupt.clear()
        await instance.rest()
        await instance.check()
        return instance
