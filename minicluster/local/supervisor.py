"""The process behind a persistent cluster: it plays the kubelet, and takes orders over a socket.

`launch.up` starts it as `python -m minicluster.local.supervisor DIRECTORY`, with its task as JSON on standard
input. Until the cluster is up it reports on standard output, in lines of JSON (see control.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_config import start_script
from minicluster.backends.errors import BackendError
from minicluster.backends.records import PlacementRequest
from minicluster.document import loading
from minicluster.local import control_server, documents, preparation, state_directory, state_file
from minicluster.local.bring_up import bring_up
from minicluster.local.brokers import Brokers
from minicluster.local.cluster import LocalCluster
from minicluster.local.errors import TimeOver, UsageProblem
from minicluster.local.kubelet import Streams
from minicluster.local.records import ClusterState, LocalPhase
from minicluster.local.saving import save, unsaved
from minicluster.local.scaling import grow, shrink
from minicluster.local.site import engine
from minicluster.local.slot_watch import SlotWatch
from minicluster.local.state_directory import ClusterDirectory
from minicluster.plan import Site, broker_settings

if TYPE_CHECKING:
    import io
    from collections.abc import AsyncIterator, Awaitable, Callable

    from minicluster.document import MiniCluster
    from minicluster.local.control import Message
    from minicluster.local.preparation import Prepared
    from minicluster.local.scaling import Notice

GRACE_PERIOD = 5.0
"""Seconds between SIGTERM and SIGKILL at the end."""


class Supervisor:
    """One cluster's life from its first broker to its last."""

    def __init__(self, prepared: Prepared, state: ClusterState, report: Callable[[Message], None]) -> None:
        self._prepared = prepared
        self._state = state
        self._report = report
        self._directory = prepared.blueprint.directory
        self._cluster = LocalCluster(prepared, self._log, Streams(), replace_lead=True)
        self._brokers = Brokers(self._directory.uri, state.engine)
        self._busy = asyncio.Lock()
        self._begun: set[asyncio.Task[Message]] = set()
        self._over = asyncio.Event()

    async def live(self) -> None:
        """Bring the cluster up, serve orders until its end is ordered, and end it."""
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(signum, self._over.set)
        try:
            async with control_server.serving(self._directory.control, self._answer_order), self._limited():
                starts = bool(self._prepared.blueprint.restore) or _starts_queues(self._prepared.cluster)
                size = self._state.size
                up = bring_up(self._cluster, self._brokers, size, self._report, starts_queues=starts)
                await self._until_over(up)
                if not self._over.is_set():
                    self._set(phase=LocalPhase.RUNNING)
                    self._report({"done": {"size": self._state.size}})
                    watching = self._watched_slots()
                    await self._until_over(self._cluster.lead.outcome())
                    if watching is not None:
                        watching.cancel()
        finally:
            self._set(phase=LocalPhase.ENDING)
            self._brokers.close()
            await self._cluster.stop(GRACE_PERIOD)
            self._cluster.kill()

    def _watched_slots(self) -> asyncio.Task[None] | None:
        """Begin to look after the slots of managed bursts, if there are any."""
        if self._prepared.cluster.spec.bursting is None:
            return None
        brokers = Brokers(self._directory.uri, self._state.engine)
        return asyncio.create_task(SlotWatch(brokers).run())

    @contextlib.asynccontextmanager
    async def _limited(self) -> AsyncIterator[None]:
        """End the cluster after spec.deadlineSeconds, as Kubernetes ends a Job with all its pods."""
        spec = self._prepared.cluster.spec
        seconds = spec.deadline_seconds
        if seconds and "deadline_seconds" in spec.model_fields_set:
            self._report({"notice": f"spec.deadlineSeconds: the cluster ends by itself in {seconds} s"})
        try:
            async with asyncio.timeout(seconds or None):
                yield
        except TimeoutError as error:
            raise TimeOver(
                f"spec.deadlineSeconds {seconds}: the time is over; the cluster was ended"
            ) from error

    async def _until_over(self, work: Awaitable[Any]) -> None:
        """Do the work, and cancel it when the end is ordered."""
        task = asyncio.ensure_future(work)
        over = asyncio.ensure_future(self._over.wait())
        await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if task.done():
            task.result()
            return
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def _answer_order(self, order: Message, notice: Notice) -> Message:
        """Carry an order out, one at a time, and return the answer."""
        if order.get("order") == "scale" and not order.pop("wait", True):
            return self._begin_scaling(order)
        orders = {"scale": self._scale, "down": self._down}
        act = orders.get(str(order.get("order")))
        if act is None:
            return {"error": f"unknown order {order.get('order')!r}"}
        if self._busy.locked() and self._state.phase is LocalPhase.SCALING and _forgets(order):
            return {"done": await self._down(order, notice)}
        if self._busy.locked():
            notice(f"waiting: the cluster is {self._state.phase.lower()}")
        async with self._busy:
            try:
                return {"done": await act(order, notice)}
            except Exception as error:  # noqa: BLE001 - every error is the answer to the order's sender
                self._log(f"order {order}: {type(error).__name__}: {error}")
                return {"error": str(error), "exit_code": getattr(error, "exit_code", 125)}
            finally:
                self._set(phase=LocalPhase.ENDING if self._over.is_set() else LocalPhase.RUNNING)

    async def _scale(self, order: Message, notice: Notice) -> Message:
        size, before = int(order["size"]), self._state.size
        self._check_size(size)
        self._set(phase=LocalPhase.SCALING)
        if size < before:
            timeout = self._prepared.cluster.spec.drain_timeout_seconds
            await shrink(self._brokers, self._cluster, range(size, before), timeout, notice)
        elif size > before:
            await grow(self._brokers, self._cluster, range(before, size), notice)
        self._set(size=size)
        return {"size": size, "before": before}

    def _begin_scaling(self, order: Message) -> Message:
        """Answer before scaling is done: the sender may be a job that scaling waits for."""
        try:
            self._check_size(int(order["size"]))
        except UsageProblem as error:
            return {"error": str(error), "exit_code": error.exit_code}
        task = asyncio.ensure_future(self._answer_order(order, self._log))
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return {"done": {"size": int(order["size"]), "before": self._state.size}}

    def _check_size(self, size: int) -> None:
        name, least = self._state.name, self._prepared.cluster.spec.min_size or 1
        if size > self._state.max_size:
            raise UsageProblem(
                f"scale {size}: cluster {name} knows {self._state.max_size} hosts;"
                " set spec.maxSize in its document and start it again to go beyond"
            )
        if size < least:
            raise UsageProblem(f"scale {size}: cluster {name} allows at least {least}")

    async def _down(self, order: Message, notice: Notice) -> Message:
        canceled = ""
        if order.get("dump"):
            self._set(phase=LocalPhase.SAVING)
            timeout = self._prepared.cluster.spec.drain_timeout_seconds
            await save(self._brokers, Path(order["dump"]), timeout, notice)
        else:
            canceled = await unsaved(self._brokers)
        self._over.set()
        return {"dump": order.get("dump", ""), "canceled": canceled}

    def _set(self, **fields: Any) -> None:
        self._state = dataclasses.replace(self._state, **fields)
        with contextlib.suppress(OSError):  # a full disk must not end the cluster
            state_file.write(self._directory, self._state)

    def _log(self, text: str) -> None:
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _starts_queues(cluster: MiniCluster) -> bool:
    """Whether the start script starts the queues of a new lead."""
    return start_script.starts_queues(broker_settings(cluster, Site()))


def _forgets(order: Message) -> bool:
    """Whether an order ends the cluster without a dump: then there is nothing that a drain would save."""
    return order.get("order") == "down" and not order.get("dump")


def main(directory: ClusterDirectory, task: Message, report: Callable[[Message], None]) -> int:
    """Live a cluster's life; return the exit code of the process."""
    links: tuple[tuple[str, str], ...] = ()
    try:
        prepared, state = _prepared(directory, task, lambda text: report({"notice": text}))
        links = prepared.links
        with prepared.ports:
            asyncio.run(_live(prepared, state, report))
    except Exception as error:
        report({"error": str(error), "exit_code": getattr(error, "exit_code", 1)})
        if not isinstance(error, (BackendError, ValueError)):
            raise
        return 1
    finally:
        state_file.unlink(directory, links)
        state_directory.remove(directory)
    return 0


async def _live(prepared: Prepared, state: ClusterState, report: Callable[[Message], None]) -> None:
    await Supervisor(prepared, state, report).live()


def _prepared(directory: ClusterDirectory, task: Message, notice: Notice) -> tuple[Prepared, ClusterState]:
    source = documents.parse(task["text"], task["place"], task["name"])
    if not documents.is_interactive(source):
        notice(
            "the document's command is not run: this cluster stays up for jobs sent with minicluster submit"
        )
    source = dataclasses.replace(source, cluster=documents.kept_up(source.cluster))
    source = documents.with_request(
        source, size=task["size"], policy=task["policy"], cores=PlacementRequest(*task["cores"])
    )
    prepared = preparation.prepare(
        source,
        directory,
        engine(task["engine"]),
        Path(task["working_directory"]),
        notice,
        restore=task["restore"],
        decisions=task["decisions"],
    )
    directory.document.write_text(json.dumps(loading.dump(prepared.cluster)))
    pid, start = state_file.own_identity()
    spec = prepared.cluster.spec
    state = ClusterState(
        name=prepared.cluster.metadata.name,
        pid=pid,
        start_time=start,
        engine=prepared.engine.name,
        size=spec.size,
        min_size=spec.min_size or 1,
        max_size=max(spec.max_size, spec.size),
        phase=LocalPhase.STARTING,
        document=task["place"],
        created=time.time(),
        links=prepared.links,
    )
    state_file.write(directory, state)
    return prepared, state


def _reporter(stream: io.TextIOBase) -> Callable[[Message], None]:
    """Return a function that writes reports; after the last one, or without a reader, it does nothing."""

    def report(message: Message) -> None:
        if stream.closed:
            return
        with contextlib.suppress(OSError, ValueError):
            stream.write(json.dumps(message) + "\n")
            stream.flush()
        if "done" in message or "error" in message:
            with contextlib.suppress(OSError):
                stream.close()

    return report


if __name__ == "__main__":
    _task = json.loads(sys.stdin.read())
    _reports = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # all output from here on belongs into the log
    sys.exit(main(ClusterDirectory(Path(sys.argv[1])), _task, _reporter(_reports)))
