"""Which scheduler decides, by which policy, and which nodes and cores jobs get: `flux.scheduler`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FLUXION_POLICIES = ("fcfs", "easy", "conservative", "hybrid")
"""The names of Fluxion's queue policies (qmanager)."""
DEFAULT_PLACEMENT = "low-rank"
OURS = "minicluster/"
"""Before the name of a policy of ours."""


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """`flux.scheduler`."""

    policy: str = "fcfs"
    """The name of one of Flux's policies, or `minicluster/<name>` for one of ours."""
    simple: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    placement: str = ""
    """The name of a placement of ours, with or without `minicluster/`; empty: `low-rank`."""
    placement_settings: Mapping[str, object] = field(default_factory=dict)
    affinity: str = ""
    """`none`, `best-effort` or `required`; empty: as the placement has it."""

    @property
    def bare_policy(self) -> str:
        """The policy's name without `minicluster/`."""
        return self.policy.removeprefix(OURS)

    @property
    def bare_placement(self) -> str:
        """The placement's name without `minicluster/`; empty where it is the default one, as it is."""
        bare = self.placement.removeprefix(OURS)
        return "" if bare == DEFAULT_PLACEMENT and not self.placement_settings else bare

    @property
    def chooses_cores(self) -> bool:
        """Whether they name a placement or an affinity, which Flux's own schedulers do not know."""
        return bool(self.bare_placement or self.affinity)

    @property
    def in_flux(self) -> str:
        """When real Flux loads our scheduler: `always`, `without-fluxion`, or empty: never.

        Strict order does not need ours, as Flux's own scheduler keeps it, unless ours is to choose cores.
        """
        if self.simple or self.policy in ("", "hybrid"):
            return ""
        if self.policy == "fcfs" and not self.chooses_cores:
            return ""
        return "without-fluxion" if self.policy in FLUXION_POLICIES else "always"
