"""One malleable program: which worker holds what, what is held for an order, and when it takes the next.

What is said to programs, and by them, is the business of their session. Here is what follows for resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from queue_policies.nodes.records import Slot

PAUSE = 10.0
"""Seconds for which a program that refused an order, or did not do it, is given no other."""
LEAVE = 5.0
"""Seconds that released workers have to end by themselves before they are ended."""


class ProgramSession(Protocol):
    """What is known of the program itself."""

    @property
    def accepts_resize(self) -> bool:
        """Return whether it can be told of an order."""

    @property
    def deadline(self) -> float | None:
        """Return when the order under way has taken too long."""


class ProgramOrders:
    """The orders to one program. Workers are known by their tasks' numbers."""

    def __init__(
        self, session: ProgramSession, members: Sequence[Slot] = (), reserved: Sequence[Slot] = ()
    ) -> None:
        self.slots: dict[int, Slot] = dict(enumerate(members))
        """Of the members, and of the workers that were started for an order."""
        self.alive: set[int] = set(self.slots)
        self.reserved: list[Slot] = list(reserved)
        """For the workers of an order to grow."""
        self.starting: set[int] = set()
        """The workers that were started for it."""
        self.number = 0
        """Of the latest order."""
        self._session = session
        self._expired = ""
        self._rest_ends: float | None = None

    @property
    def accepts_resize(self) -> bool:
        """Return whether the program takes an order now."""
        rests = self._rest_ends is not None
        return self._session.accepts_resize and not (self.reserved or self._expired or rests)

    @property
    def over(self) -> bool:
        """Return whether the latest order has come to nothing, though its workers may still end."""
        return bool(self._expired)

    @property
    def due(self) -> float | None:
        """Return when to look at the session, and whether the program has rested."""
        times = [each for each in (self._session.deadline, self._rest_ends) if each is not None]
        return min(times, default=None)

    def rested(self, now: float) -> bool:
        """Return whether the rest after an order that came to nothing ends by now."""
        if self._rest_ends is None or now < self._rest_ends:
            return False
        self._rest_ends = None
        return True

    def start(self, workers: Mapping[int, str], host_of: Callable[[Slot], str]) -> dict[int, Slot]:
        """Give each worker of an order that was accepted a slot on its host."""
        left = list(self.reserved)
        slots = {}
        for task, host in workers.items():
            slots[task] = next(slot for slot in left if host_of(slot) == host)
            left.remove(slots[task])
        self.slots |= slots
        self.starting = set(slots)
        return slots

    def resized(self, lost: Iterable[int]) -> list[Slot]:
        """Note that an order is done; return the slots that the program gave up."""
        self.reserved, self.starting = [], set()
        return [self.slots.pop(task) for task in lost]

    def expire(self, reason: str) -> None:
        """Note that an order came to nothing whose workers are being ended."""
        self._expired = reason

    def wound_up(self) -> str:
        """Return, once, why an order came to nothing, when no worker lives that was started for it."""
        reason = self._expired
        if not reason or self.alive & self.starting:
            return ""
        self._expired = ""
        return reason

    def drop(self, now: float) -> list[Slot]:
        """End an order that came to nothing; return what was held for it. The program rests."""
        unused, self.reserved = self.reserved, []
        for task in self.starting:
            del self.slots[task]
        self.starting = set()
        self._rest_ends = now + PAUSE
        return unused

    def living(self, tasks: Collection[int]) -> set[int]:
        """Return those of these workers that have not ended."""
        return self.alive.intersection(tasks)
