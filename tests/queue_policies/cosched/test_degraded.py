"""Hosts that suffer more than their quotas explain: cores are taken back, and they get no more guests."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from queue_policies import decision_log
from queue_policies.cosched import forest
from queue_policies.cosched.cosched import Cosched
from queue_policies.cosched.trees import Expert, written
from queue_policies.records import Change, CpuQuota, Happened, Start
from queue_policies.sharing import CoreSharing, Usage
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.shared_cores import ProgramUse, QuotaContention
from queue_policies.simulator.speedup import Fixed
from queue_policies.simulator.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State
    from queue_policies.simulator.outcome import RunOutcome

HALF = written([Expert("half", (0.0, 0.0, 1.0, 0.0))])
DEGRADED = Change(Happened.DEGRADED, 7)


def shared(kit: Any, changes: Sequence[Change] = (DEGRADED,), whole: bool = False, **of_guest: Any) -> State:
    """Job 7 has 4 cores, of which its guest, job 8, has half."""
    usage = Usage(0.4, 0.1, 4)
    running = [
        kit.runs(7, 4, quota=0.5, guests=(8,), usage=usage),
        kit.runs(8, 2, **{"host": 7, "quota": 0.5, **of_guest}),
    ]
    made: State = kit.state(4, [], running)
    return made._replace(sharing=CoreSharing(whole_cores=whole), changes=list(changes))


def quotas(actions: Sequence[Action]) -> list[tuple[int, float]]:
    return [(each.job, each.fraction) for each in actions if isinstance(each, CpuQuota)]


@pytest.mark.parametrize("whole", [False, True], ids=["fractions", "whole cores"])
def test_cores_are_taken_back_from_the_guest_of_a_host_that_suffers(kit: Any, whole: bool) -> None:
    """The guest keeps the least action, which is a core."""
    assert quotas(kit.answer(Cosched(), shared(kit, whole=whole), 100.0)) == [(8, 0.25), (7, 0.75)]


@pytest.mark.parametrize(
    ("changes", "of_guest", "actions"),
    [
        pytest.param([Change(Happened.MEASURED, 7)], {}, forest.ACTIONS, id="it does not suffer"),
        pytest.param([DEGRADED], {"quota": 0.25}, forest.ACTIONS, id="the guest has no more"),
        pytest.param([DEGRADED], {"stopping": True}, forest.ACTIONS, id="the guest ends"),
        pytest.param([DEGRADED], {}, "0 0.6", id="there is no smaller action"),
        pytest.param([Change(Happened.DEGRADED, 9)], {}, forest.ACTIONS, id="it has just ended"),
        pytest.param([Change(Happened.DEGRADED, 8)], {}, forest.ACTIONS, id="a guest suffers"),
    ],
)
def test_where_nothing_is_taken_back(
    kit: Any, changes: list[Change], of_guest: dict[str, Any], actions: str
) -> None:
    given = shared(kit, changes, **of_guest)
    assert quotas(kit.answer(Cosched(actions=actions), given, 100.0)) == []


def test_where_only_whole_cores_are_given_no_part_of_one_is_taken_back(kit: Any) -> None:
    running = [kit.runs(7, 2, quota=0.5, guests=(8,)), kit.runs(8, 1, host=7, quota=0.5)]
    given = kit.state(2, [], running)._replace(sharing=CoreSharing(whole_cores=True), changes=[DEGRADED])
    assert quotas(kit.answer(Cosched(), given, 100.0)) == []


def is_paired(
    kit: Any, policy: Cosched, end: float = 10_000.0, host: float = 0.0, guest: float = 0.0
) -> bool:
    """Whether job 1 becomes a guest of job 6, which has done half of its work in 100 s."""
    usage = Usage(0.3, 0.1, 4, slowdown=host)
    running = kit.runs(6, 4, started=0.0, end=end, remaining=0.5, measured=100.0, usage=usage)
    waiting = kit.waits(1, 2, limit=50.0, usage=Usage(0.5, slowdown=guest))
    given = kit.state(4, [waiting], [running])._replace(sharing=CoreSharing())
    return any(isinstance(each, Start) for each in kit.answer(policy, given, 100.0))


def test_the_guard_counts_what_guests_cost_a_program_before(kit: Any) -> None:
    """It needs 100 s alone, and 200 s if it is half as fast."""
    policy = Cosched(experts=HALF)
    assert is_paired(kit, policy, end=250.0)
    assert is_paired(kit, policy, end=250.0, host=0.4), "what is little may be chance"
    assert not is_paired(kit, policy, end=250.0, host=1.0)
    assert is_paired(kit, policy, end=400.0, host=1.0)


def test_our_experts_leave_alone_whom_guests_slow_down(kit: Any) -> None:
    policy = Cosched(experts=written(forest.EXPERTS[:1]))
    assert is_paired(kit, policy)
    assert is_paired(kit, policy, host=float("nan")), "no number is unknown"
    assert not is_paired(kit, policy, host=0.6)
    assert not is_paired(kit, policy, guest=0.6)


PROGRAMS = {
    "coupled": ProgramUse(0.5, 0.1, coupling=3.0),
    "waits": ProgramUse(0.45, 0.1),
    "computes": ProgramUse(0.96, 0.3),
    "asks": ProgramUse(0.26, 0.05),
}
"""The first one uses as much as the second, but its ranks wait for each other: half a quota costs 150 %."""


def crowd(reports: bool) -> RunOutcome:
    """120 jobs at once on 32 cores, with generous time limits: no guard helps."""
    stream = random.Random(22)
    kinds = [(kind, size) for kind in PROGRAMS for size in (8, 16, 32)] * 10
    stream.shuffle(kinds)
    jobs = [
        WorkloadJob(number, 0.0, size, size, Fixed(2000.0), 2000 * stream.uniform(3, 6), kind=kind)
        for number, (kind, size) in enumerate(kinds, 1)
    ]
    model = QuotaContention(PROGRAMS, reports_degraded=reports)
    return simulate(
        Workload("crowd", tuple(jobs), 32, "cores", contention=model, soft_limits=True), Cosched()
    )


def hosts(outcome: RunOutcome, half: int) -> Counter[str]:
    """How many guests each kind got in one half of the time."""
    kinds = {job.id: job.kind for job in outcome.jobs}
    firsts = [changes[0] for changes in outcome.quotas.values() if changes[0].host is not None]
    return Counter(
        kinds[each.host] for each in firsts if each.host and int(each.time / outcome.last_end * 2) == half
    )


def test_a_tightly_coupled_program_is_shared_less_and_less_and_others_are_not() -> None:
    """Only its slowdown as a host tells it from the others."""
    outcome = crowd(reports=False)
    first, second = hosts(outcome, 0), hosts(outcome, 1)
    assert first["coupled"] >= 5
    assert second["coupled"] <= first["coupled"] / 2
    assert second["waits"] + second["asks"] > (first["waits"] + first["asks"]) / 2


def slowdown(outcome: RunOutcome, kind: str) -> float:
    return fmean((job.ended - job.started) / 2000 - 1 for job in outcome.jobs if job.kind == kind)


def test_to_take_cores_back_spares_the_hosts() -> None:
    without, taken = crowd(reports=False), crowd(reports=True)
    assert slowdown(taken, "coupled") < slowdown(without, "coupled")


def test_what_is_taken_back_is_decided_the_same_again() -> None:
    lines: list[str] = []
    jobs = tuple(
        WorkloadJob(number, 0.0, size, size, Fixed(2000.0), kind=kind)
        for number, (kind, size) in enumerate((("coupled", 4), ("asks", 2)), 1)
    )
    model = replace(QuotaContention(PROGRAMS), reports_degraded=True)
    policy = Cosched(experts=HALF)
    simulate(
        Workload("two", jobs, 4, contention=model),
        policy,
        watcher=lambda given, now, actions: lines.append(
            decision_log.encode(policy.name, given, now, actions)
        ),
    )
    decided = [decision_log.decode(line) for line in lines]
    (taken,) = [each for each in decided if Change(Happened.DEGRADED, 1) in each.state.changes]
    assert quotas(taken.actions) == [(2, 0.25), (1, 0.75)]
    assert list(decision_log.differences(policy, lines)) == []
