"""The back end of this machine: it carries out the port's requests with supervisors and their instances."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from minicluster.backends.errors import NotOffered
from minicluster.backends.port import ANY_FILE, Backend, BackendKind, BackendOption, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minicluster.backends.documents import DocumentText
    from minicluster.backends.port import Reporter, Write
    from minicluster.backends.records import (
        BroughtUp,
        ClusterListing,
        ClusterSample,
        ClusterSummary,
        DownResult,
        Following,
        ForegroundRun,
        ScaleResult,
        StatusReport,
        SuspendResult,
        UpRequest,
        Watched,
    )
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Broker, Resources
    from minicluster.local.records import ClusterState
    from minicluster.plan import Site

T = TypeVar("T")
POLICY_ATTRIBUTE = "minicluster.queue-policy"
"""A broker attribute: the name of this project's queue policy, where one of them decides."""
COLUMNS = ("name", "phase", "size", "max_size", "engine", "age", "document")
FIELDS = (
    *("name", "pid", "engine", "size", "max_size", "phase", "document", "min_size", "age", "queue_policy"),
    *("cpu_quotas", "expert_weights", "brokers_online", "nodes_demanded", "cores", "cores_free"),
    "burst_nodes_up",
    *(
        "jobs_pending",
        "jobs_running",
        "burst_jobs_pending",
        "burst_jobs_running",
        "jobs_ended",
        "oldest_wait",
    ),
)


@dataclass(frozen=True, slots=True)
class LocalBackend(Backend):
    """The user's clusters on this machine."""

    given: Mapping[str, Any]
    reporter: Reporter
    location: ClassVar[str] = "this machine"

    def up(self, text: DocumentText, request: UpRequest) -> Sequence[BroughtUp]:
        """Start a supervisor, and wait until its cluster is up."""
        from minicluster.backends import records
        from minicluster.local import launch

        name = launch.up(
            text,
            self.reporter,
            name=request.name,
            size=request.size,
            policy=request.policy,
            cores=request.cores,
            engine=self.given["engine"],
            restore=self.given["restore"],
            decisions=self.given["decisions"],
            oversubscribe=self.given["oversubscribe"],
        )
        then = f": minicluster submit {name} -- COMMAND, minicluster down {name}"
        return (records.BroughtUp(name, "up", then),)

    def clusters(self) -> ClusterListing:
        """Return the clusters, runs in the foreground included."""
        from minicluster.backends import records
        from minicluster.local import state_file

        found = tuple(_summary(state) for _, state in state_file.live_clusters())
        return records.ClusterListing(found, COLUMNS)

    def status(self, name: str, view: Callable[[Instance, int], T]) -> tuple[StatusReport, T | None]:
        """Return the status of a cluster, and what `view` makes of its instance."""
        from minicluster.local import burst_file, connection, state_file

        directory, state = state_file.need(name)
        bursts = burst_file.read(directory)
        with connection.of(name) as instance:
            report = dataclasses.replace(_report(state, instance), bursts=bursts)
            return report, view(instance, state.min_size)

    def watch(self, name: str, work: Callable[[Instance, Watched], T]) -> T:
        """Do work that polls a cluster."""
        from minicluster.backends import records

        return self.ask(name, lambda instance: work(instance, records.Watched(lambda: _sample(name))))

    def scale(self, name: str, size: int) -> ScaleResult:
        """Change the number of brokers, and wait until that is done."""
        from minicluster.backends import records
        from minicluster.local import orders

        done = orders.give(name, {"order": "scale", "size": size}, self.reporter.notice)
        return records.ScaleResult(done["before"], done["size"])

    def suspend(self, name: str, *, suspended: bool) -> SuspendResult:
        """Raise NotOffered, which names the commands that have this effect here."""
        what = "suspend" if suspended else "resume"
        raise NotOffered(
            f"{what}: is not offered for clusters of {self.location}: `minicluster down {name} --dump FILE`"
            " saves one with all its jobs, and `minicluster up DOCUMENT --restore FILE` lets them go on"
        )

    def down(self, name: str, dump: str) -> DownResult:
        """End a cluster, and wait until nothing is left of it."""
        from minicluster.backends import records
        from minicluster.local import orders

        if dump == ANY_FILE:
            raise NotOffered(f"--dump without a file: is not offered for clusters of {self.location}")
        canceled = orders.down(name, str(Path(dump).resolve()) if dump else "", self.reporter.notice)
        return records.DownResult(note=f"{canceled}; --dump FILE would have kept them" if canceled else "")

    def logs(self, name: str, write: Write, rank: int | None, *, follow: bool) -> None:
        """Write the logs of brokers, services and the supervisor."""
        from minicluster.local import logs, state_file

        directory, state = state_file.need(name)
        for line in logs.lines(directory, state, rank, follow=follow):
            write(line)

    def attach(self, name: str, write: Write, work: Callable[[Instance, Following], int] | None) -> int:  # noqa: ARG002
        """Follow a job; there is no main command."""
        from minicluster.backends import records

        if work is None:
            refuse(self, "attach without a JOB")
        return self.ask(name, lambda instance: work(instance, records.Following()))

    def shell(self, name: str, command: Sequence[str]) -> int:
        """Run a command, or a shell, in the cluster's environment."""
        from minicluster.local import connection, prompt

        environment = connection.environment(name)
        if not command:
            environment |= prompt.variables(name)
            self.reporter.notice(f"a shell in cluster {name}: flux speaks to it here; `exit` leaves it up")
        words = tuple(command or prompt.shell_of_user())
        try:
            done = subprocess.run(words, env=environment, check=False)
        except OSError as error:
            print(f"minicluster: {words[0]}: cannot be started: {error.strerror}", file=sys.stderr)
            return 127 if isinstance(error, FileNotFoundError) else 126
        return done.returncode if done.returncode >= 0 else 128 - done.returncode

    def ask(self, name: str, work: Callable[[Instance], T]) -> T:
        """Do the work with a cluster's instance."""
        from minicluster.local import connection

        with connection.of(name) as instance:
            return work(instance)

    def job_environment(self, name: str, *, whole: bool = False) -> Mapping[str, str]:  # noqa: ARG002
        """Return this process's environment, as jobs of the cluster have it."""
        from minicluster.local import connection

        return connection.environment(name)

    def site(self) -> Site:
        """Return the defaults: documents are rendered without requests to any cluster."""
        from minicluster import plan

        return plan.Site()


class _DocumentsBackend(Backend):
    """This machine where it has no Linux: documents are validated and rendered, all else is refused."""

    location: ClassVar[str] = "this machine, which need Linux; --on kubernetes does not"

    def site(self) -> Site:
        """Return the defaults."""
        from minicluster import plan

        return plan.Site()


def _opened(given: Mapping[str, Any], reporter: Reporter) -> Backend:
    return LocalBackend(given, reporter) if sys.platform == "linux" else _DocumentsBackend()


def run(text: DocumentText, request: ForegroundRun, reporter: Reporter) -> int:
    """Run a document's command, and return its exit code."""
    if sys.platform != "linux":
        refuse(_DocumentsBackend(), "run")
    from minicluster.local import documents, prompt, site
    from minicluster.local import run as foreground

    source = documents.parse(text.text, text.source, request.name)
    source = documents.with_request(source, size=request.size, tasks=request.tasks, command=request.command)
    site.check_brokers(source.cluster.spec.size, oversubscribe=request.oversubscribe)
    return foreground.run(
        foreground.RunRequest(
            source=source,
            engine=request.engine,
            timeout=request.timeout,
            working_directory=Path.cwd(),
            shell=prompt.shell_of_user() if documents.is_interactive(source) else (),
        ),
        reporter,
    )


def _summary(state: ClusterState) -> ClusterSummary:
    from minicluster.backends import records

    more = dataclasses.asdict(state)
    for key in ("links", "start_time", "reason", "name", "phase", "size", "max_size", "created"):
        del more[key]
    return records.ClusterSummary(
        state.name, state.phase.value, state.size, state.max_size, state.created, more
    )


def _sample(name: str) -> ClusterSample:
    from minicluster.backends import records
    from minicluster.local import burst_file, state_file

    directory, state = state_file.need(name)
    row = {"name": state.name, "phase": state.phase.value, "size": state.size, "max_size": state.max_size}
    return records.ClusterSample(row, state.min_size, bursts=burst_file.read(directory))


def _queue_policy(instance: Instance) -> str | None:
    """Return which policy decides; None if no scheduler is loaded."""
    from minicluster.broker_link import loaded_policy

    policy = instance.life.attributes().get(POLICY_ATTRIBUTE)
    return f"minicluster/{policy}" if policy else loaded_policy.of_flux(instance.links.rpc) or None


def _report(state: ClusterState, instance: Instance) -> StatusReport:
    from minicluster.backends import records

    stats, whole = instance.queues.stats(), instance.nodes.resources()
    resources = whole if whole.all.nodes <= state.max_size else _own_resources(state, instance)
    drained = set(whole.drained.ranks)
    brokers = [dataclasses.asdict(each) for each in _as_expected(instance.nodes.brokers(), state.size)]
    rows = tuple({**each, "drained": each["rank"] in drained} for each in brokers)
    values = {
        "queue_policy": _queue_policy(instance),
        "brokers_online": resources.all.nodes - resources.offline.nodes,
        "cores": resources.all.cores - resources.offline.cores,
        "cores_free": resources.free.cores,
        "jobs_pending": stats.pending,
        "jobs_running": stats.running,
        "jobs_ended": stats.inactive,
    }
    table = records.StatusTable("brokers", rows, ("rank", "state", "drained", "host"))
    return records.StatusReport(_summary(state), FIELDS, values, tables=(table,))


def _own_resources(state: ClusterState, instance: Instance) -> Resources:
    """Return the resources of the cluster's own hosts; those of bursts come after them."""
    from minicluster.instance import resource_sets

    sched, status = (instance.links.rpc(f"resource.{which}", {}) for which in ("sched-status", "status"))
    return resource_sets.resources(sched, status, range(state.max_size))


def _as_expected(brokers: Sequence[Broker], size: int) -> Sequence[Broker]:
    """Return brokers with the lead as full where the first `size` of them are there.

    The overlay calls it partial as long as any host is offline, those above the size among them.
    """
    lead, *followers = brokers
    if lead.state == "partial" and all(each.state == "full" for each in followers[: size - 1]):
        return [dataclasses.replace(lead, state="full"), *followers]
    return brokers


_UP = frozenset({"up"})
KIND = BackendKind(
    _opened,
    (
        BackendOption(
            ("--engine",),
            "What runs the brokers; auto: real Flux where it is on PATH.",
            Literal["auto", "flux", "embedded"],
            "auto",
            commands=_UP,
        ),
        BackendOption(
            ("--restore",),
            "Begin with the jobs that `down --dump` saved. They run as you: give a dump that you trust.",
            metavar="DUMP",
            commands=_UP,
        ),
        BackendOption(
            ("--decisions",),
            "Append each decision of the queue policy to this file (embedded engine).",
            metavar="FILE",
            commands=_UP,
        ),
        BackendOption(
            ("--oversubscribe",),
            "Start more brokers than this machine should have.",
            bool,
            default=False,
            commands=_UP,
        ),
    ),
    run,
)
