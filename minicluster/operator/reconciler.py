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

from minicluster import document
from minicluster import plan as planning
from minicluster.document import stored_status, weight
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.objects import Name, ObjectReference
from minicluster.kube_client.resources import JOBS, MINICLUSTERS, RESOURCES
from minicluster.operator import flux_files_cleanup, planned, shared_flux_files
from minicluster.operator.apply import Applier, ApplyRefusedError, NameTakenError
from minicluster.operator.errors import PlanningLimitError
from minicluster.operator.finalizers import Finalizers, has_finalizer
from minicluster.operator.planned import PlanInputs
from minicluster.operator.records import LeadReport, Unreachable
from minicluster.operator.status_writer import StatusWriter
from minicluster.plan import ApplyRefusal, ObjectKey, Observed, ObservedObject, Plan
from minicluster.plan.objects import token_secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.kube_client.api import Api
    from minicluster.operator.cache import Cache
    from minicluster.operator.lead_watch import LeadCommands
    from minicluster.operator.meters import Meter
    from minicluster.operator.planned import Built, Subject
    from minicluster.operator.planner import Planner, ReadDocument
    from minicluster.plan import FreshKeys, JobReport, NodeReport, Site
    from minicluster.plan.objects.fields import Object

log = logging.getLogger(__name__)

RETRY_LIMIT = 3
"""After how many passing refusals (429, 5xx) in a row the status shows them."""
STATUS_DELAY = 0.3
"""Seconds from the creation of the objects to the first status: by then it mostly has the pods as well."""
AFTER_UNPLANNABLE = 300.0
"""Seconds before a document that could not be planned is tried again: what exists for it may have changed."""


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
    """What is the same for every MiniCluster: site, reporter of Events, fresh keys, planner, time."""

    site: Site
    reporter: str
    """The operator's identity, by which it signs Events."""
    fresh_keys: Callable[[Subject], FreshKeys]
    """Makes the keys of a MiniCluster that has none yet."""
    planner: Planner
    """Reads and plans documents outside the event loop."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    nodes: Callable[[], tuple[NodeReport, ...] | None] = lambda: None
    """The cluster's nodes, where they are watched."""


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
        if shared_flux_files.is_subject(name):
            await flux_files_cleanup.clean_up(self._api, self._cache, name.namespace)
            return ReconcileResult(ReconcileOutcome.SETTLED)
        item = self._cache.clusters.get(name)
        if item is None or _is_left_alone(item):
            return ReconcileResult(ReconcileOutcome.GONE if item is None else ReconcileOutcome.SETTLED)
        refused = _waiting(item, self._options.now())
        if refused is None:
            try:
                read = await self._options.planner.read(item)
                act = self._tear_down if _is_leaving(item) else self._run
                return await act(name, item, read, failures)
            except document.DocumentError as error:
                refused = self._refuse(item, planned.problem(error))
            except planning.UnplannableError as error:
                log.warning("%s: %s; raised in %s", name, error, _where(error.__cause__ or error))
                refused = replace(self._refuse(item, str(error)), again=AFTER_UNPLANNABLE)
            except PlanningLimitError as error:
                log.warning("%s: %s", name, error)
                refused = self._over_limit(item, error)
        await self._status.write(name, item, refused, failures)
        await self._finalizers.release(name, refused)
        return ReconcileResult(ReconcileOutcome.SETTLED, refused.again)

    def forget(self, name: Name) -> None:
        """Forget a MiniCluster that is gone."""
        self._built.pop(name, None)
        self._status.forget(name)

    async def _run(self, name: Name, item: Object, read: ReadDocument, failures: int) -> ReconcileResult:
        subject = read.subject
        await self._applier.revisit(name, subject.unwanted)
        observed = self._observe(name, subject)
        is_known = bool(item["status"]) or name in self._built
        if observed.job is None and is_known and not await self._still_exists(name, item):
            return ReconcileResult(ReconcileOutcome.GONE)
        decided = await self._decide(name, read, observed)
        item = await self._finalizers.add(name, item, decided)
        with self._meter.step("apply"):
            refused = await self._apply(name, subject, decided, failures)
        is_new = self._is_new(observed, name)
        failed = bool(refused) or name in self._cache.conflicts
        if is_new and not failed and _awaits_pods(item, self._cache.dependents.job_of(name)):
            return ReconcileResult(ReconcileOutcome.SETTLED, STATUS_DELAY)
        if failed or is_new:
            # The status shows at once what was just made or refused, before a watch reports it.
            observed = self._observe(name, subject, made=True, refusals=refused)
            decided = await self._decide(name, read, observed)
        await self._finish(name, item, decided, failures)
        outcome = ReconcileOutcome.REFUSED if failed else ReconcileOutcome.SETTLED
        return ReconcileResult(outcome, decided.again)

    async def _tear_down(
        self, name: Name, item: Object, read: ReadDocument, failures: int
    ) -> ReconcileResult:
        """Save and delete what must go first where a MiniCluster is being deleted, or has `managedBy`."""
        decided = await self._decide(name, read, self._observe(name, read.subject, made=True))
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
        self, name: Name, subject: Subject, *, made: bool = False, refusals: tuple[ApplyRefusal, ...] = ()
    ) -> Observed:
        """Return what exists. The Secret is made before the Job: where there is a Job, there is a Secret."""
        uid = subject.uid
        known = list(self._cache.dependents.of(name))
        objects = [each.observed() for each in known]
        objects += self._cache.conflicts.get(name, {}).values()
        shared = self._cache.dependents.get(shared_flux_files.reference(name.namespace))
        if shared is not None and not shared.owner_uid:
            objects.append(ObservedObject(shared.key, uid))
        reference = ObjectReference(JOBS.kind, name.namespace, name.name)
        job = self._cache.dependents.get(reference)
        ours = job is not None and job.owner_uid == uid
        if ours or made:
            objects.append(ObservedObject(subject.secret, uid))
        lead = self._cache.leads.get(name) if ours else None
        answers = self._cache.answers.get(name, {}) if ours else {}
        return Observed(
            objects=tuple(objects),
            tokens=next((each.tokens for each in known if each.tokens and each.owner_uid == uid), ""),
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
            nodes=None if job else self._options.nodes(),
            pod_refusal=self._cache.pods.refusal(name, job.uid) if job and ours else "",
        )

    async def _decide(self, name: Name, read: ReadDocument, observed: Observed) -> Plan:
        """Return the plan; its objects have their digests, or are digest stubs if all are as applied."""
        with self._meter.step("decide"):
            site, now = self._options.site, self._options.now()
            tokens_are_due = read.subject.lead_hosts and token_secret.is_due(observed, site)
            made = observed.find(read.subject.secret) and not tokens_are_due
            keys = None if made else self._options.fresh_keys(read.subject)
            standing = self._built.get(name)
            if standing and not self._applier.stand(name, read.subject.uid, standing.stubs()):
                standing = None
            found = await read.plan(PlanInputs(observed, site, keys, now, standing))
            if found.built is not None:
                self._built[name] = found.built
            return found.plan

    def _over_limit(self, item: Object, error: PlanningLimitError) -> Plan:
        """Return the plan for a document whose planning took too much."""
        problem = f"{error}; make {weight.heaviest(item)} smaller"
        generation = item["metadata"]["generation"]
        refused = planning.over_limit(_stored(item), generation, problem, self._options.now())
        return replace(refused, finalizer=False) if _is_leaving(item) else refused

    def _refuse(self, item: Object, problem: str) -> Plan:
        """Return the plan for a document that the API server accepted and that is not valid."""
        refused = planning.refuse(_stored(item), item["metadata"]["generation"], problem, self._options.now())
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
        self, name: Name, subject: Subject, decided: Plan, failures: int
    ) -> tuple[ApplyRefusal, ...]:
        """Apply the objects; return the refusals. Raises ApiError for failures that are expected to pass."""
        try:
            await self._applier.apply(name, subject.uid, decided.objects)
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


def _awaits_pods(item: Object, job: JobReport | None) -> bool:
    """Whether the first status of a MiniCluster that was just made waits for its pods, and shows them too.

    An operator that dies meanwhile leaves a MiniCluster without a status; the next one writes it.
    """
    return not item["status"] and job is not None and not job.suspended


def _stored(item: Object) -> document.Status:
    """Return the stored status, as far as it can be read."""
    return stored_status.readable(item["status"]).record


def _waiting(item: Object, now: datetime) -> Plan | None:
    """Return the plan for a document that took too much and is not to be planned for now; None: it is."""
    if "planning" not in item["status"]:
        return None
    left = planning.planning_limits.seconds_left(_stored(item).planning, item["metadata"]["generation"], now)
    if left is None:
        return None
    return Plan((), item["status"], again=left, finalizer=False if _is_leaving(item) else None)


def _is_left_alone(item: Object) -> bool:
    """Whether there is nothing to do: it is being deleted or has `managedBy`, and our finalizer is gone."""
    return _is_leaving(item) and not has_finalizer(item)


def _is_leaving(item: Object) -> bool:
    return bool((item["spec"] or {}).get("managedBy")) or "deletionTimestamp" in item["metadata"]
