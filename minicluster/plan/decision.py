"""`plan()`: everything that a reconcile does, decided from what is wanted and what exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_config.errors import BrokerConfigError
from minicluster.plan import (
    autoscaler,
    conditions,
    curve_secret,
    dumps,
    events,
    leaving,
    node_loss,
    objects,
    saving,
    shrinking,
    status,
)
from minicluster.plan.constants import FINALIZER, KIND, ConditionType
from minicluster.plan.records import ObjectKey, Plan
from minicluster.plan.situation import Outcome, Situation, assess, is_suspended

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.plan.fields import Object
    from minicluster.plan.keys import FreshKeys
    from minicluster.plan.records import Observed, Site
    from minicluster.spec import MiniCluster, Status


class Build(Protocol):
    """What builds a MiniCluster's objects, all but the Secret: `objects.build`, or one that remembers."""

    def __call__(
        self, cluster: MiniCluster, site: Site, *, suspended: bool, pods: int, held: bool
    ) -> tuple[Object, ...]:
        """Return the objects, in the order in which they are made; the Job with so many `pods`, or `held`."""
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
    """Return the objects to apply and to delete, the status to write, and the Events to emit.

    `cluster.status` is the stored status. `fresh_keys` are used only where no Secret is observed (the
    brokers' where the document brings no certificate, the door's where there is one); KeysNeededError is
    raised where they are then missing. A MiniCluster that another controller manages, or that is being
    deleted, is left alone, but for what must be saved before. Whoever plans often gives a `build` that keeps
    what it built.
    """
    if cluster.spec.managed_by or cluster.metadata.deletion_timestamp:
        return leaving.plan(cluster, observed, site, now)
    try:
        save = saving.decide(cluster, observed, site, now)
        shrink = shrinking.stay if save.pending else shrinking.decide
        resize = shrink(cluster, observed, site, now)
        held = cluster.spec.suspend and not save.pending
        suspended = is_suspended(cluster, observed.job)
        built = build(cluster, site, suspended=suspended, pods=resize.pods, held=held)
        secret, scaler = objects.secret_key(cluster), autoscaler.key(cluster)
        # Brokers do without an autoscaler: one that is in its place, or refused, keeps nothing else back.
        wanted = [each for each in map(objects.key_of, built) if each != scaler]
        if observed.find(scaler) != autoscaler.own(cluster, observed):
            built = tuple(each for each in built if objects.key_of(each) != scaler)
        situation = assess(cluster, observed, [secret, *wanted], resize, save)
        if observed.find(secret) is None and _may_apply(situation):
            built = (_secret(cluster, site, fresh_keys), *built)
        return _decide(situation, built, site, now)
    except BrokerConfigError as error:
        # What only shows when the brokers' files are written, such as two hosts of one name.
        return refuse(cluster.status, cluster.metadata.generation, str(error), now)


def _decide(situation: Situation, built: tuple[Object, ...], site: Site, now: datetime) -> Plan:
    found = conditions.findings(situation)
    goes_on = _may_apply(situation)
    stored, resize, save = situation.cluster.status, situation.resize, situation.saving
    recovering = () if save.pending else node_loss.orders(situation.observed, site)
    times = (resize.again, save.again, shrinking.ORDER_AGAIN if recovering else None)
    soonest = min((each for each in times if each is not None), default=None)
    return Plan(
        objects=built if goes_on else (),
        status=status.build(situation, found, now),
        events=(
            *dumps.events(situation.observed.dump, stored),
            *events.of_changes(found, stored.conditions),
        ),
        delete=_superfluous(situation),
        orders=(*resize.orders, *recovering, *save.orders) if goes_on else (),
        again=soonest if goes_on else None,
        finalizer=_finalizer(situation, site, goes_on=goes_on),
    )


def _finalizer(situation: Situation, site: Site, *, goes_on: bool) -> bool:
    """Return whether it must not go before it is saved: from before it has pods, until they have ended."""
    if not saving.is_wanted(situation.cluster, site) or situation.outcome is not Outcome.NONE:
        return False
    return goes_on or FINALIZER in situation.cluster.metadata.finalizers


def refuse(stored: Status, generation: int, problem: str, now: datetime) -> Plan:
    """Return the plan for a document that is not valid: nothing but a status and an Event that say why."""
    found = conditions.refused(problem, stored.conditions)
    return Plan(
        objects=(),
        status=status.refused(stored, generation, found, now),
        events=events.of_changes(found, stored.conditions),
    )


def _secret(cluster: MiniCluster, site: Site, keys: FreshKeys | None) -> Object:
    return curve_secret.build(cluster, site, curve_secret.files(cluster, site, keys))


def _may_apply(situation: Situation) -> bool:
    """Whether objects are applied: not over somebody else's, not once it has ended, not beyond the hosts."""
    return (
        situation.outcome is Outcome.NONE and not situation.foreign and not conditions.size_problem(situation)
    )


def _superfluous(situation: Situation) -> tuple[ObjectKey, ...]:
    cluster, observed = situation.cluster, situation.observed
    ended = situation.previous(ConditionType.SUCCEEDED, "True") or situation.previous(
        ConditionType.FAILED, "True"
    )
    if cluster.spec.cleanup and ended:
        # Only now: the stored status, and with it the Event, already tell the result.
        return (ObjectKey(KIND, cluster.metadata.name),)
    services = observed.find(objects.services_key(cluster))
    if services is not None and (services.owner_uid != cluster.metadata.uid or not situation.suspended):
        services = None
    scaler = autoscaler.own(cluster, observed)
    if autoscaler.wanted_by(cluster, suspended=situation.suspended) and not situation.ended:
        scaler = None
    return tuple(each.key for each in (services, scaler) if each is not None)
