"""The port over a running instance of either engine, for the rest of this project.

Every method may raise `InstanceGone` and `RequestRefused`, of which `NotAllowed` is one; its docstring has
what else it raises. Calls may come from several threads. A `Stream` keeps one request open until it ends or
is closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from minicluster.instance.records import (
    Broker,
    BurstSummary,
    Event,
    Job,
    JobChange,
    JobFilter,
    JobRequest,
    JobState,
    OutputChunk,
    QueueResources,
    QueueStats,
    QueueStatus,
    Resources,
    Resubmission,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from minicluster.instance.errors import InstanceError
    from minicluster.instance.links.shared import SharedLinks

T_co = TypeVar("T_co", covariant=True)

EVERY_JOB = JobFilter()


class Stream(Protocol[T_co]):
    """Items as they come. `close` ends it early, from any thread; leaving a `with` block closes too."""

    def __iter__(self) -> Iterator[T_co]: ...

    def __next__(self) -> T_co:
        """Wait for the next item. Raises StopIteration where the stream is at its end, or was closed."""

    def close(self) -> None:
        """End the request; does nothing where it has ended already."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Jobs(Protocol):
    """The jobs of an instance: to submit, list, follow and control them."""

    def submit(self, request: JobRequest) -> int:
        """Submit a job and return its id. Raises SubmitRefused."""

    def unsatisfiable(self, request: JobRequest) -> str:
        """Return why the instance could never run a job; empty: it could, or that is not known."""

    def jobspec(self, jobid: int) -> Mapping[str, Any]:
        """Return a job's jobspec (RFC 25) as submitted, with its environment. Raises JobNotFound."""

    def resubmit(self, jobspec: Mapping[str, Any], *, urgency: int = 16, waitable: bool = False) -> int:
        """Submit a jobspec as it is, under a new id, which is returned. Raises SubmitRefused."""

    def find(self, which: JobFilter = EVERY_JOB, limit: int = 1000) -> list[Job]:
        """List jobs: pending by priority, then running and inactive ones, latest first; `limit` 0: all."""

    def get(self, jobid: int) -> Job:
        """Return one job, its user attributes included. Raises JobNotFound."""

    def wait(self, jobid: int, timeout: float | None = None) -> Job:
        """Wait until the job is inactive and return it. Raises JobNotFound, WaitTimeout (seconds)."""

    def cancel(self, jobid: int, reason: str = "") -> None:
        """Cancel a job: a fatal exception of type "cancel". Raises JobNotFound, JobInactive."""

    def cancel_all(self, states: JobState = JobState.ACTIVE, reason: str = "") -> int:
        """Cancel the jobs that are in one of these states; return how many."""

    def raise_exception(self, jobid: int, kind: str, severity: int = 0, note: str = "") -> None:
        """Raise an exception on a job; severity 0 ends it. Raises JobNotFound, JobInactive."""

    def kill(self, jobid: int, signum: int) -> None:
        """Send a signal to every task of a running job. Raises JobNotFound, JobInactive."""

    def set_urgency(self, jobid: int, urgency: int) -> int:
        """Set a pending job's urgency (0 holds it, 31 is first); return the old one.

        Raises JobNotFound, JobInactive.
        """

    def resize(self, jobid: int, workers: int, *, wait: bool = True) -> int:
        """Order a running malleable job to have a number of workers; return how many it had.

        Returns when the order is done; without `wait` when it is given. Raises JobNotFound, JobInactive,
        NotResized.
        """

    def events(self, jobid: int | None = None, *, follow: bool = False) -> Stream[Event]:
        """The eventlog of one job, or of all jobs in the order of time.

        With `follow`, one job's stream goes on until the job is inactive, that of all until it is closed.
        Raises JobNotFound.
        """

    def output(self, jobid: int, *, follow: bool = False, after: int = -1) -> Stream[OutputChunk]:
        """A job's output behind entry `after`: what is there, or with `follow` all of it up to its end.

        Raises JobNotFound.
        """


class BulkSubmits(Protocol):
    """To submit many jobs side by side, which is faster than one after the other.

    Each has its id, or why it has none: SubmitRefused, or InstanceGone where that is not known. Ids need not
    be in the order of the jobs.
    """

    def submit(self, requests: Sequence[JobRequest]) -> list[int | InstanceError]:
        """Submit jobs; return each one's id or error."""

    def resubmit(self, jobs: Sequence[Resubmission]) -> list[int | InstanceError]:
        """Submit jobspecs as they are; return each one's id or error."""


class JobOverview(Protocol):
    """What services that show or mirror all jobs ask of an instance."""

    def changes(self, since: float = 0.0) -> Stream[JobChange]:
        """What jobs there are, in no order, then a change without a job, then each change of a job.

        With `since`, jobs are left out that ended before that time. So who comes again reads only what is
        new, with the time of the last event that he knows. The stream ends where its reader is too slow for
        the instance.
        """

    def attributes(self, jobids: Iterable[int]) -> Mapping[int, Mapping[str, Any]]:
        """Return `attributes.user` of many jobs by their ids; those that are not known are left out."""

    def why(self, jobid: int, bursts: Callable[[], Sequence[BurstSummary]] = tuple) -> str:
        """Return in a sentence why a job waits; empty where it does not. Raises JobNotFound.

        It depends on others or on a time, its urgency is 0, its queue is stopped, or nodes, cores or GPUs are
        short, which may be drained; else it is what the scheduler says. A disabled queue lets it start. Where
        it waits for a burst, `bursts` is called for the open ones.
        """


class JobQueues(Protocol):
    """The queues of an instance, and the numbers of their jobs."""

    def all(self) -> list[QueueStatus]:
        """The named queues, or the one without a name."""

    def stats(self) -> QueueStats:
        """How many jobs are in which state, without listing them."""

    def stop(self, name: str = "", reason: str = "") -> None:
        """Start no more jobs; without a name in every queue. What runs goes on, submitting works."""

    def start(self, name: str = "") -> None:
        """Start jobs again; without a name in every queue."""

    def update(self, jobid: int, *, queue: str = "", duration: float | None = None) -> None:
        """Move a pending job to another queue, or set a job's time limit, in seconds (0: none).

        The job keeps its id. Raises JobNotFound, JobInactive.
        """

    def wait_idle(self, timeout: float | None = None) -> int:
        """Wait until no job holds resources; return how many are pending. Raises WaitTimeout (seconds)."""


class Nodes(Protocol):
    """The nodes of an instance: its brokers and their resources."""

    def brokers(self) -> list[Broker]:
        """Every configured broker, by rank."""

    def resources(self) -> Resources:
        """The resources: all, allocated and free."""

    def by_queue(self) -> QueueResources:
        """The resources that jobs may get, by their queues: those of bursts have others than all others."""

    def drain(self, targets: str, reason: str = "") -> None:
        """Give no new work to these brokers, an idset of ranks or a hostlist; running jobs go on."""

    def undrain(self, targets: str) -> None:
        """Give work to drained brokers again."""


class Lifecycle(Protocol):
    """The life of an instance as a whole."""

    def attributes(self) -> Mapping[str, str]:
        """The broker attributes, like version, size, rundir, starttime."""

    def dump(self, path: str) -> None:
        """Save the instance's data to a new file beside the lead.

        Stop the queues and wait for idle before.
        """

    def shutdown(self, dump: str = "") -> None:
        """End the instance and hang up; with `dump` its data is in that file when this returns.

        Jobs that run are cancelled: stop the queues and wait for idle before. The processes end soon after.
        """


class Instance(Protocol):
    """A running Flux instance, and our connection to it."""

    @property
    def engine(self) -> str:
        """Either "flux" or "embedded"."""

    @property
    def uri(self) -> str:
        """The address of the broker, like local:///run/flux/local."""

    @property
    def jobs(self) -> Jobs:
        """Its jobs."""

    @property
    def bulk(self) -> BulkSubmits:
        """Submits of many jobs."""

    @property
    def overview(self) -> JobOverview:
        """What is known of all its jobs."""

    @property
    def queues(self) -> JobQueues:
        """Its queues."""

    @property
    def nodes(self) -> Nodes:
        """Its nodes."""

    @property
    def life(self) -> Lifecycle:
        """Its attributes, dump and shutdown."""

    @property
    def links(self) -> SharedLinks:
        """The links to the broker, for requests that the port does not have."""

    def as_user(self, uid: int) -> Instance:
        """Return a view of the instance as the user with this uid sees it.

        Each request of the view is made as him, over the connection of the instance's owner, and the instance
        itself decides: his jobs are listed alone, and what he may not do raises NotAllowed. He cannot submit
        here: that needs his signature. The view ends with this connection. Keep it: the instance is asked
        once whether it takes requests of users.

        Raises NotAllowed, with the reason: it runs all jobs as one user, lacks `access.allow-guest-user` or
        `access.private-mode`, what is beside its broker is too old, or nothing may be asked for this uid.
        """

    def close(self) -> None:
        """Hang up; the instance goes on. Streams end."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
