"""What a program does about orders: hooks, which its author writes."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.malleable.messages import Grow, Member, Shrink


class Hooks(abc.ABC):
    """What a program does about orders. Each may raise Refusal(reason) except where it says otherwise."""

    def before_grow(self, order: Grow) -> None:  # noqa: B027 - nothing is a good default
        """Workers on `order.hosts` are on offer. Refuse if little work is left, or more would not help."""

    @abc.abstractmethod
    def after_grow(self, workers: Sequence[Member]) -> None:
        """They have started: take them on. When this returns, growth is acknowledged."""

    @abc.abstractmethod
    def before_shrink(self, order: Shrink) -> Sequence[int]:
        """Choose `order.count` workers, move all they have elsewhere, and return their numbers.

        Never the first (0). They are ended after this, so they may end by themselves.
        """

    def after_shrink(self, workers: Sequence[int]) -> None:  # noqa: B027
        """The instance has freed what these held. Must not raise Refusal."""

    def expired(self, order: int, reason: str) -> None:  # noqa: B027
        """An order that was accepted is over without a resize: forget it. Must not raise Refusal."""
