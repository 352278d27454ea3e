"""The port between commands and back ends.

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
        ComponentVersion,
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
    """Shows the user the progress of an operation."""

    def notice(self, text: str) -> None:
        """Show a message that the user should read."""

    def bring_up(self, joined: int, size: int) -> None:
        """Show how many of the brokers have joined."""

    def started(self) -> None:
        """End the display of the bring-up: all brokers have joined."""

    def errors(self, data: bytes) -> None:
        """Show what the command wrote to its standard error."""

    def ended(self, times: Times, size: int) -> None:
        """Show that the run is over and cleaned up."""


class Backend(Protocol):
    """The clusters of one back end. Every method may raise BackendError; methods left out raise NotOffered.

    Methods that call an instance may also raise minicluster.instance.errors.
    """

    location: ClassVar[str]
    """Where its clusters are, in words: "this machine"."""

    @property
    def words(self) -> str:
        """The options that choose the same clusters in a command, after a space; empty: none is needed."""
        return ""

    def up(self, text: DocumentText, request: UpRequest) -> Sequence[BroughtUp]:
        """Bring a document's clusters up. Raises minicluster.document.DocumentError."""
        refuse(self, "up")

    def clusters(self) -> ClusterListing:
        """Return the clusters that there are, by name."""
        refuse(self, "list")

    def status(self, name: str, view: Callable[[Instance, int], T]) -> tuple[StatusReport, T | None]:
        """Return the status of a cluster, and what `view` returns of its instance and least size.

        None: its instance cannot be reached now.
        """
        refuse(self, "status")

    def watch(self, name: str, work: Callable[[Instance, Watched], T]) -> T:
        """Run `work`, which samples a cluster and its instance at intervals, and return its result."""
        refuse(self, "top")

    def scale(self, name: str, size: int) -> ScaleResult:
        """Change the number of brokers. Raises WrongRequest for a size that the cluster does not allow."""
        refuse(self, "scale")

    def suspend(self, name: str, *, suspended: bool) -> SuspendResult:
        """Suspend a cluster, so that it has no brokers, or resume it. Does nothing where it is so already."""
        refuse(self, "suspend" if suspended else "resume")

    def down(self, name: str, dump: str) -> DownResult:
        """End a cluster. Where `dump` names a file, its jobs are first saved there.

        ANY_FILE: they are saved to the file that the document names.
        """
        refuse(self, "down")

    def logs(self, name: str, write: Write, rank: int | None, *, follow: bool) -> None:
        """Write the lines of one broker's log, or of all logs; with `follow` until the cluster ends."""
        refuse(self, "logs")

    def attach(self, name: str, write: Write, work: Callable[[Instance, Following], int] | None) -> int:
        """Follow a job with `work`, and return the exit code that it returns.

        Without `work`, write the output of the main command and return its exit code. The instance may end
        before it has reported how its main job ended: then the exit code is the cluster's.
        """
        refuse(self, "attach without a JOB")

    def shell(self, name: str, command: Sequence[str]) -> int:
        """Run a command (none: a shell) in which `flux` calls the cluster's broker; return its exit code."""
        refuse(self, "shell")

    def ask(self, name: str, work: Callable[[Instance], T]) -> T:
        """Run `work` with a cluster's instance, and return its result."""
        refuse(self, "jobs")

    def job_environment(self, name: str, *, whole: bool = False) -> Mapping[str, str] | None:
        """Return the environment of submitted jobs.

        None: it is that of the lead broker, which is returned only where jobs need the `whole` of it.
        """
        return None

    def trial(self, texts: Sequence[DocumentText], known: Sequence[Problem]) -> Sequence[Problem]:
        """Return what this back end would refuse in documents, besides the problems that are known."""
        return ()

    def site(self) -> Site:
        """Return the site for which plans are made here."""
        refuse(self, "render")


def refuse(backend: Backend, what: str) -> NoReturn:
    """Raise NotOffered for what a back end cannot do."""
    raise NotOffered(f"{what}: is not offered for clusters of {backend.location}")


ANY_FILE = "-"
"""Save to the file that the document names."""


@dataclass(frozen=True, slots=True)
class BackendOption:
    """An option that a back end adds to commands."""

    names: tuple[str, ...]
    """As users write them: ("--namespace", "-n") or ("--wait/--no-wait",)."""
    help: str
    type: Any = str
    """Of its value, as typer knows it: `str`, `bool`, `float | None`, `Literal["a", "b"]`."""
    default: Any = ""
    metavar: str = ""
    parse: Callable[[str], Any] | None = None
    """Returns the value of a text, in place of `type`; raises ValueError with what would be right."""
    commands: frozenset[str] = frozenset()
    """The commands that have it; empty: each that has --on."""
    values: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
    """Returns values that it may have, each with a description, which may be empty.

    They are offered to a shell that completes, for every parameter with this metavar. Called with the
    parameters that the command line has so far; may raise anything.
    """
    chooses: Callable[[], bool] | None = None
    """Set: who gives this option need not give --on. Returns whether the environment chooses the same."""

    @property
    def key(self) -> str:
        """The name by which its value is given: `no_wait` of --no-wait."""
        return self.names[0].partition("/")[0].lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class BackendKind:
    """What an entry point of the group `minicluster.backends` leads to; importing it must cost little."""

    open: Callable[[Mapping[str, Any], Reporter], Backend]
    """Called with the values of the command's options, by their keys, and with the reporter."""
    options: tuple[BackendOption, ...] = ()
    run: Callable[[DocumentText, ForegroundRun, Reporter], int] | None = None
    """Runs a document in the foreground and returns the exit code; None: that is not offered."""
    versions: Callable[[Mapping[str, Any], Reporter], Sequence[ComponentVersion]] | None = None
    """Called as `open`; returns what there is besides this program. What is not known is no error."""

    def options_of(self, command: str) -> tuple[BackendOption, ...]:
        """Return the options that it adds to a command."""
        return tuple(each for each in self.options if not each.commands or command in each.commands)
