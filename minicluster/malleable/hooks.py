"""The hooks by which a program answers orders; its author writes them."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.malleable.messages import Grow, Member, Shrink


class Hooks(abc.ABC):
    """How a program answers orders. A hook may raise Refusal(reason) unless its docstring forbids it."""

    def before_grow(self, order: Grow) -> None:  # noqa: B027 - nothing is a good default
        """Workers on `order.hosts` are on offer. Refuse if little work is left, or more would not help."""

    @abc.abstractmethod
    def after_grow(self, workers: Sequence[Member]) -> None:
        """Take on the workers, which have started. When this returns, the growth is acknowledged."""

    @abc.abstractmethod
    def before_shrink(self, order: Shrink) -> Sequence[int]:
        """Choose `order.count` workers, move all their data elsewhere, and return their numbers.

        The first worker (0) must not be among them. Where the program does not mind, the first ones of
        `order.prefer`, if there are any, free whole memory domains. The instance ends them after this; they
        may also exit.
        """

    def after_shrink(self, workers: Sequence[int]) -> None:  # noqa: B027
        """The instance has freed the resources of these workers. Must not raise Refusal."""

    def expired(self, order: int, reason: str) -> None:  # noqa: B027
        """An order that was accepted is over without a resize. Must not raise Refusal."""
