"""The state machine as data, and what it never does, whatever is observed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burst.lifecycle import metering, steps
from burst.lifecycle.machine import Life, next_step
from burst.lifecycle.records import (
    AssignedJob,
    BurstObservation,
    BurstRecord,
    ProbeResult,
    ResourceKey,
    ResourceRecord,
    ResourceReport,
    SlotView,
)
from burst.lifecycle.records import ResourcePhase as Phase
from burst.lifecycle.states import OPEN, TRANSITIONS, BurstState, Timeouts

NOW = 10_000.0
BURST = BurstRecord(
    id="0000xsnjg02wxhsq62dgmfw4gk",
    cluster="mc",
    slot="burst-0",
    provider="memory",
    location="memory-1",
    machine="c8",
    nodes=2,
    created=NOW,
    until=NOW + 3600,
    instance="one",
    state_since=NOW,
)
KEYS = (ResourceKey("nodes", "mcb-a", 2), ResourceKey("pods", "mcb-a-pods"))
_maybe = st.one_of(st.none(), st.just(NOW))


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """A burst in any state, with anything observed of it."""
    state = draw(st.sampled_from(sorted(OPEN)))
    burst = replace(
        BURST,
        state=state,
        state_since=NOW - draw(st.sampled_from((0, 59, 100, 10_000))),
        until=NOW + draw(st.sampled_from((-1, 1))),
        stopping=draw(st.booleans()),
        idle_since=draw(st.sampled_from((None, NOW, NOW - 1000))),
        empty_since=draw(st.sampled_from((None, NOW, NOW - 1000))),
    )
    resources = [
        ResourceRecord(burst.id, number, key, draw(_maybe), draw(_maybe), draw(_maybe))
        for number, key in enumerate(KEYS)
    ]
    statuses = {
        key.name: ResourceReport(key, draw(st.sampled_from(Phase))) for key in KEYS if draw(st.booleans())
    }
    listed = tuple(ResourceReport(key, draw(st.sampled_from((Phase.READY, Phase.GOING)))) for key in KEYS)
    jobs = [AssignedJob(burst.id, 7, "alice", "default", draw(_maybe))]
    slot = draw(st.one_of(st.none(), slots()))
    is_orphan = slot is None and draw(st.booleans())
    listed = listed if draw(st.booleans()) else ()
    observed = BurstObservation(statuses, slot, listed, is_orphan, is_listed=True)
    nodes = metering.change((), resources, observed, NOW)
    counts = () if nodes is None else (nodes,)
    return Life(burst, resources, jobs, observed, NOW, Timeouts(), counts)


def slots() -> st.SearchStrategy[SlotView]:
    ranks = st.frozensets(st.integers(0, 3))
    probes = st.dictionaries(
        st.integers(0, 3), st.sampled_from((ProbeResult(False), ProbeResult(True), ProbeResult(True, "no")))
    )
    since = st.dictionaries(st.integers(0, 3), st.sampled_from((NOW, NOW - 1000)))
    return st.builds(
        SlotView, st.sampled_from(("one", "two")), ranks, since, ranks, st.booleans(), ranks, ranks, probes
    )


@given(lives())
def test_it_enters_no_state_that_does_not_follow(life: Life) -> None:
    step = next_step(life)
    if isinstance(step, steps.Enter):
        assert step.state in TRANSITIONS[life.burst.state]


@given(lives())
def test_nothing_is_deleted_for_good_while_anything_is_left(life: Life) -> None:
    step = next_step(life)
    ends = isinstance(step, steps.Enter) and step.state is BurstState.DELETED
    if ends and life.burst.state is not BurstState.REQUESTED:  # which has no resources
        assert all(each.intent_at is None or each.gone_at is not None for each in life.resources)
        assert life.observed.listed == ()
        assert life.burst.empty_since is not None
        assert life.now - life.burst.empty_since >= life.timeouts.verified


@given(lives())
def test_nothing_is_made_without_its_intent(life: Life) -> None:
    step = next_step(life)
    if isinstance(step, steps.Create):
        assert step.resource.intent_at is not None
        assert life.burst.state is BurstState.PROVISIONING


@given(lives())
def test_no_queue_is_opened_before_jobs_run_on_each_rank(life: Life) -> None:
    """And none while its jobs are not in it: others would fill its nodes."""
    step = next_step(life)
    if isinstance(step, steps.OpenQueue):
        assert life.burst.state is BurstState.ACTIVE
        assert all(each.moved_at is not None or each.outcome for each in life.jobs)
    if isinstance(step, steps.Enter) and step.state is BurstState.ACTIVE:
        slot = life.observed.slot
        assert slot is not None
        assert all(slot.probes[rank] == ProbeResult(True) for rank in life.ranks)
        assert not life.ranks & slot.drained


@given(lives())
def test_no_state_outlasts_its_deadline(life: Life) -> None:
    step = next_step(life)
    if life.is_late and life.burst.state is not BurstState.DRAINING:
        assert isinstance(step, steps.Enter)
    if life.is_late and life.burst.state is BurstState.DRAINING:
        assert not isinstance(step, steps.Wait)


@given(lives())
def test_jobs_that_run_are_never_forgotten(life: Life) -> None:
    """A burst is not deleted under jobs of its instance, unless its lead does not answer."""
    slot, step = life.observed.slot, next_step(life)
    is_ours = slot is not None and slot.instance == life.burst.instance
    if life.burst.state is BurstState.DRAINING and is_ours and isinstance(step, steps.Enter):
        assert slot is not None
        assert not slot.running
        assert not slot.pending
        assert not slot.started


@given(lives())
def test_what_became_of_its_jobs_is_asked_when_nothing_runs_there_any_more(life: Life) -> None:
    """And before it is forgotten, where its lead answers."""
    step = next_step(life)
    if isinstance(step, steps.Conclude):
        assert all(each.gone_at is not None or each.intent_at is None for each in life.resources)
        assert life.observed.listed == ()
    if isinstance(step, steps.Enter) and life.burst.state is BurstState.DELETING:
        is_known = not any(each.moved_at is not None and not each.outcome for each in life.jobs)
        waited = life.now - (life.burst.empty_since or life.now)
        assert is_known or life.observed.slot is None
        assert is_known or life.observed.is_orphan or waited >= life.timeouts.conclusion


def test_each_state_is_reached_and_each_path_ends() -> None:
    reached = {BurstState.REQUESTED}
    while more := {after for state in reached for after in TRANSITIONS[state]} - reached:
        reached |= more
    assert reached == set(BurstState)
    assert [state for state, after in TRANSITIONS.items() if not after] == [BurstState.DELETED]


@pytest.mark.parametrize("state", sorted(OPEN - {BurstState.REQUESTED}))
def test_what_fails_leads_through_deletion(state: BurstState) -> None:
    """Every path to the end has `deleting` in it, from the first resource on."""

    def paths(at: BurstState) -> Any:
        for after in TRANSITIONS[at]:
            yield from ([after, *rest] for rest in paths(after))
        if not TRANSITIONS[at]:
            yield []

    assert all(BurstState.DELETING in [state, *path] for path in paths(state))


def test_what_was_not_asked_is_not_taken_for_gone() -> None:
    burst = replace(BURST, state=BurstState.DELETING)
    made = [ResourceRecord(burst.id, 0, KEYS[0], NOW, NOW)]
    life = Life(burst, made, (), BurstObservation(), NOW, Timeouts())
    assert next_step(life) == steps.Wait("its provider was not asked")


def test_a_rank_that_is_drained_is_tried_after_it_was_undrained() -> None:
    """The drain of the slot's last burst stays until somebody takes it away."""
    done = {rank: ProbeResult(True) for rank in range(2)}
    slot = SlotView("one", frozenset({0, 1}), drained=frozenset({1}), probes=done)
    life = Life(
        replace(BURST, state=BurstState.JOINING), (), (), BurstObservation(slot=slot), NOW, Timeouts()
    )
    assert next_step(life) == steps.Probe((1,))


def test_a_token_is_the_same_whenever_it_is_asked_for() -> None:
    one, other = (ResourceRecord(BURST.id, number, KEYS[number]) for number in range(2))
    assert one.token == replace(one, intent_at=NOW).token
    assert one.token != other.token
    assert BURST.label == "62dgmfw4gk"
