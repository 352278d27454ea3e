"""The protocol of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State


@runtime_checkable
class Policy(Protocol):
    """A frozen dataclass: its fields are the policy's settings, with their defaults (see `settings`).

    `decide` is pure. It is called after each batch of changes; the actions are carried out in their order,
    so that a `Sketch` on which they were tried in that order shows what they will do. A policy that resizes
    jobs and has a setting `gap` never resizes one sooner after the last action on it.
    """

    name: ClassVar[str]

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """What to do at time `now`."""
