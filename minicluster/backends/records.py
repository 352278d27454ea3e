"""What is asked of a back end, and what it tells: frozen records that every back end fills."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class UpRequest:
    """What to bring up of a document; empty or None: as the document says."""

    name: str = ""
    """Which MiniCluster, where the document has several."""
    size: int | None = None
    policy: str = ""
    """The queue policy, written NAME[:SETTING=VALUE,…]."""


@dataclass(frozen=True, slots=True)
class ForegroundRun:
    """What to run of a document until it has ended; `timeout` in seconds."""

    name: str = ""
    size: int | None = None
    command: Sequence[str] = ()
    """In place of the document's command."""
    engine: str = "auto"
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that the parts of a run took."""

    bring_up: float
    run: float
    tear_down: float


@dataclass(frozen=True, slots=True)
class BroughtUp:
    """A cluster that was brought up: its phase in one word, and what a person should know besides."""

    name: str
    phase: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """A cluster in a listing; `created` in seconds since 1970."""

    name: str
    phase: str
    size: int
    max_size: int | None
    created: float
    more: Mapping[str, Any] = field(default_factory=dict)
    """What this back end tells besides, by the names of columns."""


@dataclass(frozen=True, slots=True)
class ClusterListing:
    """Clusters, the columns that people are shown of them, and what to say where there are none."""

    clusters: tuple[ClusterSummary, ...]
    columns: tuple[str, ...]
    empty: str = "no cluster is up"


@dataclass(frozen=True, slots=True)
class StatusTable:
    """Rows below the fields of a status; those with a title come last. `empty` is said where there are none.

    `since` is the field with the time (seconds since 1970, or None) of which the column `age` is made.
    """

    name: str
    rows: tuple[Mapping[str, Any], ...]
    columns: tuple[str, ...]
    title: str = ""
    empty: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """How a cluster is."""

    cluster: ClusterSummary
    order: tuple[str, ...]
    """Which fields are shown, in order: of the cluster, of `values`, and of its queue."""
    values: Mapping[str, Any] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)
    """Further fields, for people only."""
    programs: Mapping[str, Any] = field(default_factory=dict)
    """Further fields, for programs only."""
    tables: tuple[StatusTable, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterSample:
    """What `top` shows of a cluster besides its queue; `least` is the least size that it may have."""

    row: Mapping[str, Any]
    least: int = 1
    people: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watched:
    """A cluster that is looked at again and again: `sample` returns how it is, `over` ends the looking."""

    sample: Callable[[], ClusterSample]
    over: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class Following:
    """How far a job was followed: whether it is the main job, and whether all its output was shown."""

    is_main: bool = False
    is_shown: bool = False


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """Sizes before and after; not `is_done`: it was asked for, and goes on."""

    before: int
    after: int
    is_done: bool = True


@dataclass(frozen=True, slots=True)
class SuspendResult:
    """The phase in which a cluster is; not `is_done`: it was asked for, and goes on."""

    phase: str
    is_done: bool = True


@dataclass(frozen=True, slots=True)
class DownResult:
    """Not `is_done`: it was asked for, and goes on. `note` says what was saved, where that was asked for."""

    is_done: bool = True
    note: str = ""
