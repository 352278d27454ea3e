"""Machines that a rehearsed cloud sells really start: each is a node of a test cluster, while it is there."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, Self

from tests.devcluster import rack, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from types import TracebackType

    from burst.rehearsal.cloud import CloudGroup, CloudMachine, RehearsedCloud
    from tests.devcluster import ControlPlane
    from tests.devcluster.nodes import Node

FIRST_NUMBER = 41
"""Of the nodes: those that the cluster has from the start, or is given, have smaller ones."""


class NodeMarks(NamedTuple):
    """What the nodes of a group join with."""

    labels: tuple[str, ...]
    """KEY=VALUE."""
    taints: tuple[str, ...]
    """KEY=VALUE:EFFECT."""


class BootedNodes:
    """Starts a node for each machine of a cloud, and takes it away; at the end none is left.

    The cloud's clock is that of this machine.
    """

    def __init__(
        self, plane: ControlPlane, cloud: RehearsedCloud, marks: Callable[[CloudGroup], NodeMarks]
    ) -> None:
        """`marks` reads what the nodes of a group join with from what was asked for, in the cloud's words."""
        self._plane = plane
        self._cloud = cloud
        self._marks = marks
        self._numbers = itertools.count(FIRST_NUMBER)
        self._starting: dict[str, Future[Node]] = {}
        self._pool = ThreadPoolExecutor(4)
        self._furnishing = threading.Lock()
        self._timers: list[threading.Timer] = []

    def __enter__(self) -> Self:
        self._cloud.started, self._cloud.ended = self._started, self._ended
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for timer in self._timers:
            timer.cancel()
        for started in self._starting.values():
            self._pool.submit(self._take, started)
        self._pool.shutdown()

    def names(self) -> set[str]:
        """Return the nodes that were started so far, those that are gone as well."""
        return {each.result().name for each in self._starting.values()}

    def there(self) -> set[str]:
        """Return those of them that the cluster has."""
        path = "/api/v1/nodes"
        return {each["metadata"]["name"] for each in self._plane.api.items(path)} & self.names()

    def _started(self, machine: CloudMachine) -> None:
        [group] = [each for each in self._cloud.groups if each.name == machine.group][-1:]
        number = next(self._numbers)
        self._starting[machine.name] = self._pool.submit(self._boot, number, self._marks(group))

    def _ended(self, machine: CloudMachine) -> None:
        """Take a machine's node away when its end has come, which may be decided more than once."""
        assert machine.ended is not None
        left = max(machine.ended - self._cloud.now(), 0.0)
        timer = threading.Timer(left, self._pool.submit, [self._take, self._starting[machine.name]])
        self._timers.append(timer)
        timer.start()

    def _boot(self, number: int, marks: NodeMarks) -> Node:
        plane = self._plane
        assert plane.rack is not None
        found = rack.node(plane.installation, plane.rack, number)
        node = dataclasses.replace(found, settings=dataclasses.replace(found.settings, **marks._asdict()))
        with self._furnishing:
            rack.furnish(plane.installation, plane.rack, node.settings)
        node.start()
        return node

    def _take(self, started: Future[Node]) -> None:
        """End a node, as soon as it has started; once more does nothing."""
        node = started.result()
        if not node.settings.folder.exists():
            return
        node.kill()
        path = f"/api/v1/nodes/{node.name}"
        until(lambda: self._plane.api.exists(path), f"{node.name} to be known")
        self._plane.api.delete(path)
        shutil.rmtree(node.settings.folder)
