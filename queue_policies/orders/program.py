"""The orders to one malleable program: its workers' slots, those reserved for an order, and its pauses.

`minicluster.malleable` has the messages between a session and its program. This has what they mean for
resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from queue_policies.nodes.records import Slot

RETRY_DELAY = 10.0
"""Seconds without orders for a program that refused one, or did not do it in time."""
BY_HAND_DELAY = 60.0
"""Seconds without orders of the policy for a program that did one that was given by hand."""
LEAVE = 5.0
"""Seconds that released workers have to end by themselves before they are ended."""


class SentOrder(Protocol):
    """What this needs of an order under way."""

    @property
    def id(self) -> int:
        """The order's number."""


class ProgramSession(Protocol):
    """What this needs of the program's session."""

    @property
    def order(self) -> SentOrder | None:
        """The order under way."""

    @property
    def accepts_resize(self) -> bool:
        """Whether an order can be sent to the program."""

    @property
    def deadline(self) -> float | None:
        """When the order under way expires."""


class ProgramOrders:
    """The orders to one program. Workers are identified by their tasks' numbers."""

    def __init__(
        self, session: ProgramSession, members: Sequence[Slot] = (), reserved: Sequence[Slot] = ()
    ) -> None:
        self.slots: dict[int, Slot] = dict(enumerate(members))
        """The slots of the members, and of the workers that were started for an order."""
        self.alive: set[int] = set(self.slots)
        """The workers that have not ended."""
        self.reserved: list[Slot] = list(reserved)
        """The slots for the workers of an order to grow."""
        self.starting: set[int] = set()
        """The workers that were started for it."""
        self.number = 0
        """The number of the latest order."""
        self.on_end: Callable[[str], None] | None = None
        """For an order by hand: called once, with why it failed, or an empty text when it is done."""
        self._session = session
        self._expired = ""
        self._rest_ends: float | None = None

    @property
    def accepts_resize(self) -> bool:
        """Whether the program can get an order now."""
        rests = self._rest_ends is not None
        return self._session.accepts_resize and not (self.reserved or self._expired or rests)

    @property
    def idle(self) -> bool:
        """Whether no order is under way, and nothing is reserved for one."""
        return self._session.order is None and not self.reserved

    @property
    def over(self) -> bool:
        """Whether the latest order has expired, though its workers may still end."""
        return bool(self._expired)

    @property
    def due(self) -> float | None:
        """The next time to check the session's deadline and the program's pause."""
        times = [each for each in (self._session.deadline, self._rest_ends) if each is not None]
        return min(times, default=None)

    def sent(self) -> int:
        """Note the number of an order that was sent, and return it."""
        self.number = self._session.order.id if self._session.order is not None else 0
        return self.number

    def end(self, failure: str = "") -> None:
        """Report what became of an order by hand."""
        callback, self.on_end = self.on_end, None
        if callback is not None:
            callback(failure)

    def rested(self, now: float) -> bool:
        """Return whether the program's pause is over, once, and no order is under way."""
        if self._rest_ends is None or now < self._rest_ends:
            return False
        self._rest_ends = None
        return self._session.order is None

    def start(self, workers: Mapping[int, str], host_of: Callable[[Slot], str]) -> dict[int, Slot]:
        """Give each worker of an accepted order a slot on its host; return these slots."""
        left = list(self.reserved)
        slots = {}
        for task, host in workers.items():
            slots[task] = next(slot for slot in left if host_of(slot) == host)
            left.remove(slots[task])
        self.slots |= slots
        self.starting = set(slots)
        return slots

    def resized(self, lost: Iterable[int], now: float) -> list[Slot]:
        """Note that an order is done; return the slots that the program gave up."""
        self.reserved, self.starting = [], set()
        if self.on_end is not None:
            self._rest_ends = now + BY_HAND_DELAY
        return [self.slots.pop(task) for task in lost]

    def expire(self, reason: str) -> None:
        """Note that an order has expired, and that its workers are being ended."""
        self._expired = reason

    def wound_up(self) -> str:
        """Return why an order has expired, once, when none of its workers is alive any more; else empty."""
        reason = self._expired
        if not reason or self.alive & self.starting:
            return ""
        self._expired = ""
        return reason

    def drop(self, now: float) -> list[Slot]:
        """End a failed order; return the slots that were reserved for it. The program gets a pause."""
        unused, self.reserved = self.reserved, []
        for task in self.starting:
            del self.slots[task]
        self.starting = set()
        self._rest_ends = now + RETRY_DELAY
        return unused

    def living(self, tasks: Collection[int]) -> set[int]:
        """Return those of these workers that have not ended."""
        return self.alive.intersection(tasks)
