"""The protocol of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State


@runtime_checkable
class Policy(Protocol):
    """A frozen dataclass: its fields are the policy's settings, with their defaults (see `settings`).

    `decide` is pure. It is called after each batch of changes, and its actions are applied in their order. So
    a policy can try them in that order on a `Sketch`, which then shows their effect. A policy that resizes
    jobs and has a setting `gap` never resizes one sooner after the last action on it.
    """

    name: ClassVar[str]

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Return the actions at time `now`."""
