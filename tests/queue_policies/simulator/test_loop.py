"""The event loop: when policies are asked, and what becomes of their answers."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies.errors import PolicyDefect
from queue_policies.fcfs import Fcfs
from queue_policies.records import Grow, Happened, Reserve, Shrink, Start, WakeAt
from queue_policies.simulator.cost import Cost, PerUnit, Relaunch
from queue_policies.simulator.estimate import Estimates
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import SimulationOptions


def _starts(state: Any, _now: float) -> list[Any]:
    return [Start(job.id) for job in state.queue]


def test_jobs_run_for_their_time_and_wait_for_room(kit: Any) -> None:
    first, second = simulate(kit.workload(kit.rigid(1, 8, 10), kit.rigid(2, 4, 5, 2)), Fcfs()).jobs
    assert (first.started, first.ended, first.sizes) == (0, 10, ((0, 8), (10, 0)))
    assert (second.started, second.ended, second.wait, second.turnaround) == (10, 15, 8, 13)


def test_what_happens_at_one_moment_is_one_decision_with_ends_before_arrivals(kit: Any) -> None:
    seen = []
    workload = kit.workload(kit.rigid(1, 8, 10), kit.rigid(2, 4, 5, 10), kit.rigid(3, 4, 5, 10))
    outcome = simulate(
        workload,
        Fcfs(),
        watcher=lambda state, now, _: seen.append((now, [(c.what, c.job) for c in state.changes])),
    )
    assert seen[1] == (10, [(Happened.ENDED, 1), (Happened.ARRIVED, 2), (Happened.ARRIVED, 3)])
    assert outcome.decisions == len(seen) == 2, "and nobody is asked when nothing waits or can be resized"


def test_a_job_ends_at_its_time_limit(kit: Any) -> None:
    (job,) = simulate(kit.workload(kit.rigid(1, 1, 10, limit=7)), Fcfs()).jobs
    assert (job.ended, job.end) == (7, "timeout")


def test_a_policy_is_woken_when_it_asked(kit: Any) -> None:
    times = []

    def decide(state: Any, now: float) -> list[Any]:
        times.append((now, [c.what for c in state.changes]))
        return _starts(state, now) if now >= 5 else [WakeAt(5.0), WakeAt(7.0)]

    simulate(kit.workload(kit.rigid(1, 1, 10)), kit.Scripted(decide))
    assert times == [(0, [Happened.ARRIVED]), (5, [Happened.WOKEN])]


def test_with_ticks_a_policy_is_asked_also_between_events(kit: Any) -> None:
    times = []

    def decide(state: Any, now: float) -> list[Any]:
        times.append(now)
        return _starts(state, now) if now >= 10 else []

    simulate(kit.workload(kit.rigid(1, 1, 3, 2), tick=5.0), kit.Scripted(decide))
    assert times == [2, 5, 10]


def test_reservations_change_nothing(kit: Any) -> None:
    scripted = kit.Scripted(lambda state, now: [*_starts(state, now), Reserve(1, now)])
    assert simulate(kit.workload(kit.rigid(1, 1, 3)), scripted).last_end == 3


def test_growing_and_shrinking_keep_the_work_that_is_done(kit: Any) -> None:
    """80 s of work: 10 s on 4, 5 s on 8 are done; the last 0 s on 2."""

    def decide(state: Any, now: float) -> list[Any]:
        plan = {0: [Start(1, 4), WakeAt(5.0)], 5: [Grow(1, 8), WakeAt(10.0)], 10: [Shrink(1, 2)]}
        return plan.get(int(now), [])

    (job,) = simulate(kit.workload(kit.malleable(1, 1, 8, 80)), kit.Scripted(decide)).jobs
    assert job.sizes == ((0, 4), (5, 8), (10, 2), (20, 0))
    assert (job.grows, job.shrinks, job.unit_seconds()) == (1, 1, 80)


def test_a_relaunch_pauses_the_job_at_its_new_size(kit: Any) -> None:
    """10 s to start on 4, 5 s of work; 12 + 3 s of moving and starting on 8; 60 s of work are left."""

    def decide(state: Any, now: float) -> list[Any]:
        return {0: [Start(1, 4), WakeAt(15.0)], 15: [Grow(1, 8)]}.get(int(now), [])

    cost = Relaunch(base=8, unit=0.5)
    (job,) = simulate(
        kit.workload(kit.malleable(1, 1, 8, 80, redistribution=3), cost=cost), kit.Scripted(decide)
    ).jobs
    assert job.idle == 10 + 15
    assert job.ended == 15 + 15 + 60 / 8


def test_acted_and_what_is_left_are_recorded_as_of_the_end_of_the_action(kit: Any) -> None:
    records = []

    def decide(state: Any, now: float) -> list[Any]:
        if 1 in state.running:
            record = state.running[1]
            records.append((now, record.size, record.acted, record.measured, record.left(now)))
        plan = {0: [Start(1, 4), WakeAt(20.0)], 20: [Grow(1, 8), WakeAt(25.0)]}
        return plan.get(int(now), [])

    simulate(kit.workload(kit.malleable(1, 1, 8, 80), cost=Relaunch(base=10)), kit.Scripted(decide))
    assert records == [(20, 4, 10, 10, 0.5), (25, 8, 30, 30, 0.5)]


COST = PerUnit(release=2, registration=6, grow=3, shrink=2)


def test_orders_take_their_time_while_the_computation_goes_on(kit: Any) -> None:
    """2 nodes from 0; 2 more ordered at 6 come after 6 s; 2 given up at 20 are back after 4 + 2 s."""
    heeds = []

    def decide(state: Any, now: float) -> list[Any]:
        heeds.append((now, 1 in state.running and state.running[1].heeds, [c.what for c in state.changes]))
        plan = {0: [Start(1, 2), WakeAt(20.0)], 6: [Grow(1, 4)], 20: [Shrink(1, 2)]}
        return plan.get(int(now), [])

    (job,) = simulate(kit.workload(kit.malleable(1, 1, 8, 120), cost=COST), kit.Scripted(decide)).jobs
    assert job.sizes[:4] == ((0, 2), (6, 4), (26, 2), (job.ended + 2, 0))
    assert heeds[:5] == [
        (0, False, [Happened.ARRIVED]),
        (6, True, [Happened.REGISTERED]),
        (12, True, [Happened.RESIZED]),
        (20, True, [Happened.WOKEN]),
        (26, True, [Happened.RESIZED]),
    ]
    assert job.ended == 26 + (120 - 12 * 2 - 14 * 4) / 2


def test_a_start_waits_for_those_who_shrink_for_it(kit: Any) -> None:
    """Job 1 gives up 4 of 8 at 10, done at 20; job 2, for 3 of them, stands among the running till then."""
    seen = []

    def decide(state: Any, now: float) -> list[Any]:
        waits = [(job.size, job.heeds, job.preemptible) for job in state.running.by_end() if job.waits]
        seen.append((now, 2 in state.queue, 2 in state.running, waits, state.cluster.sketch().free))
        plan = {0: [Start(1, 8)], 10: [Shrink(1, 4), Start(2, None, (1,))]}
        return plan.get(int(now), [])

    jobs = (kit.malleable(1, 1, 8, 800), kit.rigid(2, 3, 10, 10), kit.rigid(3, 8, 1, 12))
    outcome = simulate(
        kit.workload(*jobs, cost=PerUnit(shrink=2, release=2)),
        kit.Scripted(
            lambda state, now: decide(state, now) or (_starts(state, now) if not state.running else [])
        ),
    )
    assert seen[1:4] == [
        (10, True, False, [], 0),
        (12, False, True, [(3, False, False)], 0),
        (20, False, True, [], 1),
    ]
    assert (outcome.jobs[1].started, outcome.jobs[1].ended) == (20, 30)


def test_a_donor_that_ends_before_it_shrank_has_given(kit: Any) -> None:
    def decide(state: Any, now: float) -> list[Any]:
        return {0: [Start(1, 8)], 9: [Shrink(1, 4), Start(2, None, (1,))]}.get(int(now), [])

    jobs = (kit.malleable(1, 1, 8, 80), kit.rigid(2, 4, 10, 9))
    outcome = simulate(kit.workload(*jobs, cost=PerUnit(shrink=100)), kit.Scripted(decide))
    assert (outcome.jobs[0].ended, outcome.jobs[1].started) == (10, 10)


class _Refused:
    """Asks once for a resize that is refused, then lets things take their course."""

    name = "refused"

    def __init__(self, order: Any) -> None:
        self.order = order
        self.changes: list[Any] = []

    def decide(self, state: Any, now: float) -> list[Any]:
        self.changes += [(now, c.what, c.job) for c in state.changes]
        if now == 0:
            return [Start(1, 4)]
        if now == 10:
            return self.order
        return [] if len(state.running) else [Start(job.id) for job in state.queue]


def test_a_refused_order_leaves_all_as_it_was_and_the_start_for_it_is_off(kit: Any) -> None:
    policy = _Refused([Shrink(1, 2), Start(2, None, (1,))])
    jobs = (kit.malleable(1, 1, 8, 80), kit.rigid(2, 6, 10, 10))
    refusals = SimulationOptions(refusals=0.99, seed=1)
    outcome = simulate(kit.workload(*jobs, cost=PerUnit(shrink=1)), policy, refusals)
    assert (12, Happened.REFUSED, 1) in policy.changes
    assert outcome.jobs[0].sizes == ((0, 4), (20, 0)), "it went on at its size"
    assert (outcome.jobs[0].refusals, outcome.jobs[1].started) == (1, 20)


def test_a_refused_growth_gives_its_units_back(kit: Any) -> None:
    policy = _Refused([Grow(1, 8)])
    jobs = (kit.malleable(1, 1, 8, 80), kit.rigid(2, 4, 10, 10))
    outcome = simulate(
        kit.workload(*jobs, cost=PerUnit(grow=1)), policy, SimulationOptions(refusals=0.99, seed=1)
    )
    assert outcome.jobs[0].sizes == ((0, 4), (10, 8), (14, 4), (20, 0))


def test_two_donors_of_whom_one_refuses_release_what_the_other_gives(kit: Any) -> None:
    def decide(state: Any, now: float) -> list[Any]:
        if now == 0:
            return [Start(1, 4), Start(2, 4)]
        if now == 10:
            return [Shrink(1, 2), Shrink(2, 2), Start(3, None, (1, 2))]
        return [] if len(state.running) else _starts(state, now)

    jobs = (kit.malleable(1, 1, 8, 80), kit.malleable(2, 1, 8, 80), kit.rigid(3, 4, 10, 10))
    seed = next(
        seed
        for seed in range(100)
        if _refusals(simulate(kit.workload(*jobs, cost=PerUnit(shrink=1)), kit.Scripted(decide), _half(seed)))
        == [1, 0]
    )
    outcome = simulate(kit.workload(*jobs, cost=PerUnit(shrink=1)), kit.Scripted(decide), _half(seed))
    assert outcome.jobs[1].sizes[:2] == ((0, 4), (12, 2))
    assert outcome.jobs[2].started == outcome.jobs[1].ended


def _half(seed: int) -> SimulationOptions:
    return SimulationOptions(refusals=0.5, seed=seed)


def _refusals(outcome: Any) -> list[int]:
    return [job.refusals for job in outcome.jobs[:2]]


def test_while_a_shrink_blocks_the_scheduler_nothing_is_decided(kit: Any) -> None:
    times = []

    def decide(state: Any, now: float) -> list[Any]:
        times.append(now)
        return {0: [Start(1, 8)], 10: [Shrink(1, 4)]}.get(int(now), _starts(state, now) if now > 10 else [])

    jobs = (kit.malleable(1, 1, 8, 800), kit.rigid(2, 4, 10, 10), kit.rigid(3, 1, 10, 12))
    outcome = simulate(
        kit.workload(jobs[0], jobs[1], cost=PerUnit(shrink=2, blocking=True), tick=5.0), kit.Scripted(decide)
    )
    assert times[:5] == [0, 5, 10, 18, 20]
    assert outcome.jobs[1].started == 18


def test_a_policy_that_never_starts_a_job_is_named_with_the_state(kit: Any) -> None:
    idle = kit.Scripted(lambda _state, _now: [])
    with pytest.raises(PolicyDefect) as error:
        simulate(kit.workload(kit.rigid(7, 2, 10)), idle)
    assert str(error.value) == (
        "queue policy scripted starts none of the queued jobs, though nothing runs, "
        "and asks not to be woken; at 0 with 1 queued (7 for 2), 0 running, 8 of 8 units free"
    )


@pytest.mark.parametrize("tick", [0.0, 5.0], ids=["waking", "ticks"])
def test_a_policy_that_only_asks_to_be_woken_does_not_run_for_ever(kit: Any, tick: float) -> None:
    waking = kit.Scripted(lambda _state, now: [] if tick else [WakeAt(now + 1)])
    with pytest.raises(PolicyDefect, match="starts none of the queued jobs"):
        simulate(kit.workload(kit.rigid(1, 2, 10), tick=tick), waking)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([Start(9)], "starts job 9, which is not queued"),
        ([Start(1), Start(1)], "starts job 1 twice"),
        ([Start(1), Start(2)], "starts job 2 at 6 units where 2 are free"),
        ([Grow(1, 4)], "grows job 1, which does not run"),
        ([WakeAt(0.0)], "asks to be woken at 0, which is no later time"),
    ],
)
def test_an_impossible_answer_is_refused_with_policy_job_and_state(
    kit: Any, answer: Any, message: str
) -> None:
    workload = kit.workload(kit.rigid(1, 6, 10), kit.rigid(2, 6, 10))
    with pytest.raises(PolicyDefect) as error:
        simulate(workload, kit.Scripted(lambda _state, _now: answer))
    assert str(error.value).startswith(f"queue policy scripted {message}; at 0 with 2 queued")


def test_a_policy_that_raises_is_named(kit: Any) -> None:
    def fail(_state: Any, _now: float) -> list[Any]:
        raise ZeroDivisionError("oh")

    with pytest.raises(
        PolicyDefect,
        match=r"queue policy scripted failed: ZeroDivisionError: oh \(.*:\d+ in fail\); at 0 with 1 queued",
    ):
        simulate(kit.workload(kit.rigid(1, 6, 10)), kit.Scripted(fail))


def test_released_units_are_free_only_after_their_lag(kit: Any) -> None:
    outcome = simulate(kit.workload(kit.rigid(1, 8, 10), kit.rigid(2, 8, 5), cost=Cost(release=2)), Fcfs())
    assert [(job.started, job.ended) for job in outcome.jobs] == [(0, 10), (12, 17)]


def test_estimates_learned_from_progress_are_right_once_a_size_was_seen(kit: Any) -> None:
    """Two jobs of a kind; 10 s after the first began to compute, it is known how long it takes on 4."""
    records = []

    def decide(state: Any, now: float) -> list[Any]:
        estimate = state.queue[2].estimate if 2 in state.queue else None
        records.append((now, estimate and round(estimate.seconds(4), 6)))
        return {0: [Start(1, 4)], 20: [Start(2, 4)]}.get(int(now), [])

    jobs = [kit.malleable(1, 4, 8, 400, kind="k"), kit.malleable(2, 4, 8, 400, kind="k")]
    learned = SimulationOptions(Estimates(learned=True))
    simulate(kit.workload(*jobs, tick=5.0), kit.Scripted(decide), learned)
    assert dict(records)[0] != 100
    assert dict(records)[10] == dict(records)[15] == 100
