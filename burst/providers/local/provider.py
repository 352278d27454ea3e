"""The provider `local`: five calls over directories, each of which has a supervisor's process."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from burst.errors import CallInvalid, NameTaken, RetryLater
from burst.lifecycle.records import PREFIX, ResourceKey, ResourcePhase, ResourceReport
from burst.planning import money
from burst.planning.records import NodeShape, Offer
from burst.providers.local import followers, isolated
from burst.providers.local.records import LEFTOVER, BurstDirectory, BurstOwner, FollowerTask
from minicluster.instance.connection import connect
from minicluster.instance.errors import InstanceError
from minicluster.local import processes
from minicluster.local.site import cores_of_machine
from minicluster.local.state_directory import ClusterDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from burst.joining.records import JoinSettings
    from burst.providers.local.settings import LocalSettings
    from burst.providers.plugins import ProviderContext
    from burst.providers.provider import WantedBurst
    from minicluster.instance.port import Instance

KIND_OF_RESOURCE = "processes"
MACHINE = "processes"
READY_SECONDS = 5.0
"""How long it takes until brokers have joined."""
START_TIMEOUT = 30.0
"""Seconds after which a supervisor that has not begun never will."""
STOP_TIMEOUT = 15.0
"""Seconds that a supervisor has to end its brokers, before it is killed with them."""


class LocalProvider:
    """Makes processes on this machine, in directories below the service's own."""

    def __init__(self, name: str, settings: LocalSettings, context: ProviderContext) -> None:
        self._name = name
        self._settings = settings
        self._context = context
        self._root = context.state / "local-bursts"

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return self._name

    @property
    def location(self) -> str:
        """Where it makes them: this machine."""
        return socket.gethostname()

    def offers(self) -> Sequence[Offer]:
        """Return the one machine that it has."""
        settings = self._settings
        price, shape = money.amount(settings.price), NodeShape(settings.cores, settings.gpus)
        return (Offer(self._name, MACHINE, shape, price, settings.most, READY_SECONDS),)

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return what it would make: one directory with processes."""
        return (ResourceKey(KIND_OF_RESOURCE, f"{PREFIX}{wanted.label}", wanted.nodes),)

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:  # noqa: ARG002 - the name is enough
        """Make the directory and its supervisor, unless they are there."""
        try:
            with self._locked():
                directory = BurstDirectory(self._root / key.name)
                if not os.path.lexists(directory.path):
                    join = self._context.join(wanted)
                    _make(directory, wanted, _task(directory, wanted, join, self._name, self._settings))
                elif not _is_of(directory, wanted):
                    raise NameTaken(f"{directory.path} is there, and is not of burst {wanted.label}")
                if directory.status() is None and not directory.going.exists():
                    _start(directory)
        except OSError as error:
            raise RetryLater(f"{self._root}: cannot be written: {error.strerror or error}") from error

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return the status of a burst's processes."""
        directory = BurstDirectory(self._root / key.name)
        owner = directory.owner()
        if owner is None or not _is_of(directory, wanted):
            return ResourceReport(key, ResourcePhase.ABSENT)
        return _report(directory, owner)

    def delete(self, key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to end the processes; what a dead supervisor left is killed, and removed, by a later call."""
        directory = BurstDirectory(self._root / key.name)
        if not _is_of(directory, wanted):
            return
        with contextlib.suppress(OSError):  # a full disk must not keep it alive
            if not directory.going.exists():
                directory.going.touch(mode=0o600)
        status = directory.status()
        if status is not None and status.is_alive:
            processes.send(status.pid, signal.SIGTERM)
            if not _is_overdue(directory):
                return
            processes.send(status.pid, signal.SIGKILL)
        elif _living(directory) and not _is_overdue(directory):
            return  # they end with their supervisor, and what jobs have left with their fences
        with self._locked():
            if _is_of(directory, wanted) and _supervisor_ended(directory):
                _kill_left(directory)
                directory.remove()

    def broker_problem(self, wanted: WantedBurst) -> str:
        """Return what its brokers wrote last about why they have not joined."""
        directory = BurstDirectory(self._root / f"{PREFIX}{wanted.label}")
        return directory.broker_problem() if _is_of(directory, wanted) else ""

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the directory, and with the machine that is offered."""
        try:
            with self._locked(), tempfile.TemporaryFile(dir=self._root) as file:
                file.write(b"x" * 4096)
                file.flush()
        except OSError as error:
            yield f"{self._root}: cannot be written: {error.strerror or error}"
        if problem := followers.too_long(BurstDirectory(self._root / f"{PREFIX}{'x' * 10}"), 99_999):
            yield problem
        cores = cores_of_machine()
        if self._settings.cores > cores:
            yield f"cores: {self._settings.cores}: this machine has {cores}; a node cannot have more"

    def instance(self, wanted: WantedBurst) -> Instance:
        """Connect to the instance of an isolated burst. Raises RetryLater while none answers."""
        directory = BurstDirectory(self._root / f"{PREFIX}{wanted.label}")
        task = directory.task()
        if not _is_of(directory, wanted) or task is None or not task.document:
            raise RetryLater(f"{directory.path} has no instance")
        try:
            return connect(directory.brokers.uri, "flux" if task.engine == "flux" else "embedded")
        except InstanceError as error:
            raise RetryLater(str(error)) from error

    def isolation_problems(self) -> Sequence[str]:
        """Return nothing: all that it needs is on this machine."""
        return ()

    def tunnel_problems(self) -> Sequence[str]:
        """Return nothing: its brokers are where their lead is."""
        return ()

    def owned(self, installation: str) -> Iterator[ResourceReport]:
        """Yield every directory that an installation has made."""
        for path in sorted(self._root.glob(f"{PREFIX}*")):
            directory = BurstDirectory(path)
            owner = directory.owner()
            if owner is not None and owner.installation == installation:
                yield _report(directory, owner)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Let nobody else make or remove directories meanwhile. Raises OSError."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _make(directory: BurstDirectory, wanted: WantedBurst, task: FollowerTask) -> None:
    """Make the directory with its records: all of it, or nothing. Raises OSError."""
    root = directory.path.parent
    for left in root.glob(f"{LEFTOVER}*"):
        shutil.rmtree(left, ignore_errors=True)
    fresh = BurstDirectory(root / f"{LEFTOVER}{directory.path.name}")
    try:
        fresh.path.mkdir(mode=0o700)
        fresh.write(BurstOwner(wanted.label, wanted.installation, wanted.nodes, time.time()))
        fresh.write(task)
        for each in (fresh.brokers.logs, fresh.brokers.temporary):
            each.mkdir(mode=0o700)
        if task.document:
            isolated.furnish(fresh)
        fresh.path.rename(directory.path)
    except OSError:
        shutil.rmtree(fresh.path, ignore_errors=True)
        raise


def _task(
    directory: BurstDirectory, wanted: WantedBurst, join: JoinSettings, name: str, settings: LocalSettings
) -> FollowerTask:
    """Return what a burst's supervisor is to run. Raises CallInvalid, and RetryLater."""
    if join.directory is None:
        raise CallInvalid(f"{name}: only MiniClusters of this machine can have bursts on it")
    task = isolated.task(join, wanted, settings) if wanted.isolated else _following(wanted, join)
    if problem := followers.too_long(directory, max(task.hosts.values())):
        raise CallInvalid(problem)
    return task


def _following(wanted: WantedBurst, join: JoinSettings) -> FollowerTask:
    cluster = ClusterDirectory(join.directory or Path())
    try:
        hosts = followers.ranks(cluster, join.slot, wanted.nodes)
    except FileNotFoundError as error:
        raise RetryLater(f"MiniCluster {cluster.path} is not up") from error
    except ValueError as error:
        raise CallInvalid(f"burst {wanted.label}, slot {join.slot}: {error}") from error
    fence, leave = math.ceil(join.fence), math.ceil(join.leave_after)
    return FollowerTask(str(cluster.path), hosts, wanted.until, fence, leave)


def _is_of(directory: BurstDirectory, wanted: WantedBurst) -> bool:
    owner = directory.owner()
    return owner is not None and (owner.label, owner.installation) == (wanted.label, wanted.installation)


def _report(directory: BurstDirectory, owner: BurstOwner) -> ResourceReport:
    key = ResourceKey(KIND_OF_RESOURCE, directory.path.name, owner.nodes)
    phase, reason = _phase(directory, owner)
    task = directory.task()
    until = task.until if task is not None else 0.0
    return ResourceReport(key, phase, reason, owner.label, owner.installation, owner.created, until=until)


def _phase(directory: BurstDirectory, owner: BurstOwner) -> tuple[ResourcePhase, str]:
    status = directory.status()
    if directory.going.exists():
        return ResourcePhase.GOING, ""
    if status is None:
        if time.time() - owner.created < START_TIMEOUT:
            return ResourcePhase.COMING, ""
        return ResourcePhase.BROKEN, f"its supervisor was never started: {directory.broker_problem()}"
    if not status.is_alive:
        return (
            ResourcePhase.BROKEN,
            f"its supervisor (process {status.pid}) died: {directory.broker_problem()}",
        )
    if status.problem:
        return ResourcePhase.BROKEN, status.problem
    return (ResourcePhase.READY if status.ready else ResourcePhase.COMING), ""


def _start(directory: BurstDirectory) -> None:
    """Start a supervisor, which runs on alone; where it ends before this process, a thread reaps it."""
    with directory.supervisor_log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "burst.providers.local.supervisor", str(directory.path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True).start()


def _is_overdue(directory: BurstDirectory) -> bool:
    try:
        return time.time() - directory.going.stat().st_mtime > STOP_TIMEOUT
    except OSError as error:
        return error.errno != errno.ENOENT


def _supervisor_ended(directory: BurstDirectory) -> bool:
    """Return whether no supervisor has the directory's lock, also none that has not begun yet."""
    try:
        descriptor = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _kill_left(directory: BurstDirectory, deadline: float = 1.0) -> None:
    """Kill the brokers that a killed supervisor has left, without reaping children of this process."""
    end = time.monotonic() + deadline
    while (found := _living(directory)) and time.monotonic() < end:
        for pid in found:
            processes.send(pid, signal.SIGKILL)
        time.sleep(0.01)


def _living(directory: BurstDirectory) -> set[int]:
    """Return its brokers, and tasks of jobs, which have the environment of who submitted them."""
    task = directory.task()
    sockets = [directory.brokers.socket(rank) for rank in (task.hosts.values() if task else ())]
    found = processes.marked(directory.path)
    for each in sockets:
        found |= processes.with_variable(f"FLUX_URI=local://{each}")
    return {pid for pid in found if processes.start_time(pid)}
