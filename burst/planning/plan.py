"""The plan: which bursts would be made now, for which jobs, at what cost, and why other jobs are left out."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple, cast

from broker_config.formats import durations
from broker_config.formats.jobid import f58plain
from burst.planning import money
from burst.planning.hooks import PlanHooks
from burst.planning.ordering import ordered
from burst.planning.packing import PackedJob, least_nodes, makespan, nodes_of
from burst.planning.records import BurstPlan, BurstSlot, LeftOut, PlannedBurst
from burst.planning.selection import is_burstable, limit_of, obstacle, provider_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from burst.planning.records import BurstableJob, BurstPlanRequest, Offer

USUAL = PlanHooks()
ALL = "all"
"""The scope of a budget that every burst uses."""
ISOLATED = "isolated-"
"""How the names begin that stand for slots where jobs have instances of their own."""
NO_SLOT = "every slot has a burst already"
NO_BURST = "the MiniCluster may have no further burst (bursting.maxBursts)"
NO_OFFER = "no provider has machines"
NEXT = "other jobs take all of this plan's bursts: it is planned again when one has ended"


def plan(request: BurstPlanRequest, hooks: PlanHooks = USUAL) -> BurstPlan:
    """Return the bursts that would be made, each in a slot of its own, the cheapest that holds its jobs."""
    reasons: dict[int, str] = {}
    waiting: list[BurstableJob] = []
    for job in filter(is_burstable, request.jobs):
        selection = request.selection
        reasons[job.id] = obstacle(job, selection) or hooks.selector(job, selection, request.now)
        if not reasons[job.id]:
            waiting.append(job)
    waiting = ordered(waiting, hooks.rank)
    bursts = _isolated(request, waiting, reasons) if request.isolated else _joining(request, waiting, reasons)
    planned = {job for burst in bursts for job in burst.jobs}
    has_none = not request.slots and not request.isolated
    usual = NO_SLOT if has_none else NO_BURST if request.bursts_left == 0 else NEXT
    left_out = [LeftOut(job, reason or usual) for job, reason in reasons.items() if job not in planned]
    return BurstPlan(tuple(bursts), tuple(left_out))


def scopes(cluster: str, provider: str, title: str = "") -> set[str]:
    """Return the scopes of budgets that a burst uses as a whole; its users have their portions besides."""
    named = {f"cluster:{title}"} if title else set()
    return {ALL, f"cluster:{cluster}", f"provider:{provider}", *named}


def digest(planned: BurstPlan) -> str:
    """Return what identifies the bursts of a plan: who applies it names this."""
    text = json.dumps([each._asdict() for each in planned.bursts], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def isolated_slot(job: int) -> str:
    """Return the name that stands for a slot where a job has an instance of its own: it has one at a time."""
    return f"{ISOLATED}{f58plain(job)[1:]}"


def _joining(
    request: BurstPlanRequest, waiting: Sequence[BurstableJob], reasons: dict[int, str]
) -> list[PlannedBurst]:
    """Return a burst for each slot that has jobs."""
    bursts: list[PlannedBurst] = []
    for slot in request.slots[: request.bursts_left]:
        found = _cheapest(request, slot, waiting, bursts, reasons)
        if found is not None:
            bursts.append(found)
            waiting = [job for job in waiting if job.id not in found.jobs]
    return bursts


def _isolated(
    request: BurstPlanRequest, waiting: Sequence[BurstableJob], reasons: dict[int, str]
) -> list[PlannedBurst]:
    """Return a burst for each job: as large as the job, whatever that is."""
    bursts: list[PlannedBurst] = []
    for job in waiting:
        if len(bursts) == request.bursts_left:
            break
        found = _cheapest(request, isolated_slot(job.id), [job], bursts, reasons)
        if found is not None:
            bursts.append(found)
    return bursts


def _cheapest(
    request: BurstPlanRequest,
    slot: BurstSlot | str,
    waiting: Sequence[BurstableJob],
    before: Sequence[PlannedBurst],
    reasons: dict[int, str],
) -> PlannedBurst | None:
    """Return the cheapest burst of the first job that a slot can have; note why jobs before it have none.

    A slot that is a name alone has nodes as each offer has them, and as many.
    """
    for number, first in enumerate(waiting):
        found: list[PlannedBurst] = []
        for offer in request.offers:
            nodes = BurstSlot(slot, offer.most, offer.shape) if isinstance(slot, str) else slot
            attempt = _Attempt(request, nodes, offer, tuple(before))
            reason = attempt.obstacle(first) or attempt.obstacle_of_cost(first)
            if reason:
                reasons[first.id] = reason
            else:
                found.append(attempt.filled(waiting[number:]))
        if found:
            return min(found, key=lambda burst: (burst.worst, burst.ready, burst.provider, burst.machine))
        if not request.offers:
            reasons[first.id] = "; ".join(request.resting) or NO_OFFER
    return None


class _Attempt(NamedTuple):
    """A burst in a slot, of one kind of machine."""

    request: BurstPlanRequest
    slot: BurstSlot
    offer: Offer
    before: tuple[PlannedBurst, ...]
    """The bursts that this plan has already."""

    @property
    def most(self) -> int:
        return min(self.slot.size, self.offer.most, self._nodes_left)

    @property
    def _nodes_left(self) -> int:
        left = self.request.nodes_left
        return self.slot.size if left is None else left - sum(each.nodes for each in self.before)

    def obstacle(self, job: BurstableJob) -> str:
        """Return why a job cannot be in it, whatever it costs; empty if it can."""
        return next(self._obstacles(job), "")

    def _obstacles(self, job: BurstableJob) -> Iterator[str]:
        wanted, offer, shape = provider_of(job), self.offer, self.slot.shape
        if wanted not in {None, offer.provider}:
            known = {each.provider for each in self.request.offers}
            yield f"it asks for provider {wanted}" + ("" if wanted in known else ", which is not there")
        if not offer.shape.holds(shape):
            yield f"{offer.provider} has no machine for nodes of {shape.cores} cores and {shape.gpus} GPUs"
        nodes = nodes_of(job.request, shape)
        if nodes is None:
            yield f"it does not fit on nodes of {shape.cores} cores and {shape.gpus} GPUs"
            return
        most, left = min(self.slot.size, offer.most), max(self._nodes_left, 0)
        if nodes > most:
            where = offer.provider if self.request.isolated else f"slot {self.slot.name}"
            of = offer.machine if self.request.isolated else offer.provider
            yield f"it needs {nodes} nodes, and {where} has {most} of {of}"
        if nodes > left:
            yield f"it needs {nodes} nodes, and the MiniCluster may have {left} more (bursting.maxNodes)"
        limit, window = limit_of(job, self.request.selection), self.request.durations.window
        if limit > window:
            spans = (durations.encode(limit), durations.encode(window))
            yield "its time limit of {} is more than the {} that a burst may take".format(*spans)

    def obstacle_of_cost(self, job: BurstableJob) -> str:
        """Return why a burst for this job alone cannot be paid; empty if it can."""
        burst = self._burst([job])
        return "" if burst is None else next(self._exceeded(burst), "")

    def filled(self, jobs: Sequence[BurstableJob]) -> PlannedBurst:
        """Return the burst with as many of the jobs as it has room and money for; the first one fits."""
        taken, best = [jobs[0]], cast("PlannedBurst", self._burst(jobs[:1]))
        for job in jobs[1:]:
            if self.obstacle(job):
                continue
            burst = self._burst([*taken, job])
            if burst is not None and next(self._exceeded(burst), None) is None:
                taken.append(job)
                best = burst
        return best

    def _burst(self, jobs: Sequence[BurstableJob]) -> PlannedBurst | None:
        """Return the burst of these jobs; None if they are too many for one."""
        limits, offer = self.request.durations, self.offer
        tasks = [self._task(job) for job in jobs]
        nodes = least_nodes(tasks, self.most, limits.window)
        if nodes is None:
            return None
        computing = makespan(tasks, nodes)
        until = max(limits.provisioning, offer.provisioning) + limits.joining + computing
        seconds = until + limits.draining + limits.deleting
        worst = _cost(offer, nodes, seconds)
        weights: dict[str, int] = {}
        for job, task in zip(jobs, tasks, strict=True):
            weights[job.user] = weights.get(job.user, 0) + round(1000 * task.nodes * task.seconds)
        return PlannedBurst(
            slot=self.slot.name,
            provider=offer.provider,
            machine=offer.machine,
            spot=offer.spot,
            nodes=nodes,
            price=offer.price,
            jobs=tuple(job.id for job in jobs),
            ready=offer.ready,
            until=until,
            seconds=seconds,
            worst=worst,
            likely=_cost(offer, nodes, offer.ready + computing),
            portions=money.portions(worst, weights),
            fee=offer.fee,
            isolated=self.request.isolated,
        )

    def _task(self, job: BurstableJob) -> PackedJob:
        nodes = cast("int", nodes_of(job.request, self.slot.shape))  # `obstacle` let it through
        return PackedJob(nodes, limit_of(job, self.request.selection))

    def _exceeded(self, burst: PlannedBurst) -> Iterator[str]:
        """Yield each budget that the burst would exceed, with what is left of it."""
        for budget in self.request.budgets:
            if budget.scope in self._scopes(burst):
                yield from _beyond(budget.scope, budget.left - self._planned(budget.scope), burst.worst)
        if self.request.per_user is not None:
            for user, portion in burst.portions.items():
                planned = sum(each.portions.get(user, 0) for each in self.before)
                left = self.request.per_user - self.request.spent.get(user, 0) - planned
                yield from _beyond(f"user:{user}", left, portion)

    def _planned(self, scope: str) -> int:
        """Return what this plan's bursts so far would reserve of a budget."""
        return sum(each.worst for each in self.before if scope in self._scopes(each))

    def _scopes(self, burst: PlannedBurst) -> set[str]:
        return scopes(self.request.cluster, burst.provider, self.request.title)


def _cost(offer: Offer, nodes: int, seconds: float) -> int:
    return money.cost(offer.price, nodes, seconds) + money.cost(offer.fee, 1, seconds)


def _beyond(scope: str, left: int, wanted: int) -> Iterator[str]:
    if wanted > left:
        amounts = (money.encode(wanted), money.encode(max(left, 0)))
        yield f"budget {scope}: its burst may cost {amounts[0]}, and {amounts[1]} is left"
