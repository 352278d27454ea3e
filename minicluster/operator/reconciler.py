"""One reconcile of one MiniCluster: observe, decide, apply, write the status, send Events.

It can be repeated, interrupted anywhere, or run on an outdated cache. It ends in what the document wants, or
in a condition with the reason why not. `plan()` decides everything; this module orders the writes.
"""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from minicluster import document
from minicluster import plan as planning
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.objects import Name, ObjectReference
from minicluster.kube_client.resources import JOBS, MINICLUSTERS, RESOURCES
from minicluster.operator import observation
from minicluster.operator.apply import Applier, ApplyRefusedError, NameTakenError
from minicluster.operator.finalizers import Finalizers, has_finalizer
from minicluster.operator.records import LeadReport, Unreachable
from minicluster.operator.status_writer import StatusWriter
from minicluster.plan import ApplyRefusal, ObjectKey, Observed, ObservedObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.document import MiniCluster
    from minicluster.kube_client.api import Api
    from minicluster.operator.cache import Cache
    from minicluster.operator.lead_watch import LeadCommands
    from minicluster.operator.meters import Meter
    from minicluster.operator.observation import Stamp
    from minicluster.plan import FreshKeys, Plan, Site
    from minicluster.plan.objects.fields import Object

log = logging.getLogger(__name__)

RETRY_LIMIT = 3
"""After how many passing refusals (429, 5xx) in a row the status shows them."""
AFTER_UNPLANNABLE = 300.0
"""Seconds before a document that could not be planned is tried again: memory may have been short then."""


class ReconcileOutcome(Enum):
    """How a reconcile ended."""

    SETTLED = "ok"
    REFUSED = "refused"
    """The API server refused an object, or its name is taken; it must be tried again."""
    GONE = "gone"


class ReconcileResult(NamedTuple):
    """How a reconcile ended; `again`: in how many seconds another one is due without any change."""

    outcome: ReconcileOutcome
    again: float | None = None


@dataclass(frozen=True, slots=True)
class ReconcilerOptions:
    """What is the same for every MiniCluster: the site, the reporter of Events, fresh keys, the time."""

    site: Site
    reporter: str
    fresh_keys: Callable[[MiniCluster], FreshKeys]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class BuildInputs(NamedTuple):
    """What the objects of a MiniCluster are built from."""

    uid: str
    generation: int
    suspended: bool
    pods: int
    job_suspended: bool


class Built(NamedTuple):
    """What was last built for a MiniCluster: the inputs, and the digests of its objects."""

    inputs: BuildInputs
    stamps: tuple[Stamp, ...]


class Reconciler:
    """Makes what the documents in the cache want."""

    def __init__(
        self, api: Api, cache: Cache, options: ReconcilerOptions, meter: Meter, leads: LeadCommands
    ) -> None:
        self._api = api
        self._cache = cache
        self._options = options
        self._meter = meter
        self._leads = leads
        self._applier = Applier(api, cache)
        self._since = options.now()
        self._finalizers = Finalizers(api, cache, meter)
        self._status = StatusWriter(api, cache, meter, options.reporter, options.now)
        self._built: dict[Name, Built] = {}

    async def reconcile(self, name: Name, failures: int = 0) -> ReconcileResult:
        """Reconcile a MiniCluster; `failures` is how often in a row that has failed.

        Raises ApiError and ApiUnreachableError for passing failures (409, 429, 5xx, no answer): try again.
        """
        item = self._cache.clusters.get(name)
        if item is None or _is_left_alone(item):
            return ReconcileResult(ReconcileOutcome.GONE if item is None else ReconcileOutcome.SETTLED)
        try:
            cluster = document.validate(item)
            reconcile = self._tear_down if _is_leaving(item) else self._run
            return await reconcile(name, item, cluster, failures)
        except document.DocumentError as error:
            problem, again = "; ".join(str(each) for each in error.problems), None
        except planning.UnplannableError as error:
            log.warning("%s: %s; raised in %s", name, error, _where(error.__cause__ or error))
            problem, again = str(error), AFTER_UNPLANNABLE
        refused = self._refuse(item, problem)
        await self._status.write(name, item, refused, failures)
        await self._finalizers.release(name, refused)
        return ReconcileResult(ReconcileOutcome.SETTLED, again)

    def forget(self, name: Name) -> None:
        """Forget a MiniCluster that is gone."""
        self._built.pop(name, None)
        self._status.forget(name)

    async def _run(self, name: Name, item: Object, cluster: MiniCluster, failures: int) -> ReconcileResult:
        await self._applier.revisit(name, planning.unwanted(cluster))
        observed = self._observe(name, cluster)
        is_known = bool(item["status"]) or name in self._built
        if observed.job is None and is_known and not await self._still_exists(name, item):
            return ReconcileResult(ReconcileOutcome.GONE)
        decided = self._decide(cluster, observed)
        item = await self._finalizers.add(name, item, decided)
        with self._meter.step("apply"):
            refused = await self._apply(name, cluster, decided, failures)
        if refused or self._is_new(observed, name) or name in self._cache.conflicts:
            # The status shows at once what was just made or refused, before a watch reports it.
            decided = self._decide(cluster, self._observe(name, cluster, made=True, refusals=refused))
        await self._finish(name, item, decided, failures)
        outcome = (
            ReconcileOutcome.REFUSED if refused or name in self._cache.conflicts else ReconcileOutcome.SETTLED
        )
        return ReconcileResult(outcome, decided.again)

    async def _tear_down(
        self, name: Name, item: Object, cluster: MiniCluster, failures: int
    ) -> ReconcileResult:
        """Save and delete what must go first where a MiniCluster is being deleted, or has `managedBy`."""
        decided = self._decide(cluster, self._observe(name, cluster, made=True))
        await self._finish(name, item, decided, failures)
        return ReconcileResult(ReconcileOutcome.SETTLED, decided.again)

    async def _finish(self, name: Name, item: Object, decided: Plan, failures: int) -> None:
        """Write the status, take our finalizer off, send commands, delete: in this order."""
        await self._status.write(name, item, decided, failures)
        await self._finalizers.release(name, decided)
        if decided.orders:
            self._leads.send(name, decided.orders)
        await self._delete(name, item, decided)

    def _observe(
        self, name: Name, cluster: MiniCluster, *, made: bool = False, refusals: tuple[ApplyRefusal, ...] = ()
    ) -> Observed:
        """Return what exists. The Secret is made before the Job: where there is a Job, there is a Secret."""
        uid = cluster.metadata.uid
        objects = [each.observed() for each in self._cache.dependents.of(name)]
        objects += self._cache.conflicts.get(name, {}).values()
        reference = ObjectReference(JOBS.kind, name.namespace, cluster.metadata.name)
        job = self._cache.dependents.get(reference)
        ours = job is not None and job.owner_uid == uid
        if ours or made:
            objects.append(ObservedObject(planning.secret_key(cluster), uid))
        lead = self._cache.leads.get(name) if ours else None
        answers = self._cache.answers.get(name, {}) if ours else {}
        return Observed(
            objects=tuple(objects),
            job=self._cache.dependents.job_of(name) if ours else None,
            pods=self._cache.pods.reports(name, job.uid) if job and ours else (),
            brokers=lead.report if isinstance(lead, LeadReport) else None,
            unreachable_reason=lead.reason if isinstance(lead, Unreachable) else "",
            refusals=refusals,
            dump=self._cache.pods.dump(name, job.uid) if job and ours else None,
            restarted=answers.get("restart"),
            recovered=answers.get("recover"),
            disrupted=self._cache.pods.disruptions(name, job.uid) if job and ours else (),
            since=self._since,
        )

    def _decide(self, cluster: MiniCluster, observed: Observed) -> Plan:
        with self._meter.step("decide"):
            made = observed.find(planning.secret_key(cluster))
            keys = None if made else self._options.fresh_keys(cluster)
            site, now = self._options.site, self._options.now()
            return planning.plan(cluster, observed, site, keys, now, build=self._build)

    def _build(
        self, cluster: MiniCluster, site: Site, *, suspended: bool, pods: int, job_suspended: bool
    ) -> tuple[Object, ...]:
        """Return the objects to apply, with their digests; digest stubs if all are as they were applied."""
        about = cluster.metadata
        name = Name(about.namespace, about.name)
        inputs = BuildInputs(about.uid, about.generation, suspended, pods, job_suspended)
        known = self._built.get(name)
        if known is not None and known.inputs == inputs:
            stubs = tuple(each.digest_stub() for each in known.stamps)
            if self._applier.stand(name, about.uid, stubs):
                return stubs
        built = planning.build(cluster, site, suspended=suspended, pods=pods, job_suspended=job_suspended)
        objects = tuple(observation.stamped(each) for each in built)
        self._built[name] = Built(inputs, tuple(observation.stamp(each) for each in objects))
        return objects

    def _refuse(self, item: Object, problem: str) -> Plan:
        """Return the plan for a document that the API server accepted and that is not valid."""
        try:
            stored = document.Status.model_validate(item["status"])
        except ValidationError:
            stored = document.Status()
        refused = planning.refuse(stored, item["metadata"]["generation"], problem, self._options.now())
        # Without a valid document it is unknown what to save, and the MiniCluster must not stay for ever.
        return replace(refused, finalizer=False) if _is_leaving(item) else refused

    async def _still_exists(self, name: Name, item: Object) -> bool:
        """Return whether a MiniCluster that had objects before, and has none now, still exists.

        The watch may have missed its deletion; its objects would then be made again for ever.
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
    ) -> tuple[ApplyRefusal, ...]:
        """Apply the objects; return the refusals. Raises ApiError for failures that are expected to pass."""
        try:
            await self._applier.apply(name, cluster.metadata.uid, decided.objects)
        except NameTakenError:
            return ()
        except ApplyRefusedError as refused:
            error = refused.error
            if error.is_passing and (error.status == HTTPStatus.CONFLICT or failures < RETRY_LIMIT):
                raise error from refused
            return (ApplyRefusal(refused.key, error.message),)
        return ()

    def _is_new(self, observed: Observed, name: Name) -> bool:
        return observed.job is None and self._cache.dependents.job_of(name) is not None

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
        found = self._cache.dependents.get(ObjectReference(key.kind, name.namespace, key.name))
        return found.uid if found else ""


def _where(error: BaseException) -> str:
    """Return the last lines at which an error was raised: a recursion that is too deep has a thousand."""
    frames = list(traceback.walk_tb(error.__traceback__))[-3:]
    return ", ".join(f"{frame.f_code.co_filename}:{line}" for frame, line in frames)


def _is_left_alone(item: Object) -> bool:
    """Whether there is nothing to do: it is being deleted or has `managedBy`, and our finalizer is gone."""
    return _is_leaving(item) and not has_finalizer(item)


def _is_leaving(item: Object) -> bool:
    return bool((item["spec"] or {}).get("managedBy")) or "deletionTimestamp" in item["metadata"]
