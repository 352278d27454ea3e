"""`minicluster run`: runs a document's command, returns its exit code, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.backends.records import Times
from minicluster.document import quorum
from minicluster.local import preparation, prompt, state_directory, state_file
from minicluster.local.brokers import Brokers
from minicluster.local.cluster import LocalCluster
from minicluster.local.errors import BringUpFailed, Interrupted, LeadLost, TimeOver
from minicluster.local.interrupts import Interrupts
from minicluster.local.kubelet import Streams
from minicluster.local.lead_run import EXIT_CODE, MAIN_STARTED, POLL_INTERVAL, LeadExit
from minicluster.local.output import CommandErrors
from minicluster.local.records import ClusterState, LocalPhase
from minicluster.local.site import Engine, engine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from minicluster.backends.port import Reporter
    from minicluster.local.documents import DocumentFile
    from minicluster.local.preparation import Prepared
    from minicluster.local.state_directory import ClusterDirectory

GRACE_PERIOD = 5.0
"""Seconds between SIGTERM and SIGKILL at the end; Flux itself gives a cancelled job 5 s."""
FOLLOWERS_TIMEOUT = 5.0
"""Seconds for followers to end by themselves once the lead has ended the instance."""
PROGRESS_TIMEOUT = 10.0
"""Seconds of bring-up after which the brokers that are missing are named."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request of `minicluster run`."""

    source: DocumentFile
    engine: str = "auto"
    timeout: float | None = None
    """Seconds; None: no limit."""
    working_directory: Path = Path()
    shell: tuple[str, ...] = ()
    """The program for an interactive cluster."""


def run(request: RunRequest, reporter: Reporter) -> int:
    """Run a document's command and return its exit code. Raises LocalError, minicluster.plan.PlanError."""
    with Interrupts() as interrupts:
        chosen = engine(request.engine)
        with contextlib.ExitStack() as stack:
            with interrupts.deferred():  # between a step and its undoing it would leave files
                directory = state_directory.create(request.source.cluster.metadata.name, unique=True)
                stack.callback(state_directory.remove, directory)
                stack.callback(interrupts.begin_cleanup)
                prepared = _prepare(request, directory, chosen, reporter)
                stack.callback(state_file.unlink, directory, prepared.links)
                stack.enter_context(prepared.ports)
            exit_code, times = asyncio.run(_Run(request, prepared, reporter, interrupts).whole())
        reporter.ended(times, prepared.cluster.spec.size)
        return exit_code


def _prepare(
    request: RunRequest, directory: ClusterDirectory, chosen: Engine, reporter: Reporter
) -> Prepared:
    spec = request.source.cluster.spec
    if "image" in spec.containers[0].model_fields_set:
        reporter.notice(f"commands run on this machine, not in the image {spec.containers[0].image}")
    prepared = preparation.prepare(
        request.source, directory, chosen, request.working_directory, reporter.notice
    )
    pid, start = state_file.own_identity()
    state_file.write(
        directory,
        ClusterState(
            name=prepared.cluster.metadata.name,
            pid=pid,
            start_time=start,
            engine=chosen.name,
            size=spec.size,
            min_size=spec.min_size or 1,
            max_size=spec.max_size or spec.size,
            phase=LocalPhase.RUNNING,
            document=request.source.source,
            created=time.time(),
            links=prepared.links,
        ),
    )
    return prepared


class _Run:
    """One run, from the first process to the last."""

    def __init__(
        self, request: RunRequest, prepared: Prepared, reporter: Reporter, interrupts: Interrupts
    ) -> None:
        self._request = request
        self._size = prepared.cluster.spec.size
        self._joined = -1
        self._deadline = prepared.cluster.spec.deadline_seconds
        self._reporter = reporter
        self._interrupts = interrupts
        over = prepared.blueprint.directory.run(0) / EXIT_CODE
        self._errors = CommandErrors(reporter.errors, over.exists)
        self._prepared = prepared
        self._started = self._ready = time.monotonic()

    async def whole(self) -> tuple[int, Times]:
        """Bring up, wait for the command, tear down."""
        self._interrupts.watch()
        given = None if self._request.shell else _standard_input()
        streams = Streams(output=1, errors=self._errors, input=given)
        cluster = LocalCluster(self._prepared, self._reporter.notice, streams, replace_lead=False)
        try:
            async with self._limited():
                exit_code = await self._bring_up_and_wait(cluster)
        except asyncio.CancelledError:
            raise Interrupted(self._interrupts.signum) from None
        finally:
            self._interrupts.begin_cleanup()
            ended = time.monotonic() - cluster.lead.since_command()
            await self._tear_down(cluster)
        return exit_code, Times(self._ready - self._started, ended - self._ready, time.monotonic() - ended)

    @contextlib.asynccontextmanager
    async def _limited(self) -> AsyncIterator[None]:
        limits = {"--timeout": self._request.timeout, "spec.deadlineSeconds": self._deadline}
        seconds, name = min(((limit, name) for name, limit in limits.items() if limit), default=(None, ""))
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise TimeOver(f"{name} {seconds:g}: the time is over; the run was ended") from error

    async def _bring_up_and_wait(self, cluster: LocalCluster) -> int:
        cluster.start(range(self._size))
        progress = asyncio.ensure_future(self._progress(cluster))
        try:
            if self._request.shell:
                await self._all_online(cluster)
            else:
                await cluster.lead.main_started()
        finally:
            progress.cancel()
        self._report_all_joined(cluster)
        self._ready = time.monotonic()
        self._reporter.started()
        if self._request.shell and not cluster.lead.ended:
            return await self._shell(cluster)
        return self._exit_code(cluster, await cluster.lead.outcome())

    def _report_all_joined(self, cluster: LocalCluster) -> None:
        """Report that all have joined where the command began before that was seen."""
        begun = self._request.shell or (cluster.directory.run(0) / MAIN_STARTED).exists()
        if begun and self._joined != self._size == quorum(self._prepared.cluster.spec):
            self._reporter.bring_up(self._size, self._size)

    async def _progress(self, cluster: LocalCluster) -> None:
        deadline = time.monotonic() + PROGRESS_TIMEOUT
        while True:
            joined = cluster.joined(self._size)
            if joined != self._joined:
                self._reporter.bring_up(joined, self._size)
                self._joined = joined
            if joined < self._size and time.monotonic() > deadline:
                deadline += PROGRESS_TIMEOUT
                self._name_missing(cluster)
            await asyncio.sleep(POLL_INTERVAL)

    def _name_missing(self, cluster: LocalCluster) -> None:
        for rank in range(self._size):
            if not cluster.directory.socket(rank).exists():
                words = cluster.log_tail(rank) or ["it has said nothing"]
                self._reporter.notice(f"still waiting for the broker of rank {rank}: {words[-1]}")

    async def _all_online(self, cluster: LocalCluster) -> None:
        brokers = Brokers(cluster.directory.uri, self._prepared.engine.name)
        online = asyncio.ensure_future(brokers.online(range(self._size)))
        lost = asyncio.ensure_future(cluster.lead.outcome())
        try:
            await asyncio.wait({online, lost}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            online.cancel()
            lost.cancel()
            brokers.close()

    async def _shell(self, cluster: LocalCluster) -> int:
        """Run a program on this terminal that finds the cluster by FLUX_URI; return its exit code."""
        has_terminal = sys.stdin.isatty()
        if has_terminal:
            self._interrupts.leave_to_child()
        environment = {**cluster.environment(), "FLUX_URI": cluster.directory.uri}
        environment |= prompt.variables(self._prepared.cluster.metadata.name)
        process = subprocess.Popen(
            self._request.shell, env=environment, cwd=self._request.working_directory, start_new_session=False
        )
        exit_code = await cluster.child_ended(process)
        if has_terminal and _is_hung_up(sys.stdin.fileno()):
            raise Interrupted(signal.SIGHUP)  # a reader of the terminal sees its end before the signal comes
        return exit_code

    def _exit_code(self, cluster: LocalCluster, outcome: LeadExit) -> int:
        self._errors.flush()
        if outcome.exit_code is not None:
            return outcome.exit_code
        words = "".join(f"\n  {line}" for line in cluster.log_tail(0))
        if not (cluster.directory.run(0) / MAIN_STARTED).exists() and not self._request.shell:
            raise BringUpFailed(f"the cluster did not come up: {outcome.reason}{words}")
        raise LeadLost(f"the cluster was lost: {outcome.reason}{words}")

    async def _tear_down(self, cluster: LocalCluster) -> None:
        try:
            if not self._interrupts.forced.is_set():
                await self._end_unless_forced(cluster)
        finally:
            self._errors.flush()
            cluster.kill()

    async def _end_unless_forced(self, cluster: LocalCluster) -> None:
        graceful = asyncio.ensure_future(self._end_gracefully(cluster))
        forced = asyncio.ensure_future(self._interrupts.forced.wait())
        await asyncio.wait({graceful, forced}, return_when=asyncio.FIRST_COMPLETED)
        for task in (graceful, forced):
            task.cancel()
        await asyncio.gather(graceful, forced, return_exceptions=True)

    async def _end_gracefully(self, cluster: LocalCluster) -> None:
        if cluster.lead.instance_ended:
            await cluster.followers_gone(FOLLOWERS_TIMEOUT)
        await cluster.stop(GRACE_PERIOD)


def _standard_input() -> int | None:
    """Return the descriptor of standard input; None for a terminal, and where it is closed or cannot be read.

    The tasks are in other sessions than the terminal's, so its keys for signals would not reach them.
    """
    if sys.__stdin__ is None:
        return None
    is_readable = fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
    return 0 if is_readable and not os.isatty(0) else None


def _is_hung_up(terminal: int) -> bool:
    poll = select.poll()
    poll.register(terminal, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))
