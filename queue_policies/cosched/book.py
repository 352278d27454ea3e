"""What the policy remembers, and how that is written: as tuples, that become JSON and come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from queue_policies.cosched import learner
from queue_policies.cosched.case import Case
from queue_policies.cosched.learner import Risks
from queue_policies.cosched.shared_queue import Promise

if TYPE_CHECKING:
    from queue_policies.cosched.trees import Expert
    from queue_policies.records import Memory

VERSION = 1
"""Of the memory's form. A memory of another one is not used."""


class OwnRate(NamedTuple):
    """What is known of how fast a job is alone."""

    job: int
    rate: float
    """The fraction of its work that it does in a second, alone; 0: not known yet."""
    since: float
    """When it began to be alone."""
    left: float
    """The fraction of its work that was left then."""


class Book(NamedTuple):
    """The policy's memory, as records."""

    risks: Risks
    counter: int = 0
    """How many actions were drawn."""
    cases: tuple[Case, ...] = ()
    """Those whose cost is not known yet."""
    asked: tuple[tuple[int, float], ...] = ()
    """Hosts that were to have no guest, and when that was drawn."""
    progress: tuple[OwnRate, ...] = ()
    """Of jobs whose progress since their start does not tell how fast they are alone."""
    promise: Promise | None = None
    """To the head of the queue."""

    def packed(self, actions: tuple[float, ...], experts: tuple[Expert, ...]) -> Memory:
        """Return the memory to be kept."""
        return (VERSION, actions, tuple(each.name for each in experts), *self)


def fresh(experts: int) -> Book:
    """Return the memory before the first case."""
    return Book(learner.fresh(experts))


def unpacked(memory: Memory, actions: tuple[float, ...], experts: tuple[Expert, ...]) -> tuple[Book, str]:
    """Return the records of a memory, and why it is not used, empty: it is."""
    if memory is None:
        return fresh(len(experts)), ""
    try:
        found: Any = memory
        version, of_actions, names, risks, counter, cases, asked, progress, promise = found
        wrong = _wrong(version, of_actions, names, actions, experts)
        if not wrong:
            book = Book(
                Risks(*risks),
                counter,
                tuple(Case(*each) for each in cases),
                tuple((job, time) for job, time in asked),
                tuple(OwnRate(*each) for each in progress),
                None if promise is None else Promise(*promise),
            )
            return book, ""
    except (TypeError, ValueError):
        wrong = "is not of a form that is known here"
    return fresh(len(experts)), f"what cosched remembered {wrong}; it begins to learn anew"


def _wrong(
    version: object,
    of_actions: object,
    names: tuple[str, ...],
    actions: tuple[float, ...],
    experts: tuple[Expert, ...],
) -> str:
    """Return what is wrong with a memory's head, empty: nothing."""
    if version != VERSION:
        return f"is of version {version}, and this is {VERSION}"
    if len(names) != len(experts):
        return f"is of {len(names)} experts, and there are {len(experts)}"
    if tuple(names) != tuple(each.name for each in experts):
        return "is of other experts"
    return "" if of_actions == actions else "is of other actions"
