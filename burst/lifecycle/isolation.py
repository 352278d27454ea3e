"""What is known of an isolated burst: its instance elsewhere, and the job that stands in for it here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

STDOUT, STDERR, RESULTS = "stdout", "stderr", "results"
"""What a job elsewhere has written: its output, and the files that it names."""


class StandIn(NamedTuple):
    """The job that has the place of one that runs in an instance of its own."""

    job: int
    is_running: bool
    """Its original will never run any more: only then is the job submitted elsewhere. Stays true."""
    is_over: bool
    """It has ended here: it has delivered all, or was canceled. One that was killed gets a successor."""
    is_canceled: bool
    """Somebody canceled it, or its original while it took its place: the job elsewhere is to be canceled."""
    received: Mapping[str, int]
    """Bytes that its spool has of "stdout", "stderr" and "results"; none of a stream that has not begun."""


class StandInView(NamedTuple):
    """What a lead reports of an isolated burst."""

    instance: str
    """The id of the lead's instance."""
    standing: StandIn | None = None
    """None: nothing has its job's place."""


class OutputPart(NamedTuple):
    """What a job elsewhere has written, from a byte of a stream on."""

    stream: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class JobElsewhere:
    """The job elsewhere."""

    id: int
    is_on_hold: bool = False
    """Whether it is submitted, and was not let start yet."""
    is_canceled: bool = False
    """Whether it was asked to end."""
    is_over: bool = False
    status: int = 0
    """Once it is over: its wait status."""
    note: str = ""
    """Why it ended, where an exception ended it."""
    has_results: bool = False
    """Whether it names files that are brought back."""
    parts: tuple[OutputPart, ...] = ()
    """What it has written and the lead does not have; some of it, if that is much."""


@dataclass(frozen=True, slots=True)
class PackedResults:
    """The job elsewhere that writes another one's files, as one archive."""

    is_over: bool = False
    error: str = ""
    """Why there are none."""
    digest: str = ""
    """The SHA-256 of the archive in hex, once it is whole."""
    parts: tuple[OutputPart, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoteView:
    """What an instance elsewhere reports."""

    instance: str
    """Its id: another one does not know the job."""
    nodes: int = 0
    """How many of its brokers are there."""
    job: JobElsewhere | None = None
    results: PackedResults | None = None
    """None: nobody has asked for them."""
