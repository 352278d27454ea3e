"""The errors of a simulation.

PolicyError
└── SimulationError     anything below
    ├── WorkloadError   a workload that cannot be simulated: names file or workload, job, and what is valid
        └── OutputError     a result that cannot be written
"""

from __future__ import annotations

from queue_policies.errors import PolicyError


class SimulationError(PolicyError):
    """Root of the simulator's errors."""


class WorkloadError(SimulationError):
    """A workload that cannot be simulated."""


class OutputError(SimulationError):
    """A result that cannot be written."""
