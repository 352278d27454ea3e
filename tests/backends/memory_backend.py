"""A back end whose clusters are records in this process: what a plug-in brings, and no more."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from minicluster.backends.documents import choose
from minicluster.backends.errors import NoCluster, WrongRequest
from minicluster.backends.port import Backend, BackendKind, BackendOption
from minicluster.backends.records import (
    BroughtUp,
    ClusterListing,
    ClusterSample,
    ClusterSummary,
    ComponentVersion,
    DownResult,
    Following,
    ForegroundRun,
    ScaleResult,
    StatusReport,
    StatusTable,
    SuspendResult,
    UpRequest,
    Watched,
)
from minicluster.document import Problem, loading
from minicluster.plan import Site
from tests.backends.memory_instance import MemoryInstance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minicluster.backends.documents import DocumentText
    from minicluster.backends.port import Reporter, Write
    from minicluster.document import MiniCluster
    from minicluster.instance.port import Instance
    from minicluster.instance.records import BurstSummary

T = TypeVar("T")
REFUSED = "unlucky"
"""The name of a MiniCluster that this back end refuses."""


@dataclass(slots=True)
class MemoryCluster:
    """A cluster, as long as it is up."""

    document: MiniCluster
    created: float = field(default_factory=time.time)
    phase: str = "Running"
    instance: MemoryInstance = field(default_factory=MemoryInstance)
    bursts: tuple[BurstSummary, ...] = ()


RACKS: dict[str, dict[str, MemoryCluster]] = {}


@dataclass(frozen=True, slots=True)
class MemoryBackend(Backend):
    """The clusters of a rack of this process."""

    given: Mapping[str, Any]
    reporter: Reporter
    location: ClassVar[str] = "memory"

    @property
    def words(self) -> str:
        """The options that lead to the same rack."""
        return f" --on memory --rack {self.given['rack']}"

    def up(self, text: DocumentText, request: UpRequest) -> Sequence[BroughtUp]:
        """Keep the document."""
        document = choose(loading.parse(text.text, source=text.source).clusters, request.name, text.source)
        spec = document.spec.model_copy(update={"size": request.size or document.spec.size})
        name = document.metadata.name
        made = MemoryCluster(document.model_copy(update={"spec": spec}))
        made.instance.resize(spec.size)
        _rack(self)[name] = made
        self.reporter.notice(f"{name} is remembered")
        return (BroughtUp(name, "up", " in memory"),)

    def clusters(self) -> ClusterListing:
        """Return what is remembered."""
        found = tuple(_summary(_rack(self)[name]) for name in sorted(_rack(self)))
        return ClusterListing(found, ("name", "phase", "size", "max_size", "rack_units", "age"))

    def status(self, name: str, view: Callable[[Instance, int], T]) -> tuple[StatusReport, T | None]:
        """Return how a cluster is; a suspended one has no queue."""
        found = _need(self, name)
        table = StatusTable("notes", ({"note": "nothing is amiss"},), ("note",), title="notes:")
        order = ("name", "phase", "size", "max_size", "age", "nodes_demanded", "jobs_pending")
        report = StatusReport(_summary(found), order, tables=(table,), bursts=found.bursts)
        if found.phase != "Running":
            return report, None
        return report, view(cast("Instance", found.instance), 1)

    def watch(self, name: str, work: Callable[[Instance, Watched], T]) -> T:
        """Do the work."""
        found = _need(self, name)

        def sample() -> ClusterSample:
            row = {"name": name, "phase": found.phase, "size": found.document.spec.size}
            return ClusterSample(row, bursts=found.bursts)

        return work(cast("Instance", found.instance), Watched(sample))

    def scale(self, name: str, size: int) -> ScaleResult:
        """Remember another size."""
        found = _need(self, name)
        before, most = found.document.spec.size, found.document.spec.max_size or found.document.spec.size
        if size > most:
            raise WrongRequest(f"cluster {name}: cannot have {size} brokers, only {most}")
        spec = found.document.spec.model_copy(update={"size": size})
        found.document = found.document.model_copy(update={"spec": spec})
        found.instance.resize(size)
        return ScaleResult(before, size)

    def suspend(self, name: str, *, suspended: bool) -> SuspendResult:
        """Remember that it is suspended."""
        found = _need(self, name)
        found.phase = "Suspended" if suspended else "Running"
        return SuspendResult(found.phase)

    def down(self, name: str, dump: str) -> DownResult:
        """Forget a cluster."""
        _need(self, name)
        del _rack(self)[name]
        return DownResult(note="there was nothing to save" if dump else "")

    def logs(self, name: str, write: Write, rank: int | None, *, follow: bool) -> None:
        """Write a line for each broker."""
        size = _need(self, name).document.spec.size
        for each in range(size) if rank is None else (rank,):
            write(f"{name}-{each}: remembered\n".encode())

    def attach(self, name: str, write: Write, work: Callable[[Instance, Following], int] | None) -> int:
        """Follow a job, or the main command, which has written a line and ended with 7."""
        found = _need(self, name)
        if work is not None:
            return work(cast("Instance", found.instance), Following())
        write(b"the main command\n")
        return 7

    def shell(self, name: str, command: Sequence[str]) -> int:
        """Report what would be run; the exit code is the number of words."""
        _need(self, name)
        self.reporter.notice(f"would run {' '.join(command)}")
        return len(command)

    def ask(self, name: str, work: Callable[[Instance], T]) -> T:
        """Do the work with what is remembered of the instance."""
        return work(cast("Instance", _need(self, name).instance))

    def job_environment(self, name: str, *, whole: bool = False) -> Mapping[str, str] | None:
        """Return one variable, if the whole environment is needed."""
        _need(self, name)
        return {"WHERE": "in memory"} if whole else None

    def trial(self, texts: Sequence[DocumentText], known: Sequence[Problem]) -> Sequence[Problem]:
        """Refuse one name."""
        return [
            Problem("metadata.name", f"{REFUSED} is not taken", 0, 0, source=text.source)
            for text in texts
            for each in loading.parse(text.text, source=text.source).clusters
            if each.metadata.name == REFUSED
        ]

    def site(self) -> Site:
        """Return a site with a namespace of its own."""
        return replace(Site(), namespace="memory")


def _rack(backend: MemoryBackend) -> dict[str, MemoryCluster]:
    return RACKS.setdefault(backend.given["rack"], {})


def _need(backend: MemoryBackend, name: str) -> MemoryCluster:
    found = _rack(backend)
    if name not in found:
        raise NoCluster(f"cluster {name}: is not remembered")
    return found[name]


def run(text: DocumentText, request: ForegroundRun, reporter: Reporter) -> int:
    """Run nothing, and report that."""
    reporter.notice(f"{text.source} would be run")
    return len(request.command)


def versions(given: Mapping[str, Any], _reporter: Reporter) -> Sequence[ComponentVersion]:
    """Return the rack's."""
    return (ComponentVersion("rack", "7", "in memory", given["rack"], "is older than another one"),)


def _summary(found: MemoryCluster) -> ClusterSummary:
    spec = found.document.spec
    name = found.document.metadata.name
    return ClusterSummary(name, found.phase, spec.size, spec.max_size, found.created, {"rack_units": 1})


KIND = BackendKind(
    MemoryBackend,
    (
        BackendOption(
            ("--rack", "-n"),
            "Memory: which rack.",
            default="first",
            metavar="RACK",
            values=lambda _given: {name: f"{len(clusters)} clusters" for name, clusters in RACKS.items()},
        ),
    ),
    run,
    versions,
)
