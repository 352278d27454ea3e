"""The settings of co-scheduling, and what follows from them alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from queue_policies.cosched import book, forest, learner, trees
from queue_policies.settings import setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.cosched.learner import Risks
    from queue_policies.cosched.trees import Expert


@dataclass(frozen=True, slots=True)
class CoschedOptions:
    """The settings. Raises ExpertsFault, which names what is wrong with experts or actions."""

    actions: str = setting(forest.ACTIONS, "fractions of a host's cores that a guest may get, from 0 on")
    experts: str = setting("", "file of decision trees, TOML or JSON, or JSON itself; empty: ours")
    idle: float = setting(0.35, "loss of leaving a host's cores idle while a guest waits", least=0.0)
    host_weight: float = setting(
        0.75, "how much the host's slowdown counts; the guest's has the rest", least=0
    )
    guard: float = setting(1.1, "how far from its time limit a host must stay; 0: no matter", least=0.0)
    seed: int = setting(0, "of the draws; the same one gives the same answers")
    every: float = setting(
        300.0, "least seconds until a host that was to have no guest is asked again", least=1
    )
    best_fit: bool = setting(
        True, "whether the guest that needs the most is tried first, or the first in order"
    )
    delay: float = setting(
        3600.0, "seconds by which guests may put off the start promised to the head", least=0
    )
    tries: int = setting(
        8, "jobs of the queue that are tried as guests of a host, until one is to be", least=1
    )
    two_sided: bool = setting(
        True, "whether the loss counts both slowdowns and idle cores, or a limit passed"
    )
    importance: bool = setting(True, "whether losses are weighted by how likely the action was")
    sleeping: bool = setting(True, "whether actions that cannot be are left out before the draw")
    need_by_use: bool = setting(
        True, "whether a guest needs what earlier runs used, or all that it asked for"
    )
    delayed: bool = setting(True, "whether a cost is known when both part, or only when the host ends")
    discount: float = setting(
        1.0, "what a round leaves of the risks before, for programs that change", least=0
    )

    def __post_init__(self) -> None:
        """Read the experts. Raises ExpertsFault, which names what is wrong."""
        self.known_experts()

    @property
    def grid(self) -> tuple[float, ...]:
        """The actions."""
        return trees.actions_of(self.actions)

    @property
    def least_quota(self) -> float:
        """The least fraction that a guest or a host may get."""
        grid = self.grid
        return min(grid[1], 1 - grid[-1])

    def known_experts(self) -> tuple[Expert, ...]:
        """Return the experts."""
        if self.experts:
            return trees.read(self.experts, len(self.grid))
        return forest.EXPERTS if self.actions == forest.ACTIONS else forest.for_actions(self.grid)

    def weights(self, risks: Risks) -> tuple[float, ...]:
        """Return the experts' weights."""
        return learner.weights(risks, self.known_actions)

    def charged(self, risks: Risks, costs: Sequence[float]) -> Risks:
        """Return the risks with the costs of one more case."""
        return learner.added(risks, costs, self.discount)

    @property
    def known_actions(self) -> int:
        """How many actions share what is learned of one: all, where only one's loss is known."""
        return len(self.grid) if self.importance else 1

    def remembered(self, memory: object) -> dict[str, float]:
        """Return the experts' weights in a memory by their names, for reports."""
        experts = self.known_experts()
        found, _ = book.unpacked(memory, self.grid, experts)  # type: ignore[arg-type] # unpacked checks it
        return dict(zip((each.name for each in experts), self.weights(found.risks), strict=True))
