"""Files of tests are dealt out to workers: the longest first, those on a cluster to few workers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests import dealing
from tests.dealing import Cluster, Dealer, Stopwatch, file_of

if TYPE_CHECKING:
    from collections.abc import Mapping

PODS = [f"tests/kubernetes/pods/test_{name}.py" for name in "abcde"]
PLANE = [f"tests/kubernetes/operator/test_{name}.py" for name in "mnop"]
REST = [f"tests/plan/test_{name}.py" for name in "vwxyz"]
SECONDS = {PODS[2]: 60.0, PODS[0]: 50.0, REST[4]: 9.0, REST[1]: 8.0, PLANE[3]: 4.0}


@dataclass(eq=False)
class Worker:
    """A worker that notes what it is to run."""

    ran: list[int] = field(default_factory=list)
    shutting_down: bool = False
    gateway: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(id="gw"))

    def send_runtest_some(self, indexes: list[int]) -> None:
        self.ran += indexes

    def shutdown(self) -> None:
        self.shutting_down = True


class Table:
    """So many workers, and two tests in each file."""

    def __init__(
        self,
        workers: int,
        files: list[str],
        nodes: int = 2,
        planes: int = 2,
        last_nodes: int = 0,
        seconds: Mapping[str, float] = SECONDS,
    ) -> None:
        self.tests = [f"{file}::test_{number}" for file in files for number in range(2)]
        seconds = {test: seconds.get(file_of(test), 0.5) / 2 for test in self.tests}
        option = SimpleNamespace(loadscopereorder=True, tx=[f"{workers}*popen"])
        config = SimpleNamespace(option=option, getvalue=lambda name: option.tx)
        limits = {Cluster.NODES: nodes, Cluster.PLANE: planes}
        last_limits = {**limits, Cluster.NODES: last_nodes or nodes}
        self.dealer = Dealer(config, None, seconds, limits, last_limits)
        self.workers = [Worker() for _ in range(workers)]
        for worker in self.workers:
            self.add(worker)
        self.dealer.schedule()

    def add(self, worker: Worker) -> None:
        self.dealer.add_node(worker)
        self.dealer.add_node_collection(worker, self.tests)

    def files(self, worker: Worker) -> list[str]:
        """Return which files a worker was given, in their order."""
        return list(dict.fromkeys(file_of(self.tests[index]) for index in worker.ran))

    def play(self) -> None:
        """Have each worker end a test in its turn, until all is done."""
        done = dict.fromkeys(self.workers, 0)
        while self.dealer.has_pending:
            for worker in self.workers:
                if done[worker] < len(worker.ran):
                    done[worker] += 1
                    self.dealer.mark_test_complete(worker, worker.ran[done[worker] - 1])


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_each_test_is_run_once(workers: int) -> None:
    table = Table(workers, REST + PLANE + PODS)
    table.play()
    ran = sorted(index for worker in table.workers for index in worker.ran)
    assert ran == list(range(len(table.tests)))
    assert table.dealer.tests_finished


@pytest.mark.parametrize(("workers", "on_nodes", "on_planes"), [(2, 1, 1), (2, 2, 2), (3, 2, 1), (4, 1, 2)])
def test_files_on_a_cluster_go_to_so_many_workers(workers: int, on_nodes: int, on_planes: int) -> None:
    table = Table(workers, REST + PLANE + PODS, on_nodes, on_planes)
    table.play()
    for files, limit in ((PODS, on_nodes), (PLANE, on_planes)):
        assert sum(not set(files).isdisjoint(table.files(worker)) for worker in table.workers) == limit


def test_the_longest_come_first_and_those_on_nodes_before_all() -> None:
    table = Table(4, REST + PLANE + PODS, nodes=2, planes=1)
    table.play()
    first, second, third, fourth = map(table.files, table.workers)
    assert (first[0], second[0], third[0], fourth[:2]) == (PODS[2], PODS[0], PLANE[3], [REST[4], REST[1]])
    assert set(first[:2] + second[:2]) <= set(PODS)
    assert third[:4] == [PLANE[3], *PLANE[:3]]


def test_a_worker_with_nodes_starts_no_further_cluster_while_there_is_something_else() -> None:
    table = Table(1, REST + PLANE + PODS)
    table.play()
    (files,) = map(table.files, table.workers)
    assert (set(files[:5]), set(files[5:10]), set(files[10:])) == (set(PODS), set(REST), set(PLANE))


@pytest.mark.parametrize(("rest", "begins"), [(2.0, PODS), (40.0, REST)], ids=["short", "long"])
def test_a_second_cluster_with_nodes_begins_once_they_take_longest(rest: float, begins: list[str]) -> None:
    """With a short rest at once, with a long one later."""
    seconds = dict.fromkeys(PODS, 10.0) | dict.fromkeys(REST, rest)
    table = Table(3, REST[:2] + PODS, nodes=1, planes=1, last_nodes=2, seconds=seconds)
    table.play()
    _, second, _ = map(table.files, table.workers)
    assert second[0] in begins
    assert not set(second).isdisjoint(PODS)


def test_files_with_a_second_cluster_go_to_one_worker_one_after_the_other() -> None:
    folder = "tests/kubernetes/pods"
    files = [f"{folder}/test_burst{name}.py" for name in ("_links", "_tunnel", "s")]
    assert {dealing.unit_of(f"{file}::test_a") for file in files} == {dealing.ON_TWO_CLUSTERS}
    assert dealing.unit_of(f"{folder}/test_burst_tokens.py::test_a") == f"{folder}/test_burst_tokens.py"
    assert dealing.cluster_of(dealing.ON_TWO_CLUSTERS) is Cluster.NODES
    table = Table(2, [*PODS, *files])
    table.play()
    (worker,) = [each for each in table.workers if files[0] in table.files(each)]
    ran = table.files(worker)
    assert ran[ran.index(files[0]) :][:4] == files


def test_files_that_stay_together_go_to_one_worker() -> None:
    """One after the other, though each is shorter than the others there are."""
    files = [f"{dealing.TOGETHER}/test_{name}.py" for name in "abc"]
    table = Table(2, PODS + files, last_nodes=2)
    table.play()
    first, second = map(table.files, table.workers)
    (shared,) = [found for found in (first, second) if not set(found).isdisjoint(files)]
    begin = shared.index(files[0])
    assert shared[begin : begin + 3] == files


def test_the_seconds_of_each_test_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a file is compared with others: there are fourteen thousand tests."""
    guessed: Counter[str] = Counter()

    def guess(nodeid: str) -> float:
        guessed[nodeid] += 1
        return 1.0

    monkeypatch.setattr(dealing, "guess", guess)
    table = Table(3, REST + PLANE + PODS)
    table.play()
    assert guessed == Counter(table.tests)


def test_a_worker_that_may_have_no_more_is_ended() -> None:
    table = Table(3, PODS)
    table.play()
    assert table.workers[2].shutting_down
    assert table.workers[2].ran == []


def test_what_a_lost_worker_had_goes_to_those_that_are_left() -> None:
    """One of them, or a new one, has a cluster with nodes in its place."""
    table = Table(2, PODS)
    lost = table.workers.pop(0)
    assert table.dealer.remove_node(lost) == f"{PODS[2]}::test_0"
    fresh = Worker()
    table.add(fresh)
    table.workers.append(fresh)
    table.dealer.schedule()
    table.play()
    assert {file for worker in table.workers for file in table.files(worker)} == set(PODS)


def test_the_seconds_of_a_test_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Of all its parts, in the place of those of the run before; of others as they were."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert dealing.read() == {}
    dealing.write({"old": 1.0, "again": 9.0})
    watch = Stopwatch(dealing.read())
    for part in (0.25, 1.5, 0.25):
        watch.pytest_runtest_logreport(SimpleNamespace(nodeid="again", duration=part))
    watch.pytest_sessionfinish()
    assert dealing.read() == {"old": 1.0, "again": 2.0}
