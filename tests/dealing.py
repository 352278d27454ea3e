"""Which worker gets which file of tests: what takes longest first, and clusters for few workers.

The seconds of each test are kept from run to run beside the built programs; `python -m tests.dealing` shows
them by file.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import json
import os
import re
import sys
from collections import Counter
from typing import TYPE_CHECKING

from xdist.scheduler import LoadFileScheduling

from tests.devcluster import building

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest
    from xdist.workermanage import WorkerController

# By name: the process that deals out tests knows nothing else of them.
NODES_FILES = (
    r"pages/test_\w+|pods/(shipped/|proofs/)?test_\w+|devcluster/test_nodes|devcluster/test_traces"
    r"|cli/exec/test_\w+|operator/test_lead_watch"
)
TOGETHER = "tests/kubernetes/pods/shipped"
"""A folder whose files go to one worker: what they run on is made once for all of them."""
ON_TWO_CLUSTERS = "tests/kubernetes/pods/test_bursts.py"
"""One of several files that go to one worker: they have the same second cluster, one after the other."""
BESIDE_IT = re.compile(r"tests/kubernetes/pods/test_burst(_links|_tunnel|s)\.py")
ON_NODES = re.compile(rf".*/(tests/kubernetes/({NODES_FILES})\.py|{TOGETHER})")
ON_A_PLANE = re.compile(r".*/tests/kubernetes/.*\.py")
SLOW = ("tests/kubernetes/", "tests/operator/test_convergence.py", "tests/operator/test_elasticity.py")
"""Where tests are that take seconds each; on nodes it is more."""
MARGIN = 1.25
"""By how much work on nodes is taken for longer than it was: it is what is left last."""
Seconds = dict[str, float]


class Cluster(enum.IntEnum):
    """What a file's tests run on. A worker keeps it to its end, and idle it takes of a core too."""

    NONE = 0
    PLANE = 1
    NODES = 2


LIMITS = {Cluster.NODES: 1, Cluster.PLANE: 2}
"""How many workers may have one each: with a second cluster with nodes on two cores brokers join late."""
LAST_LIMITS = {**LIMITS, Cluster.NODES: 2}
"""The same once what is left on nodes takes as long as the rest: one worker with nodes would be the last."""


def file_of(nodeid: str) -> str:
    """Return the file that a test is in."""
    return nodeid.partition("::")[0]


def unit_of(nodeid: str) -> str:
    """Return what goes to one worker with a test: its file, or what stands for files that stay together."""
    if nodeid.startswith(f"{TOGETHER}/"):
        return TOGETHER
    file = file_of(nodeid)
    return ON_TWO_CLUSTERS if BESIDE_IT.fullmatch(file) else file


@functools.cache
def cluster_of(file: str) -> Cluster:
    """Return what a file's tests run on."""
    if ON_NODES.fullmatch(f"/{file}"):
        return Cluster.NODES
    return Cluster.PLANE if ON_A_PLANE.fullmatch(f"/{file}") else Cluster.NONE


def guess(nodeid: str) -> float:
    """Guess the seconds of a test that was never measured."""
    if cluster_of(file_of(nodeid)) is Cluster.NODES:
        return 15.0
    return 3.0 if nodeid.startswith(SLOW) else 0.1


class Dealer(LoadFileScheduling):
    """Give each worker whole files, the longest that it may have first."""

    def __init__(
        self,
        config: pytest.Config,
        log: object,
        seconds: Mapping[str, float],
        limits: Mapping[Cluster, int] = LIMITS,
        last_limits: Mapping[Cluster, int] = LAST_LIMITS,
    ) -> None:
        super().__init__(config, log)
        self._seconds = seconds
        self._limits = limits
        self._last_limits = last_limits
        self._lengths: dict[str, float] = {}

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        open_files = self._open_to(node)
        if not open_files:
            return
        had = self._had(node)
        chosen = max(open_files, key=lambda file: self._weight(file, had))
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        # A worker needs to know what follows the test that it runs, and no more than that.
        if node.shutting_down or self._pending_of(self.assigned_work[node]) > 1:
            return
        if self._open_to(node):
            self._assign_work_unit(node)
        else:
            node.shutdown()

    def _had(self, node: WorkerController) -> set[Cluster]:
        """Return what the files that a worker was given run on."""
        return {cluster_of(file) for file in self.assigned_work[node]}

    def _open_to(self, node: WorkerController) -> list[str]:
        """Return the files that a worker may have."""
        limits = self._last_limits if self._nodes_take_longest() else self._limits
        return self._within(limits, node) or self._within(self._last_limits, node)

    def _nodes_take_longest(self) -> bool:
        """Whether what is left on nodes, on all clusters that may be, takes longer than the rest.

        Or nearly: begun too late, the other workers are idle in the end; too early, they take of the rest.
        """
        clusters = self._last_limits[Cluster.NODES]
        on_nodes = sum(self._length(file) for file in self.workqueue if cluster_of(file) is Cluster.NODES)
        rest = sum(map(self._length, self.workqueue)) - on_nodes
        return on_nodes * max(len(self.nodes) - clusters, 1) * MARGIN >= rest * clusters

    def _length(self, file: str) -> float:
        """Return how many seconds a file takes: added up once, as each that is dealt out asks for all."""
        if file not in self._lengths:
            self._lengths[file] = sum(self._seconds.get(test, guess(test)) for test in self.workqueue[file])
        return self._lengths[file]

    def _within(self, limits: Mapping[Cluster, int], node: WorkerController) -> list[str]:
        served = Counter(kind for other in self.assigned_work for kind in self._had(other))
        closed = {kind for kind, most in limits.items() if served[kind] >= most} - self._had(node)
        return [file for file in self.workqueue if cluster_of(file) not in closed]

    def _weight(self, file: str, had: set[Cluster]) -> tuple[bool, bool, Cluster, float]:
        """Return what a file weighs: most where the worker has what it runs on, then what only few may have.

        A worker that had nodes starts no control plane beside them while there is something else to do.
        """
        kind = cluster_of(file)
        is_next = kind is Cluster.NONE or not had or (kind is Cluster.NODES and self._nodes_take_longest())
        return kind in had - {Cluster.NONE}, is_next, kind, self._length(file)


class Stopwatch:
    """Keeps how long each test took, for the next run."""

    def __init__(self, seconds: Seconds) -> None:
        self._seconds = seconds
        self._met: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the parts of a test: setup, call, teardown."""
        before = self._seconds.get(report.nodeid, 0.0) if report.nodeid in self._met else 0.0
        self._met.add(report.nodeid)
        self._seconds[report.nodeid] = round(before + report.duration, 3)

    def pytest_sessionfinish(self) -> None:
        """Write them."""
        write(self._seconds)


def store() -> Path:
    """Return the file with the seconds of each test."""
    return building.cache_folder(os.environ).parent / "test-seconds.json"


def read() -> Seconds:
    """Read the seconds of each test; none where nothing was measured yet."""
    try:
        return dict(json.loads(store().read_text()))
    except (OSError, ValueError):
        return {}


def write(seconds: Seconds) -> None:
    """Keep the seconds of each test, where that is possible; other runs may do the same meanwhile."""
    path = store()
    part = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(seconds, indent=0, sort_keys=True))
        part.replace(path)


def scheduler(config: pytest.Config, log: object) -> Dealer:
    """Return what deals out the tests of a run, and have their seconds kept."""
    seconds = read()
    config.pluginmanager.register(Stopwatch(seconds))
    return Dealer(config, log, seconds)


def show() -> None:
    """Print the seconds of each file, the longest first."""
    files: Counter[str] = Counter()
    for test, seconds in read().items():
        files[file_of(test)] += seconds
    for file, total in files.most_common():
        sys.stdout.write(f"{total:9.1f} {file}\n")


if __name__ == "__main__":
    show()
