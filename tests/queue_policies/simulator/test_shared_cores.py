"""Guests in a simulation: how fast hosts and guests are, who keeps which cores, and what is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from queue_policies import plugins
from queue_policies.errors import PolicyDefect
from queue_policies.records import Action, CpuQuota, Happened, Start, State
from queue_policies.simulator.experiment import SimulationRun
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import measure
from queue_policies.simulator.outcome import QuotaChange
from queue_policies.simulator.report import series
from queue_policies.simulator.report.page import page
from queue_policies.simulator.shared_cores import ProgramUse, QuotaContention
from queue_policies.simulator.speedup import Fixed
from queue_policies.simulator.workload import Workload
from queue_policies.simulator.workloads import workflows

if TYPE_CHECKING:
    from collections.abc import Sequence

MODEL = QuotaContention(
    {
        "idle": ProgramUse(0.5, 0.6, io=True),
        "busy": ProgramUse(1.0, 0.6),
        "waits": ProgramUse(0.5, 0.1, io=True),
        "coupled": ProgramUse(0.5, 0.1, coupling=2.0),
    },
    base=0.1,
    memory=1.0,
    io=0.3,
    interval=10.0,
)


@dataclass(frozen=True)
class Pair:
    """Starts the first job alone, and the second on its cores, once that was measured."""

    name: ClassVar[str] = "pair"
    fraction: float = 0.5

    def decide(self, state: State, now: float) -> Sequence[Action]:
        if 1 in state.queue:
            return [Start(1)]
        if 2 in state.queue and 1 in state.running and state.running[1].usage is not None:
            return [CpuQuota(1, 1 - self.fraction), Start(2, on=1, fraction=self.fraction)]
        return []


def pair(host: str, guest: str, seconds: float = 200.0, size: int = 2, fraction: float = 0.5) -> Any:
    """Two jobs of 100 s and of `seconds` alone, on 4 cores and on `size` of them."""
    jobs = (
        WorkloadJob(1, 0.0, 4, 4, Fixed(100.0), kind=host),
        WorkloadJob(2, 0.0, size, size, Fixed(seconds), kind=guest),
    )
    return simulate(Workload("pair", jobs, 4, contention=MODEL), Pair(fraction))


def test_a_guest_slows_its_host_down_by_its_quota_and_by_the_neighbour() -> None:
    """From 10 s on, 90 s of work are slowed: by 1.1 for the neighbour, and by 0.2 of memory beyond all."""
    outcome = pair("idle", "busy")
    assert outcome.jobs[0].ended == pytest.approx(10 + 90 * 1.3)
    outcome = pair("busy", "busy", fraction=0.25, size=1)
    assert outcome.jobs[0].ended == pytest.approx(10 + 90 * 1.3 / 0.75)


def test_a_coupled_program_pays_more_than_its_quota() -> None:
    assert pair("coupled", "waits").jobs[0].ended == pytest.approx(10 + 90 * (1.1 + 2 * 0.5))


def test_how_much_slower_a_host_was_is_known_of_its_kind() -> None:
    """It did 90 s of work at half of the speed that its quota explains, and others of its kind show it."""
    seen: dict[float, Any] = {}

    def watch(state: State, now: float, _actions: Sequence[Action]) -> None:
        seen[now] = state.queue[3].usage if 3 in state.queue else None

    jobs = tuple(
        WorkloadJob(number, submitted, size, size, Fixed(100.0), kind=kind)
        for number, kind, size, submitted in (
            (1, "coupled", 4, 0.0),
            (2, "waits", 2, 0.0),
            (3, "coupled", 4, 0.0),
            (4, "waits", 4, 500.0),
        )
    )
    with pytest.raises(PolicyDefect, match=r"starts none of the queued jobs.*2 queued \(3 for 4"):
        simulate(Workload("four", jobs, 4, contention=MODEL), Pair(), watcher=watch)
    assert (seen[0.0], seen[10.0].slowdown) == (None, 0.0)
    assert seen[max(seen)].slowdown == pytest.approx(1.1)


def test_two_that_wait_for_io_wait_for_each_other() -> None:
    assert pair("idle", "waits").jobs[0].ended == pytest.approx(10 + 90 * 1.4)


def test_a_guest_that_outlives_its_host_keeps_as_many_cores_as_it_asked_for() -> None:
    """It did 117 s at 1/1.3 of its speed, and goes on alone."""
    outcome = pair("idle", "busy")
    first, second = outcome.jobs
    left = 200 - 117 / 1.3
    assert second.ended == pytest.approx(first.ended + left)
    assert second.sizes == ((10.0, 0), (first.ended, 2), (second.ended, 0))
    assert outcome.quotas[2] == (QuotaChange(10.0, 0.5, 1), QuotaChange(first.ended, 1.0, None))
    assert outcome.quotas[1] == (QuotaChange(10.0, 0.5, None),)


def test_a_host_whose_guest_has_ended_has_its_cores_alone_again() -> None:
    outcome = pair("idle", "busy", seconds=50.0)
    first, second = outcome.jobs
    assert second.ended == pytest.approx(10 + 50 * 1.3)
    assert outcome.quotas[1] == (QuotaChange(10.0, 0.5, None), QuotaChange(second.ended, 1.0, None))
    assert first.ended == pytest.approx(second.ended + 90 - 50)


def test_usage_is_measured_and_known_of_those_of_its_kind_that_wait() -> None:
    seen: list[Any] = []

    def watch(state: State, now: float, _actions: Sequence[Action]) -> None:
        if any(change.what is Happened.MEASURED for change in state.changes):
            seen.append((now, state.running[1].usage, state.queue[2].usage))

    jobs = tuple(WorkloadJob(number, 0.0, 4, 4, Fixed(100.0), kind="idle") for number in (1, 2))
    simulate(Workload("two", jobs, 4, contention=MODEL), Pair(), watcher=watch)
    now, usage, known = seen[0]
    assert (now, usage, known) == (10.0, usage, usage)
    assert (usage.cpu, usage.memory, usage.busy, usage.since) == (0.5, 0.6, 4, 0.0)


def test_noise_is_the_same_for_the_same_seed() -> None:
    noisy = QuotaContention(MODEL.programs, noise=0.1)
    job = WorkloadJob(1, 0.0, 4, 4, Fixed(1.0), kind="idle")
    found = [noisy.measured(job, 4, 0.0, seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert all(0 <= each.cpu <= 1 for each in found)


def test_the_report_draws_shared_cores_and_weights() -> None:
    outcomes = {name: simulate(workflows.workload(0, 64), plugins.load(name)) for name in ("easy", "cosched")}
    runs = [SimulationRun(name, 0, outcome, measure(outcome)) for name, outcome in outcomes.items()]
    text = page(runs)
    assert "<h2>Shared cores</h2>" in text
    assert "How cosched weighs its experts." in text
    assert "How easy weighs" not in text
    assert "unlike" in text
    assert "Shared cores" not in page(runs[:1])


def test_shared_units_are_those_of_hosts_with_guests() -> None:
    outcome = pair("idle", "busy")
    end = outcome.jobs[0].ended
    assert series.shared(outcome, 0.0, end) == [
        (0.0, 0.0),
        (10.0, 0.0),
        (10.0, 1.0),
        (end, 1.0),
        (end, 0.0),
        (end, 0.0),
    ]
