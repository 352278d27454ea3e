"""Cases of faults: documents, actions of users and other clients, and how a run comes to rest."""

import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from minicluster.flux_zips import ZIP
from minicluster.kube_client.objects import ObjectReference
from minicluster.operator import observation
from minicluster.plan.constants import (
    API_VERSION,
    KIND,
    LABEL_COMPONENT,
    LABEL_INSTANCE,
    LABEL_MANAGED_BY,
    LABEL_NAME,
    LABEL_PART_OF,
)
from minicluster.plan.objects.names import FLUX_FILES
from tests.operator import memory_jobs
from tests.operator.contents import MINICLUSTER, NAME
from tests.operator.faults import FAULTS
from tests.operator.field_sets import Object
from tests.operator.memory_watches import KINDS
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import PATIENT, World, world

SERVICE = {"image": "database", "name": "database", "ports": [5432]}
DOCUMENTS: dict[str, Object] = {
    "plain": {},
    "services": {"services": [SERVICE]},
    "sidecar": {"containers": [{"image": "app", "runFlux": True}, {**SERVICE, "image": "side"}]},
    "suspended": {"suspend": True, "services": [SERVICE]},
    "cleanup": {"cleanup": True},
    "queued": {"jobLabels": {"kueue.x-k8s.io/queue-name": "q"}},
    "minimal service": {"flux": {"minimalService": True}},
    "autoscaled": {"autoscaling": {}},
    "autoscaled and suspended": {"suspend": True, "autoscaling": {"maxSize": 3}},
    "invalid": {
        "containers": [{"image": "app", "volumes": {"a": {"storageClass": "x", "path": "relative"}}}]
    },
}


def document(**more: Any) -> Object:
    """Return a MiniCluster's document."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "size": 3,
            "minSize": 2,
            "maxSize": 4,
            "containers": [{"image": "app", "command": "hostname"}],
            **more,
        },
    }


Step = tuple[Any, ...]

# Values of `spec.autoscaling` by name, as steps are compared.
AUTOSCALING: dict[str, Object | None] = {"no": None, "yes": {}, "little": {"maxSize": 3}}
# Actions of a user; the undisturbed run has them as well.
DOINGS = st.one_of(
    st.tuples(st.just("do"), st.just("size"), st.integers(2, 4)),
    st.tuples(st.just("do"), st.just("suspend"), st.booleans()),
    st.tuples(st.just("do"), st.just("autoscaling"), st.sampled_from(list(AUTOSCALING))),
    st.tuples(st.just("do"), st.sampled_from(["delete", "create"])),
)
EDITS = ("change", "remove", "add", "label", "unlabel", "relabel", "digest", "delete", "usurp")
kinds = st.sampled_from(KINDS)
few = st.integers(0, 12)
MISHAPS = st.one_of(
    st.tuples(st.just("tell"), kinds, few),
    st.tuples(st.just("tell all")),
    st.tuples(st.just("tell again"), kinds, few),
    st.tuples(st.just("relist"), kinds),
    st.tuples(st.just("gap")),
    st.tuples(st.just("live"), st.sampled_from([0.05, 0.3, 2.0, 100.0])),
    st.tuples(st.just("latency"), st.sampled_from([0.0, 0.1])),
    st.tuples(st.just("fault"), st.sampled_from(list(FAULTS)), few, st.integers(1, 5), st.booleans()),
    st.tuples(st.just("restart")),
    st.tuples(st.just("job")),
    st.tuples(st.just("garbage")),
)
NAMES = [("ConfigMap", "mc-config"), ("Service", "mc"), ("NetworkPolicy", "mc-brokers"), ("Job", "mc")]
AUTOSCALER = ("HorizontalPodAutoscaler", "mc")
INTRUSIONS = st.one_of(
    st.tuples(st.just("edit"), few, st.sampled_from(EDITS)),
    st.tuples(st.just("occupy"), st.sampled_from([*NAMES, AUTOSCALER])),
    st.tuples(st.just("free")),
)
SCHEDULES = st.lists(st.one_of(DOINGS, MISHAPS, MISHAPS, INTRUSIONS), max_size=16)

# What another client writes into one of the operator's objects, by kind or by the way of editing.
CHANGED: dict[str, Object] = {
    "ConfigMap": {"data": {"broker.toml": "theirs"}},
    "Service": {"spec": {"selector": {LABEL_INSTANCE: "theirs"}}},
    "NetworkPolicy": {"spec": {"ingress": []}},
    "PodDisruptionBudget": {"spec": {"minAvailable": 7}},
    "HorizontalPodAutoscaler": {"spec": {"maxReplicas": 7}},
    "Job": {"spec": {"parallelism": 1, "completions": 1}},
    "Pod": {"metadata": {"labels": {LABEL_COMPONENT: "theirs"}}},
}
REMOVED: dict[str, Object] = {
    "ConfigMap": {"data": {"R": None}},
    "Service": {"spec": {"selector": {LABEL_INSTANCE: None}}},
    "NetworkPolicy": {"spec": {"ingress": None}},
    "PodDisruptionBudget": {"spec": {"minAvailable": None}},
    "HorizontalPodAutoscaler": {"spec": {"minReplicas": None}},
    "Job": {"metadata": {"labels": {LABEL_COMPONENT: None}}},
    "Pod": {"metadata": {"labels": {LABEL_COMPONENT: None}}},
}
# What all MiniClusters of a namespace share has other fields, and no MiniCluster's label.
SHARED: dict[str, Object] = {
    "change": {"binaryData": {ZIP: "dGhlaXJz"}},
    "remove": {"binaryData": {ZIP: None}},
    "relabel": {"metadata": {"labels": {LABEL_NAME: "theirs"}}},
}
LABELLED: dict[str, Object] = {
    "add": {"metadata": {"labels": {"their": "own"}}},
    "label": {"metadata": {"labels": {LABEL_PART_OF: "theirs"}}},
    "unlabel": {"metadata": {"labels": {LABEL_MANAGED_BY: None}}},
    "relabel": {"metadata": {"labels": {LABEL_INSTANCE: "theirs"}}},
    "digest": {"metadata": {"annotations": {observation.ANNOTATION_DIGEST: None}}},
}


def edit(here: World, which: int, how: str) -> None:
    """Edit or delete one of the operator's objects as another client."""
    if not (references := here.contents.dependents()):
        return
    reference = references[which % len(references)]
    if how in {"delete", "usurp"}:
        here.store.delete(reference)
        if how == "usurp":  # another owner's object of the same name instead
            here.conflicting.occupy(reference.kind, reference.name)
    else:
        body = {"change": CHANGED, "remove": REMOVED}.get(how, {}).get(reference.kind) or LABELLED[how]
        if reference.name == FLUX_FILES:
            body = SHARED.get(how, body)
        here.store.patch(reference, body, "somebody")


async def do(here: World, written: Object, what: str, *how: Any) -> None:
    """Take an action of a user."""
    exists = MINICLUSTER in here.store.objects
    if what == "create" and not exists:
        await here.write(written)
    elif what == "delete" and exists:
        here.store.delete(MINICLUSTER)
    elif how and exists:
        here.edit({what: AUTOSCALING.get(how[0], how[0])})


def deliver_all(here: World) -> None:
    for kind in KINDS:
        here.watches.deliver(kind)


def gap(here: World) -> None:
    """Have every watch break off, as when the server is started anew."""
    for kind in KINDS:
        here.watches.relist(kind)


def arm(here: World, what: str, passing: int, times: int, late: bool) -> None:
    armed = here.armed
    armed.what, armed.passing, armed.times, armed.late = what, passing, times, late


def slow_down(here: World, seconds: float) -> None:
    """Have each write, and its answer, take that long."""
    here.api.latency = seconds


def collect(here: World) -> None:
    """Have the garbage collector do its part."""
    here.store.collect_garbage()


STEPS: dict[str, Callable[..., Awaitable[None] | None]] = {
    "tell": lambda here, kind, count: here.watches.deliver(kind, count),
    "tell all": deliver_all,
    "tell again": lambda here, kind, count: here.watches.redeliver(kind, count),
    "relist": lambda here, kind: here.watches.relist(kind),
    "gap": gap,
    "live": lambda here, seconds: here.live(seconds),
    "latency": slow_down,
    "fault": arm,
    "restart": lambda here: here.restart(),
    "job": lambda here: here.start_job(),
    "garbage": collect,
    "edit": edit,
    "occupy": lambda here, name: here.conflicting.occupy(*name),
    "free": lambda here: here.conflicting.free(),
}


async def play(here: World, written: Object, schedule: Sequence[Step]) -> None:
    """Take the steps of a schedule, one after the other."""
    for what, *how in schedule:
        doing = do(here, written, *how) if what == "do" else STEPS[what](here, *how)
        if doing is not None:
            await doing


async def end(here: World, code: int, mishaps: Sequence[Step] = ()) -> None:
    """Have the pods run and the lead end with a code, where there are pods."""
    job = ObjectReference("Job", NAMESPACE, NAME)
    pods = memory_jobs.pods(here.store, here.store.objects[job]) if job in here.store.objects else []
    for index in range(len(pods)):
        memory_jobs.run_pod(here.store, NAMESPACE, NAME, index)
    await play(here, {}, mishaps)
    if pods:
        memory_jobs.end_pod(here.store, NAMESPACE, NAME, 0, code, str(code))
        if code:
            memory_jobs.fail_job(here.store, NAMESPACE, NAME, code)
        else:
            memory_jobs.complete_job(here.store, NAMESPACE, NAME)
    await play(here, {}, mishaps)


async def rest(here: World) -> Object:
    """Come to rest, and stay so: reporting everything again leads to no write."""
    here.conflicting.free()
    await here.converge()
    writes = len(here.api.writes)
    for kind in KINDS:
        here.watches.relist(kind)
        here.watches.redeliver(kind, 10_000)
        here.watches.deliver(kind)
    await here.live(PATIENT)
    assert [str(each) for each in here.api.writes[writes:]] == [], "a settled MiniCluster was written to"
    return here.contents.state()


@functools.cache
def undisturbed(name: str, doings: tuple[Step, ...], code: int) -> tuple[Object, Object]:
    """Return the states after the user's actions and at the end, of the run without faults."""

    async def work() -> tuple[Object, Object]:
        async with world() as here:
            written = document(**DOCUMENTS[name])
            await here.write(written)
            for doing in doings:
                await play(here, written, [doing])
                await here.converge()
            before = await rest(here)
            await end(here, code)
            return before, await rest(here)

    return run(work())


def differences(here: Any, there: Any, path: str = "") -> list[str]:
    """Return where two states differ."""
    if isinstance(here, dict) and isinstance(there, dict):
        found = ((key, here.get(key), there.get(key)) for key in sorted({*here, *there}))
        return [each for key, one, two in found for each in differences(one, two, f"{path}/{key}")]
    return [] if here == there else [f"{path}: {here!r}, undisturbed {there!r}"]
