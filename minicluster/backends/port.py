"""The port: what commands ask of the place where clusters live, and what a plug-in brings for a new one.

A back end is a class below `Backend` that does what it can; what it leaves out raises NotOffered. An entry
point of the group `minicluster.backends` leads to its `BackendKind`: its options, and how it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeVar

from minicluster.backends.errors import NotOffered

if TYPE_CHECKING:
    from minicluster.backends.documents import DocumentText
    from minicluster.backends.records import (
        BroughtUp,
        ClusterListing,
        DownResult,
        Following,
        ForegroundRun,
        ScaleResult,
        StatusReport,
        SuspendResult,
        Times,
        UpRequest,
        Watched,
    )
    from minicluster.document import Problem
    from minicluster.instance.port import Instance
    from minicluster.plan import Site

T = TypeVar("T")
Write = Callable[[bytes], None]


class Reporter(Protocol):
    """Who is told how it goes."""

    def notice(self, text: str) -> None:
        """Something that a person should know."""

    def bring_up(self, joined: int, size: int) -> None:
        """So many brokers have joined."""

    def started(self) -> None:
        """The bring-up is over."""

    def errors(self, data: bytes) -> None:
        """What the command wrote to its standard error."""

    def ended(self, times: Times, size: int) -> None:
        """It is over, and all is cleaned up."""


class Backend(Protocol):
    """Clusters of one place. Every method may raise BackendError; methods left out raise NotOffered.

    What is asked of an instance may besides raise minicluster.instance.errors.
    """

    location: ClassVar[str]
    """Where its clusters are, in words: "this machine"."""

    @property
    def words(self) -> str:
        """The options with which a command finds the same place, after a space; empty: none is needed."""
        return ""

    def up(self, text: DocumentText, request: UpRequest) -> Sequence[BroughtUp]:
        """Bring a document's clusters up. Raises minicluster.document.DocumentError."""
        refuse(self, "up")

    def clusters(self) -> ClusterListing:
        """Return the clusters that there are, by name."""
        refuse(self, "list")

    def status(self, name: str, view: Callable[[Instance, int], T]) -> tuple[StatusReport, T | None]:
        """Return how a cluster is, and what `view` returns of its instance and least size.

        None: its instance cannot be looked at now.
        """
        refuse(self, "status")

    def watch(self, name: str, work: Callable[[Instance, Watched], T]) -> T:
        """Do work that looks at a cluster and its instance again and again, and return its result."""
        refuse(self, "top")

    def scale(self, name: str, size: int) -> ScaleResult:
        """Change the number of brokers. Raises WrongRequest for a size that the cluster does not allow."""
        refuse(self, "scale")

    def suspend(self, name: str, *, suspended: bool) -> SuspendResult:
        """Suspend a cluster, so that it has no brokers, or have it go on; harmless where it is so already."""
        refuse(self, "suspend" if suspended else "resume")

    def down(self, name: str, dump: str) -> DownResult:
        """End a cluster; where `dump` is not empty, only once its jobs are saved to that file.

        ANY_FILE: to where the document says.
        """
        refuse(self, "down")

    def logs(self, name: str, write: Write, rank: int | None, *, follow: bool) -> None:
        """Write the lines of one broker's log, or of all; with `follow` until the cluster ends."""
        refuse(self, "logs")

    def attach(self, name: str, write: Write, work: Callable[[Instance, Following], int] | None) -> int:
        """Follow a job with `work`, and return the exit code that it returns.

        Without `work` what the main command writes is written, and its exit code returned. With the main job
        the instance may end before it has told how that ended: the exit code is its cluster's.
        """
        refuse(self, "attach without a JOB")

    def shell(self, name: str, command: Sequence[str]) -> int:
        """Run a command (none: a shell) in which `flux` is the cluster's, and return its exit code."""
        refuse(self, "shell")

    def ask(self, name: str, work: Callable[[Instance], T]) -> T:
        """Do the work with a cluster's instance, and return its result."""
        refuse(self, "jobs")

    def job_environment(self, name: str) -> Mapping[str, str] | None:
        """Return the environment in which jobs run that are submitted; None: that of the lead broker."""

    def trial(self, texts: Sequence[DocumentText], known: Sequence[Problem]) -> Sequence[Problem]:
        """Return what would be refused in documents here, beyond the problems that are known."""
        return ()

    def site(self) -> Site:
        """Return what the place offers to a plan."""
        refuse(self, "render")


def refuse(backend: Backend, what: str) -> NoReturn:
    """Raise NotOffered for what a back end cannot do."""
    raise NotOffered(f"{what}: is not offered for clusters of {backend.location}")


ANY_FILE = "-"
"""In place of a file to save to: wherever the document says."""


@dataclass(frozen=True, slots=True)
class BackendOption:
    """An option that a back end adds to commands, with its name as people write it.

    `type` is that of its value, as typer knows it: `str`, `bool`, `float | None`, `Literal["a", "b"]`.
    """

    names: tuple[str, ...]
    """As in ("--namespace", "-n") or ("--wait/--no-wait",)."""
    help: str
    type: Any = str
    default: Any = ""
    metavar: str = ""
    least: float | None = None
    commands: frozenset[str] = frozenset()
    """The commands that have it; empty: each that has --on."""

    @property
    def key(self) -> str:
        """The name by which its value is given: `no_wait` of --no-wait."""
        return self.names[0].partition("/")[0].lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class BackendKind:
    """What an entry point of the group `minicluster.backends` leads to; importing it must cost little.

    `open` is called with the values of its options that a command has, by their keys, and with who is told
    how it goes. `run` runs a document in the foreground; None: that is not offered.
    """

    open: Callable[[Mapping[str, Any], Reporter], Backend]
    options: tuple[BackendOption, ...] = ()
    run: Callable[[DocumentText, ForegroundRun, Reporter], int] | None = None

    def options_of(self, command: str) -> tuple[BackendOption, ...]:
        """Return the options that it adds to a command."""
        return tuple(each for each in self.options if not each.commands or command in each.commands)
