"""Lets units of a simulated cluster fail and be repaired, and jobs lose their work by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.simulator.calendar import Calendar, Kind
from queue_policies.simulator.errors import SimulationError
from queue_policies.simulator.failure import FailureModel, Failures
from queue_policies.simulator.unit_cluster import UnitCluster

if TYPE_CHECKING:
    from queue_policies.simulator.job_run import JobRun
    from queue_policies.simulator.machine import Machine

MAX_RESTARTS = 1000
"""A job that failed so often is assumed never to end."""


class FailingUnits:
    """Removes units from the machine, one at a time, and adds them again.

    Raises SimulationError where they are the cores of nodes.
    """

    def __init__(self, failures: Failures, seed: int, machine: Machine, calendar: Calendar) -> None:
        if not isinstance(machine.cluster, UnitCluster):
            raise SimulationError("failures: cores of nodes do not fail one by one; needed are counted units")
        self._cluster = machine.cluster
        self._failures = failures
        self._failure_model = FailureModel(failures, seed)
        self._machine = machine
        self._calendar = calendar
        calendar.add(self._failure_model.next_after(0.0, machine.cluster.total), Kind.FAILS)

    def fail(self, now: float) -> tuple[bool, JobRun | None]:
        """Let a unit fail. Return whether there was one, and the job on it, which has lost its work."""
        cluster, runs = self._cluster, self._machine.runs
        self._calendar.add(self._failure_model.next_after(now, cluster.total), Kind.FAILS)
        alive = [(job, cluster.held[job]) for job, run in runs.items() if run.ended is None]
        if cluster.free + len(alive) < 1:
            return False, None
        job = self._failure_model.hit(cluster.free, alive)
        cluster.resize(cluster.total - 1)
        self._calendar.add(now + self._failures.repair, Kind.REPAIRED)
        if job is None:
            return True, None
        self._lose(runs[job], now)
        return True, runs[job]

    def repair(self) -> None:
        """Bring a unit back."""
        cluster = self._cluster
        cluster.resize(cluster.total + 1)

    def _lose(self, run: JobRun, now: float) -> None:
        """Set a job back to its last checkpoint. Raises SimulationError after MAX_RESTARTS."""
        failures = self._failures
        computed = max(0.0, now - run.since)
        lost = computed % failures.checkpoint if failures.checkpoint else computed
        run.left = min(1.0, run.left_at(now) + lost / run.per) if failures.checkpoint and run.per else 1.0
        run.idle += lost - run.ahead(now)
        run.restarts += 1
        if run.restarts > MAX_RESTARTS:
            raise SimulationError(
                f"job {run.job.id} was started again {MAX_RESTARTS} times after failures and does not end:"
                f" it needs {run.per:g} s on {run.size} units, of which each fails every {failures.mtbf:g} s;"
                " save its work more often (checkpoint), or let units fail less often"
            )
        run.resume = failures.restart
