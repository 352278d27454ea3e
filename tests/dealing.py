"""Which worker gets which file of tests: what takes longest first, and files on nodes to one worker.

The seconds of each test are kept from run to run beside the built programs; `python -m tests.dealing` shows
them by file.
"""

from __future__ import annotations

import contextlib
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
    r"pages/test_\w+|pods/test_\w+|devcluster/test_nodes|devcluster/test_traces"
    r"|cli/exec/test_\w+|operator/test_lead_watch"
)
ON_NODES = re.compile(rf".*/tests/kubernetes/({NODES_FILES})\.py")
CLUSTERS = 1
"""How many workers may have a cluster with nodes each: with a second one on two cores brokers join late."""
SLOW = ("tests/kubernetes/", "tests/operator/test_convergence.py", "tests/operator/test_elasticity.py")
"""Where tests are that take seconds each; on nodes it is more."""
Seconds = dict[str, float]


def file_of(nodeid: str) -> str:
    """Return the file that a test is in."""
    return nodeid.partition("::")[0]


@functools.cache
def has_nodes(file: str) -> bool:
    """Return whether a file has tests on nodes."""
    return ON_NODES.fullmatch(f"/{file}") is not None


def guess(nodeid: str) -> float:
    """Guess the seconds of a test that was never measured."""
    if has_nodes(file_of(nodeid)):
        return 15.0
    return 3.0 if nodeid.startswith(SLOW) else 0.1


class Dealer(LoadFileScheduling):
    """Give each worker whole files, the longest that it may have first."""

    def __init__(
        self, config: pytest.Config, log: object, seconds: Mapping[str, float], clusters: int = CLUSTERS
    ) -> None:
        super().__init__(config, log)
        self._seconds = seconds
        self._clusters = clusters

    def _assign_work_unit(self, node: WorkerController) -> None:
        open_files = self._open_to(node)
        if not open_files:
            return
        chosen = max(open_files, key=self._weight)
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        if node.shutting_down:
            return
        if not self._open_to(node):
            node.shutdown()
        # A worker needs to know what follows the test that it runs, and no more than that.
        elif self._pending_of(self.assigned_work[node]) <= 1:
            self._assign_work_unit(node)

    def _open_to(self, node: WorkerController) -> list[str]:
        """Return the files that a worker may have."""
        served = [other for other, files in self.assigned_work.items() if any(map(has_nodes, files))]
        if node in served or len(served) < self._clusters:
            return list(self.workqueue)
        return [file for file in self.workqueue if not has_nodes(file)]

    def _weight(self, file: str) -> tuple[bool, float]:
        """Return what a file weighs: any on nodes more than any other, as only some may have them."""
        tests = self.workqueue[file]
        return has_nodes(file), sum(self._seconds.get(test, guess(test)) for test in tests)


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
