"""Many simulations: every policy on every seed of a workload, over several processes."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import astuple, dataclass, field
from multiprocessing import active_children, forkserver, get_context
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from queue_policies.simulator.errors import SimulationError
from queue_policies.simulator.estimate import Estimates
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import NAMES, RunMetrics, mean, measure
from queue_policies.simulator.on_nodes import AlikeNodes, on_nodes
from queue_policies.simulator.selection import placement_named, policy_named
from queue_policies.simulator.simulation_options import Preemption, SimulationOptions
from queue_policies.simulator.spread import Spread, spread
from queue_policies.simulator.workloads import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from queue_policies.simulator.failure import Failures
    from queue_policies.simulator.outcome import RunOutcome
    from queue_policies.simulator.workload import Oversized, Workload


@dataclass(frozen=True, slots=True)
class Experiment:
    """What to simulate. `known`, `error` and `learned` are those of Estimates."""

    word: str
    """The workload, as on the command line."""
    policies: tuple[str, ...]
    """As on the command line."""
    seeds: tuple[int, ...] = (0,)
    total: int = 0
    """The cluster's units; 0: the workload's own."""
    known: bool = True
    error: float = 0.0
    learned: bool = False
    refusals: float = 0.0
    """The share of orders that programs refuse."""
    failures: Failures | None = None
    preemption: Preemption = field(default_factory=Preemption)
    workload: Workload | None = field(default=None, repr=False)
    """Used instead of `word`, if it is given."""
    oversized: Oversized = "refuse"
    nodes: AlikeNodes = field(default_factory=AlikeNodes)
    """On which nodes it is, in place of the workload's own."""
    placement: str = ""
    """As on the command line; empty: the workload's own."""

    def made(self, seed: int) -> Workload:
        """Return the workload of a seed."""
        found = self.workload or catalogue.load(self.word, seed, self.total, self.oversized)
        return on_nodes(found, self.nodes, placement_named(self.placement) if self.placement else None)

    def options(self, seed: int) -> SimulationOptions:
        """Return the options of a simulation with this seed."""
        estimates = Estimates(self.known, self.error, seed, self.learned)
        return SimulationOptions(estimates, self.refusals, self.failures, seed, self.preemption)


@dataclass(frozen=True, slots=True)
class SimulationRun:
    """One policy on one seed."""

    policy: str
    seed: int
    outcome: RunOutcome
    metrics: RunMetrics


def run(
    plan: Experiment, processes: int = 0, done: Callable[[int, int], None] | None = None
) -> list[SimulationRun]:
    """Simulate all of an experiment: by policy, then by seed. `processes`: 0 is one for each core.

    Raises PolicyError for a wrong workload, policy or setting, if possible before anything runs.
    """
    for word in plan.policies:
        policy_named(word)
    tasks = [(word, seed) for word in plan.policies for seed in plan.seeds]
    plan.made(plan.seeds[0])
    progress = done or (lambda _done, _all: None)
    workers = min(processes or os.cpu_count() or 1, len(tasks))
    if workers == 1:
        return list(_here(plan, tasks, progress))
    _start_server()
    with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
        waiting = {pool.submit(_one, plan, *task): task for task in tasks}
        finished: dict[tuple[str, int], SimulationRun] = {}
        try:
            for future in as_completed(waiting):
                finished[waiting[future]] = future.result()
                progress(len(finished), len(tasks))
        except BrokenProcessPool as error:
            raise SimulationError(
                "a simulating process was killed, perhaps for its memory; use fewer --jobs"
            ) from error
        except KeyboardInterrupt:
            for process in active_children():
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return [finished[task] for task in tasks]


def _start_server() -> None:
    """Start the server that forks the simulating processes, so that none of them sees an interrupt.

    All have their handler from the server. A terminal sends its interrupt to every process, and each would
    print a traceback; this one ends them.
    """
    if current_thread() is not main_thread():
        return  # only the main thread may set handlers, and only it is interrupted
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)


def means(runs: Sequence[SimulationRun]) -> dict[str, dict[str, float]]:
    """Return the mean metrics of each policy, in the order of the policies."""
    policies = dict.fromkeys(run.policy for run in runs)
    return {policy: mean(run.metrics for run in runs if run.policy == policy) for policy in policies}


def spreads(runs: Sequence[SimulationRun]) -> dict[str, dict[str, Spread]]:
    """Return how far each metric of each policy is spread over the seeds, in the order of the policies."""
    rows: dict[str, list[tuple[float, ...]]] = {}
    for run in runs:
        rows.setdefault(run.policy, []).append(astuple(run.metrics))
    return {
        policy: dict(zip(NAMES, map(spread, zip(*some, strict=True)), strict=True))
        for policy, some in rows.items()
    }


def _here(
    plan: Experiment, tasks: Sequence[tuple[str, int]], progress: Callable[[int, int], None]
) -> Iterator[SimulationRun]:
    for number, task in enumerate(tasks, 1):
        yield _one(plan, *task)
        progress(number, len(tasks))


def _one(plan: Experiment, word: str, seed: int) -> SimulationRun:
    outcome = simulate(plan.made(seed), policy_named(word), plan.options(seed))
    return SimulationRun(word, seed, outcome, measure(outcome))
