"""Requests to a back end and its results: frozen records, the same for every back end."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minicluster.instance.records import BurstSummary


class PlacementRequest(NamedTuple):
    """What to have of cores in place of what the document has; a field that is empty leaves that."""

    placement: str = ""
    """Written NAME[:SETTING=VALUE,…]."""
    affinity: str = ""
    profile: str = ""
    """What the tasks of the main job use most."""


AS_WRITTEN = PlacementRequest()
"""Leaves all as the document has it."""


@dataclass(frozen=True, slots=True)
class UpRequest:
    """What to bring up of a document; a field that is empty or None leaves what the document has."""

    name: str = ""
    """Which MiniCluster, where the document has several."""
    size: int | None = None
    policy: str = ""
    """The queue policy, written NAME[:SETTING=VALUE,…]."""
    cores: PlacementRequest = AS_WRITTEN


@dataclass(frozen=True, slots=True)
class ForegroundRun:
    """What to run of a document until it has ended."""

    name: str = ""
    size: int | None = None
    command: Sequence[str] = ()
    """Replaces the document's command; empty: that one runs."""
    engine: str = "auto"
    timeout: float | None = None
    """In seconds; None: no limit."""
    tasks: int | None = None
    """Of the command; None leaves what the document has."""
    oversubscribe: bool = False
    """Whether there may be more brokers than the place should have."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that the parts of a run took."""

    bring_up: float
    run: float
    tear_down: float


@dataclass(frozen=True, slots=True)
class BroughtUp:
    """A cluster that was brought up."""

    name: str
    phase: str
    note: str = ""
    """A further message to the user."""


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """A cluster in a listing."""

    name: str
    phase: str
    size: int
    max_size: int | None
    created: float
    """In seconds since 1970; 0.0: that is not known."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further values of this back end, by the names of columns."""


@dataclass(frozen=True, slots=True)
class ClusterListing:
    """The clusters of a back end, as `minicluster list` shows them."""

    clusters: tuple[ClusterSummary, ...]
    columns: tuple[str, ...]
    """The columns of the table for users."""
    empty: str = "no cluster is up"
    """The message where there are no clusters."""


@dataclass(frozen=True, slots=True)
class StatusTable:
    """A table below the fields of a status."""

    name: str
    rows: tuple[Mapping[str, Any], ...]
    columns: tuple[str, ...]
    title: str = ""
    """Tables with a title come last."""
    empty: str = ""
    """The text where there are no rows."""
    since: str = ""
    """The field with a time in seconds since 1970, or None. The column `age` is computed from it."""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The status of a cluster, as `minicluster status` shows it."""

    cluster: ClusterSummary
    order: tuple[str, ...]
    """Which fields are shown, in order: of the cluster, of `values`, and of its queue."""
    values: Mapping[str, Any] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)
    """Further fields of the output for users."""
    programs: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the JSON output."""
    tables: tuple[StatusTable, ...] = ()
    bursts: tuple[BurstSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterSample:
    """What `minicluster top` shows of a cluster besides its queue."""

    row: Mapping[str, Any]
    least: int = 1
    """The least size that the cluster may have."""
    people: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, Any] = field(default_factory=dict)
    bursts: tuple[BurstSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class Watched:
    """A cluster that is sampled at intervals."""

    sample: Callable[[], ClusterSample]
    """Returns the cluster's present state."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set: there are no more samples."""


@dataclass(slots=True)
class Following:
    """How far a job was followed."""

    is_main: bool = False
    """Whether it is the main job."""
    is_shown: bool = False
    """Whether all its output was shown."""


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """The sizes before and after a resize, in brokers as the document has them."""

    before: int
    after: int
    is_done: bool = True
    """False: the resize was requested, and goes on."""
    parts: int = 1
    """How many brokers each one of the sizes is; more than 1 where an operator has cut them."""


@dataclass(frozen=True, slots=True)
class SuspendResult:
    """The phase of a cluster after it was suspended or resumed."""

    phase: str
    is_done: bool = True
    """False: the change was requested, and goes on."""


@dataclass(frozen=True, slots=True)
class ComponentVersion:
    """A part of what is worked with, and its version."""

    component: str
    """What it is: "Kubernetes", "operator", "lead"; programs read it, so that it never changes."""
    version: str | None = None
    """None: not known, and the note has the reason."""
    note: str = ""
    name: str = ""
    """Which one, where there may be several."""
    differs: str = ""
    """How it does not fit this program or another part, with what to do; empty: it fits."""


@dataclass(frozen=True, slots=True)
class DownResult:
    """How the end of a cluster went."""

    is_done: bool = True
    """False: the end was requested, and goes on."""
    note: str = ""
    """What was saved, where a save was requested; else what was lost."""
