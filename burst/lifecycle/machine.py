"""The state machine: what is to be done for a burst, from what the ledger has and what is observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats import durations, idset
from burst.lifecycle import isolated, metering, steps
from burst.lifecycle.life import NOT_THERE, Life, given_up, limit, lost, orphaned, uncounted
from burst.lifecycle.records import ResourcePhase
from burst.lifecycle.states import BurstOutcome, BurstState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from burst.lifecycle.records import SlotView
    from burst.lifecycle.steps import BurstStep

__all__ = ["MAX_QUIET", "Life", "next_step"]

MAX_QUIET = 20.0
"""Seconds between two observations of a burst whose jobs run: each calls its provider and its lead."""


def next_step(life: Life) -> BurstStep:
    """Return what is to be done now: the first thing that the state's function yields.

    It is at most one call or one write; after it everything is observed anew. What it costs comes first.
    """
    is_deleting = life.burst.state is BurstState.DELETING
    known = (life.counts, life.resources, life.observed, life.now)
    count = metering.change(*known, is_deleting=is_deleting)
    if count is not None:
        return steps.NoteNodes(count)
    states = _ISOLATED if life.burst.isolated else _STEPS
    return next(states[life.burst.state](life))


def _requested(life: Life) -> Iterator[BurstStep]:
    if life.burst.stopping:
        yield steps.Enter(BurstState.DELETED, BurstOutcome.STOPPED, "somebody stopped it")
    if life.is_late:
        reason = f"it was not reserved in {limit(life)}"
        yield steps.Enter(BurstState.DELETED, BurstOutcome.NOT_POSSIBLE, reason)
    yield steps.ReserveSlot()


def _planned(life: Life) -> Iterator[BurstStep]:
    yield from given_up(life, "its resources were not begun in time")
    yield steps.Intend(life.resources[0])


def _provisioning(life: Life) -> Iterator[BurstStep]:
    yield from given_up(life, "its resources were not ready in {}")
    for resource in life.resources:
        if resource.intent_at is None:
            yield steps.Intend(resource)
        status = life.status(resource)
        if status is None or status.phase is ResourcePhase.ABSENT:
            yield steps.Create(resource)
            return
        yield from lost(life, resource, (ResourcePhase.BROKEN, ResourcePhase.GOING))
        if resource.made_at is None:
            yield steps.NoteMade(resource)
        if status.phase is ResourcePhase.COMING:
            yield steps.Wait(f"{resource.key.kind} {resource.key.name} is being made")
    yield steps.Enter(BurstState.JOINING)


def _joining(life: Life) -> Iterator[BurstStep]:
    slot = life.observed.slot
    yield from orphaned(life)
    yield from given_up(life, "{} of {} nodes joined in {}".format(*_joined(life), "{}"))
    for resource in life.resources:
        yield from lost(life, resource, NOT_THERE)
    if slot is None:
        yield steps.Wait("the lead does not answer")
        return
    yield from _another_instance(life, slot)
    if missing := life.ranks - slot.online:
        yield steps.Wait(f"ranks {idset.encode(missing)} have not joined")
    yield from _tried(life, slot, life.ranks & slot.drained, BurstState.DELETING)
    yield from uncounted(life)
    yield steps.Enter(BurstState.ACTIVE)


def _tried(life: Life, slot: SlotView, again: frozenset[int], failed: BurstState) -> Iterator[BurstStep]:
    """Yield what tries a job on each rank, and on some once more; the state where jobs do not run on one."""
    for rank in sorted(life.ranks & slot.probes.keys()):
        if error := slot.probes[rank].error:
            yield steps.Enter(failed, BurstOutcome.FAILED, f"jobs do not run on rank {rank}: {error}")
    if untried := (life.ranks - slot.probes.keys()) | again:
        yield steps.Probe(tuple(sorted(untried)))
    if not all(slot.probes[rank].done for rank in life.ranks):
        yield steps.Wait("jobs that try the ranks have not ended")


def _active(life: Life) -> Iterator[BurstStep]:
    burst, slot = life.burst, life.observed.slot
    yield from orphaned(life)
    if burst.stopping:
        yield steps.Enter(BurstState.DRAINING, BurstOutcome.STOPPED, "somebody stopped it")
    if life.now >= burst.until:
        yield steps.Enter(BurstState.DRAINING, BurstOutcome.EXPIRED, "its time is over")
    for resource in life.resources:
        yield from lost(life, resource, NOT_THERE, BurstState.DRAINING)
    if slot is None:
        yield steps.Wait("the lead does not answer")
        return
    yield from _another_instance(life, slot)
    silent = [since for rank, since in slot.unresponsive.items() if rank in life.ranks]
    if len(silent) == burst.nodes and life.now - max(silent) >= life.timeouts.lost:
        span = durations.encode(life.timeouts.lost)
        yield steps.Enter(BurstState.DRAINING, BurstOutcome.FAILED, f"none of its ranks answered for {span}")
    if unmoved := [each.job for each in life.jobs if each.moved_at is None and not each.outcome]:
        yield steps.Assign(tuple(unmoved))
    if not slot.started:
        yield from _closed(life, slot)
    yield from _idle(life, slot)


def _closed(life: Life, slot: SlotView) -> Iterator[BurstStep]:
    """Yield what starts the queue of an active burst, which the lead closes once ranks are gone."""
    if missing := life.ranks - slot.online:
        span = durations.encode(life.timeouts.lost)
        since = min(
            (slot.unresponsive[rank] for rank in missing & slot.unresponsive.keys()), default=life.now
        )
        if life.now - since >= life.timeouts.lost:
            reason = f"ranks {idset.encode(missing)} did not come back in {span}"
            yield steps.Enter(BurstState.DRAINING, BurstOutcome.FAILED, reason)
        yield steps.Wait(f"ranks {idset.encode(missing)} are gone: its queue is closed")
    yield from _tried(life, slot, frozenset(), BurstState.DRAINING)
    yield steps.OpenQueue()


def _idle(life: Life, slot: SlotView) -> Iterator[BurstStep]:
    since = life.burst.idle_since
    if slot.pending or slot.running:
        if since is not None:
            yield steps.NoteIdle(None)
        yield steps.Wait("its jobs run", _quiet(life))
        return
    if since is None:
        yield steps.NoteIdle(life.now)
        return
    if life.now - since >= life.timeouts.idle:
        yield steps.Enter(BurstState.DRAINING, BurstOutcome.SUCCEEDED, "it has nothing to do")
    left = life.timeouts.idle - (life.now - since)
    yield steps.Wait("it has nothing to do", min(left, _quiet(life)))


def _quiet(life: Life) -> float:
    """Return for how many seconds an active burst needs nobody: jobs start and end there by themselves."""
    slot = life.observed.slot
    assert slot is not None  # noqa: S101 - who asks has seen it
    if life.ranks & slot.unresponsive.keys():
        return 0.0
    return max(0.0, min(MAX_QUIET, life.timeouts.idle / 4, life.burst.until - life.now))


def _draining(life: Life) -> Iterator[BurstStep]:
    slot = life.observed.slot
    yield from orphaned(life)
    late = steps.Enter(BurstState.DELETING, reason=f"jobs ran on after {limit(life)}")
    if slot is None:
        yield late if life.is_late else steps.Wait("the lead does not answer")
        return
    yield from _another_instance(life, slot)
    if slot.started or slot.pending or (life.ranks & slot.online) - slot.drained:
        yield steps.Close(tuple(sorted(slot.pending)))
    if slot.running and life.is_late:
        yield steps.Restart(tuple(sorted(slot.running)))
        return
    if slot.running:
        yield steps.Wait("its jobs have not ended")
    yield steps.Enter(BurstState.DELETING)


def _deleting(life: Life) -> Iterator[BurstStep]:
    slot = life.observed.slot
    # Where its lead did not answer while it was drained: it may answer now.
    if slot is not None and slot.instance == life.burst.instance and (slot.started or slot.pending):
        yield steps.Close(tuple(sorted(slot.pending)))
    for resource in reversed(life.resources):
        if resource.intent_at is None or resource.gone_at is not None:
            continue
        status = life.status(resource)
        if status is None:
            yield steps.Wait("its provider was not asked")
            return
        if status.phase is ResourcePhase.ABSENT:
            yield steps.NoteGone(resource)
        if resource.made_at is None:
            yield steps.NoteMade(resource)
        if status.phase is ResourcePhase.GOING:
            yield steps.Wait(f"{resource.key.kind} {resource.key.name} is being deleted")
        yield steps.Delete(resource.key)
    yield from _verified(life)


def _verified(life: Life) -> Iterator[BurstStep]:
    """Yield what makes it certain that nothing is left: two listings that have nothing of it."""
    since = life.burst.empty_since
    if life.observed.listed:
        if since is not None:
            yield steps.NoteEmpty(None)
        left = life.observed.listed[0]
        if left.phase is ResourcePhase.GOING:
            yield steps.Wait(f"{left.key.kind} {left.key.name} is being deleted")
        yield steps.Delete(left.key)
    if since is None:
        yield steps.NoteEmpty(life.now)
        return
    if life.now - since < life.timeouts.verified:
        yield steps.Wait("its provider is asked once more whether nothing is left")
    yield from _concluded(life, since)
    yield steps.Enter(BurstState.DELETED)


def _concluded(life: Life, empty_since: float) -> Iterator[BurstStep]:
    """Yield what becomes of its jobs: as nothing runs there any more, those that were lost may begin anew.

    A lead that does not answer is waited for, but not for ever: the slot is to be used again.
    """
    stood = life.observed.stood
    stands = stood is not None and stood.standing is not None
    left = (each for each in life.jobs if not each.outcome)
    unknown = tuple(each.job for each in left if each.moved_at is not None or stands)
    if not unknown or life.observed.is_orphan:
        return
    if life.observed.slot is not None or stood is not None:
        yield steps.Conclude(unknown)
    if life.now - empty_since < life.timeouts.verified + life.timeouts.conclusion:
        yield steps.Wait("the lead does not answer, so what became of its jobs is not known")


def _another_instance(life: Life, slot: SlotView) -> Iterator[BurstStep]:
    if slot.instance != life.burst.instance:
        reason = "the lead has begun anew, and does not know its jobs"
        yield steps.Enter(BurstState.DELETING, BurstOutcome.FAILED, reason)


def _joined(life: Life) -> tuple[int, int]:
    slot = life.observed.slot
    return len(life.ranks & slot.online) if slot is not None else 0, life.burst.nodes


_STEPS: dict[BurstState, Callable[[Life], Iterator[BurstStep]]] = {
    BurstState.REQUESTED: _requested,
    BurstState.PLANNED: _planned,
    BurstState.PROVISIONING: _provisioning,
    BurstState.JOINING: _joining,
    BurstState.ACTIVE: _active,
    BurstState.DRAINING: _draining,
    BurstState.DELETING: _deleting,
}
_ISOLATED = {
    **_STEPS,
    BurstState.JOINING: isolated.joining,
    BurstState.ACTIVE: isolated.active,
    BurstState.DRAINING: isolated.draining,
}
