"""What is done next, state by state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from burst.lifecycle import metering, steps
from burst.lifecycle.machine import Life, next_step
from burst.lifecycle.metering import NodeCount
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
from burst.lifecycle.states import BurstOutcome, BurstState, Timeouts

NOW = 10_000.0
S = BurstState
NODES, PODS = ResourceKey("nodes", "mcb-a", 2), ResourceKey("pods", "mcb-a-pods")
BURST = BurstRecord(
    "b", "mc", "burst-0", "near", "near-1", "c8", 2, NOW, NOW + 3600, instance="one", state_since=NOW
)
WANTED, BEGUN, MADE, GONE = ({}, {"intent_at": NOW}, {"intent_at": NOW, "made_at": NOW}, {"gone_at": NOW})
FAILED = BurstOutcome.FAILED
DONE = {rank: ProbeResult(True) for rank in range(2)}
UP = SlotView("one", frozenset({0, 1}), probes=DONE)
OPEN = replace(UP, started=True)


def record(key: ResourceKey, **given: Any) -> ResourceRecord:
    return ResourceRecord("b", 0 if key is NODES else 1, key, **given)


def life(
    state: BurstState,
    resources: tuple[dict[str, Any], dict[str, Any]] = (MADE, MADE),
    phases: tuple[Phase | None, Phase | None] = (Phase.READY, Phase.READY),
    slot: SlotView | None = None,
    jobs: tuple[AssignedJob, ...] = (),
    listed: tuple[ResourceReport, ...] = (),
    **burst: Any,
) -> Life:
    records = [record(key, **given) for key, given in zip((NODES, PODS), resources, strict=True)]
    reports = {
        key.name: ResourceReport(key, phase, "a reason" if phase is Phase.BROKEN else "")
        for key, phase in zip((NODES, PODS), phases, strict=True)
        if phase is not None
    }
    observed = BurstObservation(reports, slot, listed, is_listed=True)
    nodes = metering.change((), records, observed, NOW)
    counts = () if nodes is None else (nodes,)
    return Life(replace(BURST, state=state, **burst), records, jobs, observed, NOW, Timeouts(), counts)


def failed(reason: str, state: BurstState = S.DELETING, asks_brokers: bool = False) -> steps.Enter:
    return steps.Enter(state, FAILED, reason, asks_brokers)


MOVED = AssignedJob("b", 7, "alice", "default", moved_at=NOW)
WAITING = replace(MOVED, moved_at=None)
STAYED = replace(WAITING, outcome="it runs here")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (life(S.REQUESTED), steps.ReserveSlot()),
        (
            life(S.REQUESTED, stopping=True),
            steps.Enter(S.DELETED, BurstOutcome.STOPPED, "somebody stopped it"),
        ),
        (
            life(S.REQUESTED, state_since=NOW - 60),
            steps.Enter(S.DELETED, BurstOutcome.NOT_POSSIBLE, "it was not reserved in 1m"),
        ),
        (life(S.PLANNED, (WANTED, WANTED)), steps.Intend(record(NODES))),
        (
            life(S.PLANNED, stopping=True),
            steps.Enter(S.DELETING, BurstOutcome.STOPPED, "somebody stopped it"),
        ),
        (
            life(S.PLANNED, state_since=NOW - 60),
            failed("its resources were not begun in time", asks_brokers=True),
        ),
        (life(S.PROVISIONING, (BEGUN, WANTED), (None, None)), steps.Create(record(NODES, **BEGUN))),
        (life(S.PROVISIONING, (BEGUN, WANTED), (Phase.ABSENT, None)), steps.Create(record(NODES, **BEGUN))),
        (life(S.PROVISIONING, (BEGUN, WANTED), (Phase.COMING, None)), steps.NoteMade(record(NODES, **BEGUN))),
        (life(S.PROVISIONING, (MADE, WANTED), (Phase.COMING, None)), steps.Wait("nodes mcb-a is being made")),
        (life(S.PROVISIONING, (MADE, WANTED), (Phase.READY, None)), steps.Intend(record(PODS))),
        (life(S.PROVISIONING), steps.Enter(S.JOINING)),
        (
            life(S.PROVISIONING, phases=(Phase.BROKEN, None)),
            failed("nodes mcb-a is broken: a reason", asks_brokers=True),
        ),
        (life(S.PROVISIONING, phases=(Phase.READY, Phase.GOING)), failed("pods mcb-a-pods is going")),
        (
            life(S.PROVISIONING, state_since=NOW - 600),
            failed("its resources were not ready in 10m", asks_brokers=True),
        ),
        (life(S.JOINING), steps.Wait("the lead does not answer")),
        (life(S.JOINING, state_since=NOW - 300), failed("0 of 2 nodes joined in 5m", asks_brokers=True)),
        (
            life(S.JOINING, slot=UP, state_since=NOW - 300),
            failed("2 of 2 nodes joined in 5m", asks_brokers=True),
        ),
        (life(S.JOINING, phases=(Phase.ABSENT, Phase.READY), slot=UP), failed("nodes mcb-a is absent")),
        (
            life(S.JOINING, slot=replace(UP, instance="two")),
            failed("the lead has begun anew, and does not know its jobs"),
        ),
        (life(S.JOINING, slot=replace(UP, online=frozenset({1}))), steps.Wait("ranks 0 have not joined")),
        (life(S.JOINING, slot=replace(UP, probes={})), steps.Probe((0, 1))),
        (life(S.JOINING, slot=replace(UP, drained=frozenset({0, 5}))), steps.Probe((0,))),
        (
            life(S.JOINING, slot=replace(UP, probes={**DONE, 1: ProbeResult(False)})),
            steps.Wait("jobs that try the ranks have not ended"),
        ),
        (
            life(S.JOINING, slot=replace(UP, probes={1: ProbeResult(True, "no such user")})),
            failed("jobs do not run on rank 1: no such user"),
        ),
        (life(S.JOINING, slot=UP), steps.Enter(S.ACTIVE)),
        (life(S.ACTIVE), steps.Wait("the lead does not answer")),
        (
            life(S.ACTIVE, slot=OPEN, stopping=True),
            steps.Enter(S.DRAINING, BurstOutcome.STOPPED, "somebody stopped it"),
        ),
        (
            life(S.ACTIVE, slot=OPEN, until=NOW),
            steps.Enter(S.DRAINING, BurstOutcome.EXPIRED, "its time is over"),
        ),
        (
            life(S.ACTIVE, phases=(Phase.READY, Phase.ABSENT), slot=OPEN),
            failed("pods mcb-a-pods is absent", S.DRAINING),
        ),
        (
            life(S.ACTIVE, slot=replace(OPEN, instance="two")),
            failed("the lead has begun anew, and does not know its jobs"),
        ),
        (
            life(S.ACTIVE, slot=replace(OPEN, unresponsive={0: NOW - 60, 1: NOW - 90})),
            failed("none of its ranks answered for 1m", S.DRAINING),
        ),
        (
            life(S.ACTIVE, slot=replace(OPEN, unresponsive={1: NOW - 90, 3: NOW - 90})),
            steps.NoteIdle(NOW),
        ),
        (life(S.ACTIVE, slot=OPEN, jobs=(WAITING, STAYED, MOVED)), steps.Assign((7,))),
        (life(S.ACTIVE, slot=UP, jobs=(MOVED, STAYED)), steps.OpenQueue()),
        (
            life(S.ACTIVE, slot=replace(UP, online=frozenset({0}), unresponsive={1: NOW - 59})),
            steps.Wait("ranks 1 are gone: its queue is closed"),
        ),
        (
            life(S.ACTIVE, slot=replace(UP, online=frozenset({0}), unresponsive={1: NOW - 60})),
            failed("ranks 1 did not come back in 1m", S.DRAINING),
        ),
        (life(S.ACTIVE, slot=replace(UP, probes={0: ProbeResult(True)})), steps.Probe((1,))),
        (
            life(S.ACTIVE, slot=replace(UP, probes={**DONE, 1: ProbeResult(False)})),
            steps.Wait("jobs that try the ranks have not ended"),
        ),
        (
            life(S.ACTIVE, slot=replace(UP, probes={**DONE, 1: ProbeResult(True, "no such user")})),
            failed("jobs do not run on rank 1: no such user", S.DRAINING),
        ),
        (life(S.ACTIVE, slot=OPEN, jobs=(MOVED,)), steps.NoteIdle(NOW)),
        (life(S.ACTIVE, slot=OPEN, idle_since=NOW - 1), steps.Wait("it has nothing to do", 20.0)),
        (
            life(S.ACTIVE, slot=OPEN, idle_since=NOW - 300),
            steps.Enter(S.DRAINING, BurstOutcome.SUCCEEDED, "it has nothing to do"),
        ),
        (life(S.ACTIVE, slot=replace(OPEN, running=frozenset({7}))), steps.Wait("its jobs run", 20.0)),
        (
            life(S.ACTIVE, slot=replace(OPEN, pending=frozenset({7})), idle_since=NOW),
            steps.NoteIdle(None),
        ),
        (life(S.DRAINING), steps.Wait("the lead does not answer")),
        (
            life(S.DRAINING, state_since=NOW - 300),
            steps.Enter(S.DELETING, reason="jobs ran on after 5m"),
        ),
        (life(S.DRAINING, slot=OPEN), steps.Close(())),
        (life(S.DRAINING, slot=UP), steps.Close(())),
        (life(S.DRAINING, slot=replace(OPEN, pending=frozenset({9, 7}))), steps.Close((7, 9))),
        (
            life(S.DRAINING, slot=replace(UP, drained=frozenset({0, 1}), running=frozenset({7}))),
            steps.Wait("its jobs have not ended"),
        ),
        (
            life(
                S.DRAINING,
                slot=replace(UP, drained=frozenset({0, 1}), running=frozenset({9, 7})),
                state_since=NOW - 300,
            ),
            steps.Restart((7, 9)),
        ),
        (life(S.DRAINING, slot=replace(UP, drained=frozenset({0, 1}))), steps.Enter(S.DELETING)),
        (life(S.DRAINING, slot=SlotView("one")), steps.Enter(S.DELETING)),
        (life(S.DELETING, slot=OPEN), steps.Close(())),
        (life(S.DELETING, slot=replace(OPEN, instance="two")), steps.Delete(PODS)),
        (life(S.DELETING), steps.Delete(PODS)),
        (
            life(S.DELETING, phases=(Phase.READY, Phase.GOING)),
            steps.Wait("pods mcb-a-pods is being deleted"),
        ),
        (life(S.DELETING, phases=(Phase.READY, Phase.ABSENT)), steps.NoteGone(record(PODS, **MADE))),
        (life(S.DELETING, (MADE, BEGUN)), steps.NoteMade(record(PODS, **BEGUN))),
        (life(S.DELETING, (MADE, {**MADE, **GONE})), steps.Delete(NODES)),
        (life(S.DELETING, (MADE, WANTED)), steps.Delete(NODES)),
        (life(S.DELETING, (WANTED, WANTED)), steps.NoteEmpty(NOW)),
        (
            life(S.DELETING, (WANTED, WANTED), empty_since=NOW - 29),
            steps.Wait("its provider is asked once more whether nothing is left"),
        ),
        (life(S.DELETING, (WANTED, WANTED), empty_since=NOW - 30), steps.Enter(S.DELETED)),
        (
            life(S.DELETING, (WANTED, WANTED), listed=(ResourceReport(PODS, Phase.READY),), empty_since=NOW),
            steps.NoteEmpty(None),
        ),
        (
            life(S.DELETING, (WANTED, WANTED), listed=(ResourceReport(PODS, Phase.READY),)),
            steps.Delete(PODS),
        ),
        (
            life(S.DELETING, (WANTED, WANTED), listed=(ResourceReport(PODS, Phase.GOING),)),
            steps.Wait("pods mcb-a-pods is being deleted"),
        ),
    ],
)
def test_next(found: Life, expected: steps.BurstStep) -> None:
    assert next_step(found) == expected


def test_no_jobs_move_before_all_nodes_are_counted() -> None:
    """A listing that lags would else have them cost nothing."""
    joined = life(S.JOINING, slot=UP)
    reports = {**joined.observed.resources, NODES.name: ResourceReport(NODES, Phase.READY, nodes=1)}
    counted = joined._replace(
        observed=replace(joined.observed, resources=reports), counts=(NodeCount(NOW, 1),)
    )
    assert next_step(counted) == steps.Wait("its provider lists 1 of 2 nodes")
    assert next_step(joined) == steps.Enter(S.ACTIVE)
