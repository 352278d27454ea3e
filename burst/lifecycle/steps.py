"""What may be done for a burst next. Each may be repeated: it has the same effect once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from burst.lifecycle.isolation import OutputPart
    from burst.lifecycle.metering import NodeCount
    from burst.lifecycle.records import ResourceKey, ResourceRecord
    from burst.lifecycle.states import BurstOutcome, BurstState


class Wait(NamedTuple):
    """Nothing: something else has to happen first."""

    reason: str
    seconds: float = 0.0
    """For how long nothing else is to be expected; 0: it may happen at any time."""


class Enter(NamedTuple):
    """Enter a state; with an outcome, unless it has one."""

    state: BurstState
    outcome: BurstOutcome | None = None
    reason: str = ""
    asks_brokers: bool = False
    """Whether what its brokers wrote last belongs to the reason."""


class ReserveSlot(NamedTuple):
    """Take the slot and the money, and give the resources their names."""


class Intend(NamedTuple):
    """Write that a resource is about to be made."""

    resource: ResourceRecord


class Create(NamedTuple):
    """Make a resource."""

    resource: ResourceRecord


class NoteMade(NamedTuple):
    """Write that a resource is there: from now on it costs money."""

    resource: ResourceRecord


class NoteNodes(NamedTuple):
    """Write how many nodes are there and cost money, from a time on."""

    counted: NodeCount


class Probe(NamedTuple):
    """Undrain ranks of the slot, and try a job on each."""

    ranks: tuple[int, ...]


class Assign(NamedTuple):
    """Move jobs into the queue of the burst."""

    jobs: tuple[int, ...]


class OpenQueue(NamedTuple):
    """Start the queue of the burst."""


class NoteIdle(NamedTuple):
    """Write since when the burst has nothing to do; or that it has."""

    since: float | None


class Close(NamedTuple):
    """Stop the queue, drain the ranks, and move waiting jobs back."""

    jobs: tuple[int, ...]


class Restart(NamedTuple):
    """Have jobs that still run restarted elsewhere."""

    jobs: tuple[int, ...]


class Conclude(NamedTuple):
    """Write what became of jobs; those that ended with the nodes on which they ran begin anew."""

    jobs: tuple[int, ...]


class NoteRemote(NamedTuple):
    """Write which instance elsewhere is the burst's: its job is submitted in no other one."""

    instance: str


class StandInFor(NamedTuple):
    """Have a stand-in take the place of the job."""

    job: int


class SubmitThere(NamedTuple):
    """Submit the job elsewhere, on hold, unless it is there."""

    job: int


class ReleaseThere(NamedTuple):
    """Let the job elsewhere start: the first one, should there be another."""


class Carry(NamedTuple):
    """Bring what the job elsewhere has written."""

    parts: tuple[OutputPart, ...]


class PackThere(NamedTuple):
    """Have the files that the job names written as one archive, elsewhere."""


class CancelThere(NamedTuple):
    """Cancel the job elsewhere."""

    reason: str


class Finish(NamedTuple):
    """Let the stand-in end as the job elsewhere has."""

    job: int
    status: int
    """A wait status."""
    digest: str = ""
    """The SHA-256 of the results in hex; empty: there are none."""
    note: str = ""


class Delete(NamedTuple):
    """Delete a resource."""

    key: ResourceKey


class NoteGone(NamedTuple):
    """Write that a resource is not there any more: it costs nothing from now on."""

    resource: ResourceRecord


class NoteEmpty(NamedTuple):
    """Write since when listings have nothing of the burst; or that one has."""

    since: float | None


IsolatedStep: TypeAlias = (
    NoteRemote | StandInFor | SubmitThere | ReleaseThere | Carry | PackThere | CancelThere | Finish
)
"""Those that only a burst has whose nodes are an instance of their own."""
BurstStep: TypeAlias = (
    Wait
    | Enter
    | ReserveSlot
    | Intend
    | Create
    | NoteMade
    | NoteNodes
    | Probe
    | Assign
    | OpenQueue
    | NoteIdle
    | Close
    | Restart
    | Conclude
    | Delete
    | NoteGone
    | NoteEmpty
    | IsolatedStep
)
