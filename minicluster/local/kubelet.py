"""Starts pods as process groups, detects their ends, and ends them: the part of a kubelet that acts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.local import processes
from minicluster.local.errors import LocalError
from minicluster.local.output import PodLogs, Pump, Sink
from minicluster.local.records import EndedContainer, LocalContainer, LocalPod

if TYPE_CHECKING:
    from minicluster.local.state_directory import ClusterDirectory

OnEnd = Callable[[EndedContainer], None]


@dataclass(slots=True)
class _Group:
    """A container that runs: its process group, and the pump of its output."""

    pod: LocalPod
    container: LocalContainer
    process: subprocess.Popen[bytes]
    pump: Pump


@dataclass(frozen=True, slots=True)
class Streams:
    """A lead's own streams: descriptors for stdin (None: it is empty) and stdout, a sink for stderr."""

    input: int | None = None
    output: int | None = None
    errors: Sink | None = None


class Kubelet:
    """The pods of one cluster. It needs a running event loop, and handles SIGCHLD there."""

    def __init__(self, directory: ClusterDirectory, on_end: OnEnd, lead: Streams = Streams()) -> None:
        self._directory = directory
        self._on_end = on_end
        self._lead = lead
        self._groups: dict[int, _Group] = {}
        self._logs = PodLogs(directory)
        self._children: dict[int, tuple[subprocess.Popen[bytes], asyncio.Future[int]]] = {}
        self._changed = asyncio.Event()
        processes.become_subreaper()
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._collect)

    def start(self, pod: LocalPod) -> None:
        """Start every container of a pod, the sidecars first."""
        if pod.rank is not None:
            self._directory.run(pod.rank).mkdir(mode=0o700, parents=True, exist_ok=True)
        for container in reversed(pod.containers):
            self._spawn(pod, container)

    def is_running(self, pod: str) -> bool:
        """Whether the pod's main container runs; a sidecar that stays does not count."""
        return any(
            group.pod.name == pod and group.container is group.pod.main for group in self._groups.values()
        )

    def restart(self, ended: EndedContainer) -> None:
        """Start an ended container again; a broker's leftovers are removed first."""
        self._kill_left(ended)
        self._spawn(ended.pod, ended.container)

    async def stop(self, pods: Iterable[str], grace: float) -> None:
        """End these pods: SIGTERM to each container, and after `grace` seconds SIGKILL to what is left."""
        names = set(pods)
        for group in self._of(names):
            _run_hook(group.container, group.container.pre_stop)
            processes.send(group.process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._until_gone(names)
        for group in self._of(names):
            processes.send_group(group.process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await self._until_gone(names)

    async def child_ended(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a child that is no container, and return its exit code as a shell would."""
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._children[process.pid] = (process, future)
        self._collect()
        return await future

    def kill(self) -> None:
        """Kill every process of the cluster that is left, also those that left their process group."""
        for group in self._groups.values():
            processes.send_group(group.process.pid, signal.SIGKILL)
        own = os.getpid()
        processes.sweep(lambda: processes.marked(self._directory.path) | processes.descendants(own))
        self._collect()
        for group in self._groups.values():
            group.process.returncode = -signal.SIGKILL  # reaped above: Popen need not warn
            group.pump.close()
        self._groups.clear()

    def close(self) -> None:
        """Stop handling SIGCHLD and close the logs."""
        asyncio.get_running_loop().remove_signal_handler(signal.SIGCHLD)
        self._logs.close()

    def _of(self, names: set[str]) -> list[_Group]:
        return [group for group in self._groups.values() if group.pod.name in names]

    async def _until_gone(self, names: set[str]) -> None:
        while self._of(names):
            self._changed.clear()
            await self._changed.wait()

    def _spawn(self, pod: LocalPod, container: LocalContainer) -> None:
        """Start a container; its output and errors go into one pipe, unless it is the lead's."""
        reader, writer = os.pipe()
        streams = self._lead if pod.is_lead and container is pod.main else Streams()
        try:
            process = subprocess.Popen(
                container.command,
                env=dict(container.environment),
                cwd=container.directory,
                stdin=subprocess.DEVNULL if streams.input is None else streams.input,
                stdout=writer if streams.output is None else streams.output,
                stderr=writer,
                start_new_session=True,
                preexec_fn=processes.begins_container(os.getpid()),  # noqa: PLW1509 - system calls, no locks
            )
        except OSError as error:
            os.close(reader)
            raise LocalError(f"{container.command[0]}: cannot be started: {error.strerror}") from error
        finally:
            os.close(writer)
        pump = Pump(reader, self._logs.of(pod), streams.errors)
        self._groups[process.pid] = _Group(pod, container, process, pump)
        _run_hook(container, container.post_start)

    def _collect(self) -> None:
        for pid, status in processes.reap().items():
            group = self._groups.pop(pid, None)
            if group is not None:
                group.process.returncode = os.waitstatus_to_exitcode(status)
                self._ended(group, status)
            elif pid in self._children:
                process, future = self._children.pop(pid)
                process.returncode = os.waitstatus_to_exitcode(status)
                if not future.done():  # a waiting task may have been cancelled
                    future.set_result(_as_shell(process.returncode))
        self._changed.set()

    def _ended(self, group: _Group, status: int) -> None:
        group.pump.drain()
        processes.send_group(group.process.pid, signal.SIGKILL)
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        code = 128 + number if number else os.WEXITSTATUS(status)
        self._on_end(EndedContainer(group.pod, group.container, code, number))

    def _kill_left(self, ended: EndedContainer) -> None:
        """Kill what a killed container left behind: its broker, and the tasks that this broker had started.

        A task on a follower has the lead's run directory in its environment, but its own broker's FLUX_URI.
        """
        rank = ended.pod.rank
        if rank is None:
            return
        left = processes.with_variable(f"FLUX_URI=local://{self._directory.socket(rank)}")
        if rank:
            left |= processes.with_variable(f"MINICLUSTER_RUN={self._directory.run(rank)}")
        for pid in left - set(self._groups):
            processes.send(pid, signal.SIGKILL)


def _as_shell(code: int) -> int:
    return 128 - code if code < 0 else code


def _run_hook(container: LocalContainer, command: tuple[str, ...]) -> None:
    """Run a lifecycle hook beside the container; Kubernetes does not wait for its end either."""
    if command:
        subprocess.Popen(
            command,
            env=dict(container.environment),
            cwd=container.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
