"""Our scheduler for real Flux with resources and jobs of a test's own; no Flux is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from broker_config.formats import idset
from minicluster.flux_scheduler.ranks import Ranks
from minicluster.flux_scheduler.scheduling import Scheduling
from queue_policies.fcfs import Fcfs

if TYPE_CHECKING:
    from collections.abc import Callable

    from queue_policies.records import Action, State


def resources(ranks: str = "0-3", cores: str = "0-3", **execution: Any) -> dict[str, Any]:
    hosts = [f"n{rank}" for rank in idset.decode(ranks)]
    lite = [{"rank": ranks, "children": {"core": cores}}]
    return {"version": 1, "execution": {"R_lite": lite, "nodelist": hosts, **execution}}


def jobspec(nodes: int = 0, slots: int = 1, *, limit: float = 0, exclusive: bool = False, **more: Any) -> Any:
    slot = {"type": "slot", "count": slots, "label": "task", "with": [{"type": "core", "count": 1}]}
    node = {"type": "node", "count": nodes, "with": [slot]}
    top = node if nodes else slot
    if exclusive:
        top["exclusive"] = True
    return {
        "version": 1,
        "resources": [top],
        "tasks": [{"command": ["true"], "slot": "task", "count": {"per_slot": 1}}],
        "attributes": {"system": {"duration": limit}, **({"user": more} if more else {})},
    }


def scheduling(
    policy: Any = None, ranks: str = "0-3", owner: int | None = None, placement: Any = None
) -> Scheduling:
    """Return the state of four nodes with four cores, all up."""
    made = Scheduling(policy or Fcfs(), Ranks(resources(ranks)), owner, placement)
    made.allocations.ranks.up |= made.allocations.ranks.named("all")
    made.allocations.follow_ranks()
    return made


def arrive(made: Scheduling, number: int, spec: Any, priority: int = 16) -> None:
    made.arrive(made.queued(number, priority, 0, float(number), spec))


def started(made: Scheduling, now: float = 100.0) -> dict[int, tuple[str, int]]:
    """Decide, and return the ranks and slots of each job that starts."""
    return {each.job.id: (idset.encode(each.allocation), each.slots) for each in made.decide(now).starts}


@dataclass(frozen=True)
class Wrong:
    """A policy that returns given actions."""

    answer: Callable[[State, float], list[Action]]
    name: ClassVar[str] = "wrong"

    def decide(self, state: State, now: float) -> list[Action]:
        return self.answer(state, now)
