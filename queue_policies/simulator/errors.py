"""What can go wrong in a simulation.

PolicyError
└── SimulationError     anything below
    ├── WorkloadError   a workload that cannot be simulated: names file or workload, job, and what would be
    right
        └── OutputError     a result that cannot be written
"""

from __future__ import annotations

from queue_policies.errors import PolicyError


class SimulationError(PolicyError):
    """Anything wrong with a simulation."""


class WorkloadError(SimulationError):
    """A workload that cannot be simulated."""


class OutputError(SimulationError):
    """A result that cannot be written."""
