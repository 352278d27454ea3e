"""`plan()`: everything that a reconcile does, decided from what is wanted and what exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_config.errors import BrokerConfigError
from broker_config.formats.errors import ParseError
from minicluster.plan.brokers import choice, cutting
from minicluster.plan.constants import FINALIZER, KIND, ConditionType, Reason
from minicluster.plan.errors import unplannable
from minicluster.plan.lifecycle import deletion, saving, shrinking
from minicluster.plan.objects import (
    autoscaler,
    curve_secret,
    followers,
    job,
    objects,
    shared_flux_files,
    token_secret,
)
from minicluster.plan.records import ObjectKey, Plan
from minicluster.plan.status import (
    conditions,
    dumps,
    events,
    node_loss,
    planning_limits,
    progress,
    release_0_1_0,
    status,
    unmade_pods,
)
from minicluster.plan.status.reconcile_state import Completion, ReconcileState, evaluate

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.document import MiniCluster, Status
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.objects.keys import FreshKeys
    from minicluster.plan.records import Observed, Site


class Build(Protocol):
    """Builds a MiniCluster's objects, all but the Secret: `objects.build`, or a cache of it."""

    def __call__(
        self,
        cluster: MiniCluster,
        site: Site,
        *,
        suspended: bool,
        pods: int,
        job_suspended: bool,
        mounts_flux_files: bool,
    ) -> tuple[Object, ...]:
        """Return the objects, in the order in which they are made.

        `pods` is the number of pods of the Job, `job_suspended` whether it is suspended, `mounts_flux_files`
        whether its pods mount those of the namespace.
        """
        ...


def plan(
    cluster: MiniCluster,
    observed: Observed,
    site: Site,
    fresh_keys: FreshKeys | None,
    now: datetime,
    *,
    build: Build = objects.build,
) -> Plan:
    """Return the objects to apply and to delete, the status to write, and the Events to send.

    `cluster.status` is the stored status. `fresh_keys` are used only where no Secret is observed:
    the brokers' unless the document has a certificate, those of the lead API where the site has one. Where
    they are missing then, KeysNeededError is raised. The tokens among them are also used where others than
    the site's are observed. A caller that plans often passes a `build` that caches
    its results. Raises UnplannableError where the document asks for too much.

    A MiniCluster that another controller manages, or that is being deleted, is only saved if need be.
    """
    with unplannable():
        return _planned(cluster, observed, site, fresh_keys, now, build)


def _planned(
    cluster: MiniCluster,
    observed: Observed,
    site: Site,
    fresh_keys: FreshKeys | None,
    now: datetime,
    build: Build,
) -> Plan:
    cluster, site = release_0_1_0.migrated(cluster), followers.site_of(cluster, site)
    if cluster.spec.managed_by or cluster.metadata.deletion_timestamp:
        return deletion.plan(cluster, observed, site, now)
    if refusal := choice.refusal(cluster, observed, site):
        return refuse(cluster.status, cluster.metadata.generation, refusal, now)
    before, granularity = cluster.status, choice.decide(cluster, observed, site)
    if granularity is not None:
        known = before.model_copy(update={"granularity": granularity})
        cluster = cutting.cut(cluster.model_copy(update={"status": known}))
    try:
        save = saving.decide(cluster, observed, site, now)
        shrink = shrinking.stay if save.pending else shrinking.decide
        resize = shrink(cluster, observed, site, now)
        job_suspended = cluster.spec.suspend and not save.pending
        suspended = job.is_suspended(cluster, observed.job)
        built = build(
            cluster,
            site,
            suspended=suspended,
            pods=resize.pods,
            job_suspended=job_suspended,
            mounts_flux_files=shared_flux_files.are_mounted(site, observed.job),
        )
        secret, scaler = objects.secret_key(cluster), autoscaler.key(cluster)
        # Brokers need no autoscaler: one with another owner, or that is refused, keeps nothing else back.
        wanted = [each for each in map(objects.key_of, built) if each != scaler]
        if observed.find(scaler) != autoscaler.own(cluster, observed):
            built = tuple(each for each in built if objects.key_of(each) != scaler)
        state = evaluate(cluster, observed, [secret, *wanted], resize, save)
        if token_secret.is_due(observed, site) and _may_apply(state):
            built = _with_tokens(cluster, observed, site, fresh_keys, built)
        if observed.find(secret) is None and _may_apply(state):
            built = (_secret(cluster, site, fresh_keys), *built)
        return _decide(state, built, site, now, is_stored=granularity == before.granularity)
    except (BrokerConfigError, ParseError) as error:
        # An error that only shows when the brokers' files are written, such as two hosts of one name.
        return refuse(before, cluster.metadata.generation, str(error), now)


def _decide(
    state: ReconcileState, built: tuple[Object, ...], site: Site, now: datetime, *, is_stored: bool
) -> Plan:
    """Return the plan; `is_stored`: how brokers are cut is in the status, or it is nothing to be stored.

    Before that no object is made: an operator that took over might cut them otherwise, and pods are of one
    template for ever.
    """
    records = progress.evaluate(state, now)
    found = conditions.values(state, records, site, now)
    goes_on = _may_apply(state) and is_stored
    stored, resize, save = state.cluster.status, state.resize, state.saving
    recovering = () if save.pending else node_loss.orders(state.observed, site)
    interval = shrinking.ORDER_INTERVAL if recovering else None
    times = (resize.again, save.again, interval, unmade_pods.again(state, now))
    soonest = min((each for each in times if each is not None), default=None)
    return Plan(
        objects=built if goes_on else (),
        status=status.build(state, records, found, now),
        events=(
            *dumps.events(state.observed.dump, stored),
            *events.of_changes(found, stored.conditions),
        ),
        delete=_superfluous(state),
        orders=(*resize.orders, *recovering, *save.orders) if goes_on else (),
        again=0.0 if not is_stored else soonest if goes_on else None,
        finalizer=_finalizer(state, site, goes_on=goes_on),
    )


def _finalizer(state: ReconcileState, site: Site, *, goes_on: bool) -> bool:
    """Return whether our finalizer is to be there: from before there are pods until they have ended."""
    if not saving.is_wanted(state.cluster, site) or state.outcome is not Completion.NONE:
        return False
    return goes_on or FINALIZER in state.cluster.metadata.finalizers


def refuse(stored: Status, generation: int, problem: str, now: datetime) -> Plan:
    """Return the plan for a document that is not valid: only a status and an Event with the problem."""
    found = conditions.refused(problem, stored.conditions)
    return Plan(
        objects=(),
        status=status.refused(stored, generation, found, now),
        events=events.of_changes(found, stored.conditions),
    )


def over_limit(stored: Status, generation: int, problem: str, now: datetime) -> Plan:
    """Return the plan for a document whose planning took too much: a status and an Event with the problem.

    `planning_limits.seconds_left` is how long it is left alone afterwards, also by another operator.
    """
    record = planning_limits.record(stored, generation, now)
    message = f"{problem}. It was tried {_times(record.attempts)}, and is tried again at {record.retry_at}"
    found = conditions.refused(message, stored.conditions, Reason.PLANNING_LIMIT_EXCEEDED)
    return Plan(
        objects=(),
        status=status.refused(stored, generation, found, now) | planning_limits.fields(record),
        events=events.of_changes(found, stored.conditions),
        again=planning_limits.seconds_left(record, generation, now),
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _secret(cluster: MiniCluster, site: Site, keys: FreshKeys | None) -> Object:
    return curve_secret.build(cluster, site, curve_secret.files(cluster, site, keys))


def _with_tokens(
    cluster: MiniCluster, observed: Observed, site: Site, keys: FreshKeys | None, built: tuple[Object, ...]
) -> tuple[Object, ...]:
    """Return the objects with the second Secret, and behind it the budget, which has the note of it.

    Both come before a new Job, whose pods find the tokens then. Where there is a Job they come after it:
    brokers that run need them least, and a quota that refuses the Secret keeps nothing else back.
    """
    secret = token_secret.build(cluster, observed, site, keys)
    if secret is None:
        return built
    if observed.job is None:
        index = next(number for number, each in enumerate(built) if each["kind"] == "PodDisruptionBudget")
        return (*built[:index], secret, *built[index:])
    last = ("PodDisruptionBudget", "HorizontalPodAutoscaler")
    rest = [each for each in built if each["kind"] not in last]
    return (*rest, secret, *(each for kind in last for each in built if each["kind"] == kind))


def _may_apply(state: ReconcileState) -> bool:
    """Whether objects are applied: not if one conflicts, it has ended, or it has too few hosts."""
    return state.outcome is Completion.NONE and not state.conflicting and not conditions.size_problem(state)


def _superfluous(state: ReconcileState) -> tuple[ObjectKey, ...]:
    cluster, observed = state.cluster, state.observed
    ended = state.previous(ConditionType.SUCCEEDED, "True") or state.previous(ConditionType.FAILED, "True")
    if cluster.spec.cleanup and ended:
        # Only now, when the result is stored and its Event was sent.
        return (ObjectKey(KIND, cluster.metadata.name),)
    services = observed.find(objects.services_key(cluster))
    if services is not None and (services.owner_uid != cluster.metadata.uid or not state.suspended):
        services = None
    scaler = autoscaler.own(cluster, observed)
    if autoscaler.wanted_by(cluster, suspended=state.suspended) and not state.ended:
        scaler = None
    return tuple(each.key for each in (services, scaler) if each is not None)
