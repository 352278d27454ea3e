"""One reconcile of one MiniCluster: observe, decide, apply, write the status, tell it.

It can be repeated, interrupted anywhere, or run on old news: it ends in what the document says, or in a
condition that says why not. Everything is decided by `plan()`; here is only in which order the writes go.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from minicluster import plan as planning
from minicluster import spec as document
from minicluster.kubernetes import observation, recording
from minicluster.kubernetes.applying import Applier, NameTakenError, RefusedError
from minicluster.kubernetes.errors import ApiError
from minicluster.kubernetes.records import Heard, Name, Place
from minicluster.kubernetes.resources import JOBS, MINICLUSTERS, RESOURCES
from minicluster.plan import ObjectKey, Observed, ObservedObject, Refusal
from minicluster.plan.constants import FINALIZER

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Protocol

    from minicluster.kubernetes.api import Api
    from minicluster.kubernetes.cache import Cache
    from minicluster.kubernetes.doors import Orders
    from minicluster.kubernetes.observation import Stamp
    from minicluster.plan import FreshKeys, Plan, Site
    from minicluster.plan.fields import Object
    from minicluster.spec import MiniCluster

    class Meter(Protocol):
        """Where the time goes."""

        def step(self, name: str) -> AbstractContextManager[None]:
            """Measure a step: `decide`, `apply`, `status`, `events`; what it raises is counted."""
            ...


log = logging.getLogger(__name__)

NOTHING = Heard(None)
PATIENCE = 3
"""How often a passing refusal (429, 5xx) is met in a row before it is told to people."""


class Result(Enum):
    """How a reconcile ended."""

    SETTLED = "ok"
    REFUSED = "refused"
    """An object was not taken, or its name is; it must be tried again."""
    GONE = "gone"


class Ended(NamedTuple):
    """How a reconcile ended; `again`: in how many seconds time alone asks for another one."""

    result: Result
    again: float | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is the same for every MiniCluster: the site, who reports Events, fresh keys, the time."""

    site: Site
    reporter: str
    fresh_keys: Callable[[MiniCluster], FreshKeys]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class Reconciler:
    """Makes true what the documents in the cache say."""

    def __init__(
        self, api: Api, cache: Cache, surroundings: Surroundings, meter: Meter, doors: Orders
    ) -> None:
        self._api = api
        self._cache = cache
        self._around = surroundings
        self._meter = meter
        self._doors = doors
        self._applier = Applier(api, cache)
        self._since = surroundings.now()
        self._untold: dict[Name, deque[Object]] = {}
        self._stamps: dict[Name, tuple[tuple[str, int, bool, int, bool], tuple[Stamp, ...]]] = {}

    async def reconcile(self, name: Name, failures: int = 0) -> Ended:
        """Reconcile a MiniCluster; `failures` is how often in a row that has failed.

        Raises ApiError and UnreachableError for what passes (409, 429, 5xx, no answer): try again.
        """
        item = self._cache.clusters.get(name)
        if item is None or _is_left_alone(item):
            return Ended(Result.GONE if item is None else Result.SETTLED)
        try:
            cluster = document.validate(item)
        except document.DocumentError as error:
            refused = self._refuse(item, error)
            await self._record(name, item, refused, failures)
            await self._release(name, refused)
            return Ended(Result.SETTLED)
        if _is_leaving(item):
            return await self._let_go(name, item, cluster, failures)
        return await self._carry_out(name, item, cluster, failures)

    def forget(self, name: Name) -> None:
        """Forget a MiniCluster that is gone."""
        self._stamps.pop(name, None)
        self._untold.pop(name, None)

    async def _carry_out(self, name: Name, item: Object, cluster: MiniCluster, failures: int) -> Ended:
        await self._applier.revisit(name, planning.unwanted(cluster))
        observed = self._observe(name, cluster)
        is_known = bool(item["status"]) or name in self._stamps
        if observed.job is None and is_known and not await self._still_exists(name, item):
            return Ended(Result.GONE)
        decided = self._decide(cluster, observed)
        item = await self._mark(name, item, decided)
        with self._meter.step("apply"):
            refused = await self._apply(name, cluster, decided, failures)
        if refused or self._is_new(observed, name) or name in self._cache.strangers:
            # What was just made, or could not be, is told at once; a change is told before it is seen.
            decided = self._decide(cluster, self._observe(name, cluster, made=True, refusals=refused))
        await self._record(name, item, decided, failures)
        await self._release(name, decided)
        if decided.orders:
            self._doors.order(name, decided.orders)
        await self._delete(name, item, decided)
        result = Result.REFUSED if refused or name in self._cache.strangers else Result.SETTLED
        return Ended(result, decided.again)

    async def _let_go(self, name: Name, item: Object, cluster: MiniCluster, failures: int) -> Ended:
        """See to what goes before a MiniCluster that is being deleted, or that somebody else looks after."""
        decided = self._decide(cluster, self._observe(name, cluster, made=True))
        await self._record(name, item, decided, failures)
        await self._release(name, decided)
        if decided.orders:
            self._doors.order(name, decided.orders)
        await self._delete(name, item, decided)
        return Ended(Result.SETTLED, decided.again)

    async def _mark(self, name: Name, item: Object, decided: Plan) -> Object:
        """Put our finalizer on a MiniCluster that is to have it; return that as it is then."""
        if not decided.finalizer or _has_finalizer(item):
            return item
        with self._meter.step("apply"):
            return await self._set_finalizers(name, item, [*_finalizers(item), FINALIZER])

    async def _release(self, name: Name, decided: Plan) -> None:
        """Take our finalizer off, where it is to go: after what was told, for then all may be gone."""
        item = self._cache.clusters.get(name)
        if decided.finalizer is not False or item is None or not _has_finalizer(item):
            return
        others = [each for each in _finalizers(item) if each != FINALIZER]
        with self._meter.step("apply"):
            await self._set_finalizers(name, item, others)

    async def _set_finalizers(self, name: Name, item: Object, finalizers: list[str]) -> Object:
        """Write the finalizers of exactly the version that was seen: they are others' as well."""
        about = item["metadata"]
        wanted = {"uid": about["uid"], "resourceVersion": about["resourceVersion"], "finalizers": finalizers}
        try:
            answer = await self._api.patch(MINICLUSTERS, name.namespace, name.name, {"metadata": wanted})
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                self._cache.forget_cluster(item)
            raise
        if name in self._cache.clusters:  # else it was deleted meanwhile: the answer is old news
            self._cache.see_cluster(answer)
        return self._cache.clusters.get(name, item)

    def _observe(
        self, name: Name, cluster: MiniCluster, *, made: bool = False, refusals: tuple[Refusal, ...] = ()
    ) -> Observed:
        """Gather what exists. The Secret is made before the Job: where there is a Job, there is a Secret."""
        uid = cluster.metadata.uid
        objects = [each.observed() for each in self._cache.objects(name)]
        objects += self._cache.strangers.get(name, {}).values()
        place = Place(JOBS.kind, name.namespace, cluster.metadata.name)
        job = self._cache.dependents.get(place)
        ours = job is not None and job.owner_uid == uid
        if ours or made:
            objects.append(ObservedObject(planning.secret_key(cluster), uid))
        heard = self._cache.heard.get(name, NOTHING) if ours else NOTHING
        answers = self._cache.answers.get(name, {}) if ours else {}
        return Observed(
            objects=tuple(objects),
            job=self._cache.job_of(name) if ours else None,
            pods=self._cache.reports(name, job.uid) if job and ours else (),
            brokers=heard.report,
            silence=heard.silence,
            refusals=refusals,
            dump=self._cache.dump(name, job.uid) if job and ours else None,
            restarted=answers.get("restart"),
            recovered=answers.get("recover"),
            disrupted=self._cache.disruptions(name, job.uid) if job and ours else (),
            since=self._since,
        )

    def _decide(self, cluster: MiniCluster, observed: Observed) -> Plan:
        with self._meter.step("decide"):
            made = observed.find(planning.secret_key(cluster))
            keys = None if made else self._around.fresh_keys(cluster)
            site, now = self._around.site, self._around.now()
            return planning.plan(cluster, observed, site, keys, now, build=self._build)

    def _build(
        self, cluster: MiniCluster, site: Site, *, suspended: bool, pods: int, held: bool
    ) -> tuple[Object, ...]:
        """Build the objects to apply, with their digests; where all stand as applied, sketches of them do."""
        about = cluster.metadata
        name, key = Name(about.namespace, about.name), (about.uid, about.generation, suspended, pods, held)
        known, stamps = self._stamps.get(name, (None, ()))
        sketches = tuple(each.sketch() for each in stamps)
        if known == key and self._applier.stand(name, about.uid, sketches):
            return sketches
        built = planning.build(cluster, site, suspended=suspended, pods=pods, held=held)
        objects = tuple(observation.stamped(each) for each in built)
        self._stamps[name] = key, tuple(observation.stamp(each) for each in objects)
        return objects

    def _refuse(self, item: Object, error: document.DocumentError) -> Plan:
        """Return the plan for a document that the API server let through and that is not valid."""
        try:
            stored = document.Status.model_validate(item["status"])
        except ValidationError:
            stored = document.Status()
        problem = "; ".join(str(each) for each in error.problems)
        refused = planning.refuse(stored, item["metadata"]["generation"], problem, self._around.now())
        # Nobody knows what could be saved of it, and it must not stay for ever.
        return replace(refused, finalizer=False) if _is_leaving(item) else refused

    async def _still_exists(self, name: Name, item: Object) -> bool:
        """Ask whether a MiniCluster that had objects before, and has none now, is still there.

        Its deletion may have fallen into a gap of the watch; its objects would be made again for ever.
        """
        try:
            found = await self._api.read(MINICLUSTERS, name.namespace, name.name)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            self._cache.forget_cluster(item)
            return False
        if found["metadata"]["uid"] == item["metadata"]["uid"]:
            return "deletionTimestamp" not in found["metadata"]
        self._cache.see_cluster(found)
        return False

    async def _apply(
        self, name: Name, cluster: MiniCluster, decided: Plan, failures: int
    ) -> tuple[Refusal, ...]:
        """Apply the objects; return what was refused. Raises what is expected to pass."""
        try:
            await self._applier.apply(name, cluster.metadata.uid, decided.objects)
        except NameTakenError:
            return ()
        except RefusedError as refused:
            error = refused.error
            if error.is_passing and (error.status == HTTPStatus.CONFLICT or failures < PATIENCE):
                raise error from refused
            return (Refusal(refused.key, error.message),)
        return ()

    def _is_new(self, observed: Observed, name: Name) -> bool:
        return observed.job is None and self._cache.job_of(name) is not None

    async def _record(self, name: Name, item: Object, decided: Plan, failures: int) -> None:
        """Write the status if it says something new, then the Events that go with it."""
        if decided.status != item["status"]:
            with self._meter.step("status"):
                body = recording.status_patch(item, decided.status)
                answer = await self._patch_status(name, item, body)
            if name in self._cache.clusters:  # else it was deleted meanwhile: the answer is old news
                self._cache.see_cluster(answer)
            self._untold.setdefault(name, deque()).extend(
                recording.event(item, event, self._around.reporter, self._around.now())
                for event in decided.events
            )
        if name in self._untold:
            with self._meter.step("events"):
                await self._tell(name, failures)

    async def _patch_status(self, name: Name, item: Object, body: Object) -> Object:
        try:
            return await self._api.patch(MINICLUSTERS, name.namespace, name.name, body, "status")
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                # Deleted, and no watch told: its objects, which the garbage collector takes, must not return.
                self._cache.forget_cluster(item)
            raise

    async def _tell(self, name: Name, failures: int) -> None:
        """Write the Events; what the API server does not take now is told with the next reconcile.

        But not for ever: what else there is to do must not wait for them.
        """
        events = self._untold[name]
        while events:
            try:
                await self._api.create(events[0])
            except ApiError as error:
                if error.is_passing and error.status != HTTPStatus.CONFLICT and failures < PATIENCE:
                    raise
                if error.reason != "AlreadyExists":  # its answer was lost
                    log.warning("%s: an Event was not taken: %s", name, error)
            events.popleft()
        self._untold.pop(name, None)  # forgotten meanwhile, if the MiniCluster was deleted

    async def _delete(self, name: Name, item: Object, decided: Plan) -> None:
        for key in decided.delete:
            uid = self._uid(name, key, item)
            try:
                await self._api.delete(RESOURCES[key.kind], name.namespace, key.name, uid)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise

    def _uid(self, name: Name, key: ObjectKey, item: Object) -> str:
        if key.kind == MINICLUSTERS.kind:
            return str(item["metadata"]["uid"])
        found = self._cache.dependents.get(Place(key.kind, name.namespace, key.name))
        return found.uid if found else ""


def _is_left_alone(item: Object) -> bool:
    """Whether there is nothing to do: somebody else manages it, or it is on its way out."""
    return _is_leaving(item) and not _has_finalizer(item)


def _is_leaving(item: Object) -> bool:
    return bool((item["spec"] or {}).get("managedBy")) or "deletionTimestamp" in item["metadata"]


def _has_finalizer(item: Object) -> bool:
    return FINALIZER in _finalizers(item)


def _finalizers(item: Object) -> list[str]:
    return list(item["metadata"].get("finalizers") or ())
