"""The example applications, resized while they run: their answers are right."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.malleable import Shrink, Team, events

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tests.malleable.played import Played

EXAMPLES = Path(__file__).parents[2] / "examples"
TIMEOUT = 240.0


def program(name: str) -> Path:
    return EXAMPLES / name / f"{name}.py"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, program(name))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


queens = load("queens")


@pytest.fixture(scope="module")
def jacobi() -> ModuleType:
    """The module of the Jacobi example, which needs numpy."""
    pytest.importorskip("numpy", reason="needs numpy: pip install 'minicluster[examples]'")
    return load("jacobi")


@pytest.fixture
def instance(play: Callable[..., Played], request: pytest.FixtureRequest) -> Played:
    """A job of one task in this process, whose other tasks are processes that run the named example."""
    box: list[Played] = []

    def start(task: int, order: int) -> None:
        box[0].launch(task, order, [sys.executable, str(program(request.param))], {})

    box.append(play(least=1, most=6, start=start))
    return box[0]


class Runs:
    """A first task in a thread of this process."""

    def __init__(self, instance: Played, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in instance.environment().items():
            monkeypatch.setenv(name, value)
        self.instance = instance
        self.team = Team.open()
        self.result: Any = None
        self._failure: BaseException | None = None

    def start(self, lead: Any) -> None:
        def run() -> None:
            try:
                self.result = lead.run()
                getattr(lead, "end", lambda: None)()
            except BaseException as error:  # noqa: BLE001 - told by the thread of the test
                self._failure = error

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        self.instance.expect(events.ProgramRegistered)

    def resize(self, *orders: int) -> None:
        """Grow by so many tasks, or shrink, one after the other; each must be carried out."""
        for order in orders:
            count = sum(isinstance(event, events.JobResized) for event in self.instance.events) + 1
            if order > 0:
                self.instance.grow(*["h"] * order)
            else:
                self.instance.shrink(-order)
            self.instance.expect(events.JobResized, count)

    def end(self) -> None:
        self._thread.join(TIMEOUT)
        self.team.close()
        assert not self._thread.is_alive()
        assert self._failure is None
        for task, process in self.instance.tasks.processes.items():
            assert process.wait(TIMEOUT) == 0, f"task {task}"


@pytest.mark.parametrize("instance", ["jacobi"], indirect=True)
def test_a_plate_is_right_after_its_rows_have_moved(
    instance: Played, jacobi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 → 2 → 5 → 3 → 4 → 1 tasks: equal to a run on one, to the last bit."""
    run = Runs(instance, monkeypatch)
    size = 40
    block = jacobi.Block(run.team, size, [0], jacobi.plate(size)[1:-1])
    lead = jacobi.Lead(block, 10**9, 5, lambda tasks: 0.001)
    run.start(lead)
    run.resize(1, 3, -2, 1, -3)
    lead.iterations = lead.done + 50
    run.end()
    assert lead.sizes == [1, 2, 5, 3, 4, 1]
    assert (run.result == jacobi.on_one_task(size, lead.iterations)).all()
    assert instance.session.workers == {0: "h0"}
    assert sum(isinstance(event, events.ProgressReported) for event in instance.events) > 0


@pytest.mark.parametrize("instance", ["jacobi"], indirect=True)
def test_a_plate_refuses_what_does_not_pay(
    instance: Played, jacobi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More tasks than rows; or growth when little is left."""
    run = Runs(instance, monkeypatch)
    lead = jacobi.Lead(jacobi.Block(run.team, 5, [0], jacobi.plate(5)[1:-1]), 10**9, 5, lambda tasks: 0.001)
    run.start(lead)
    instance.grow("h", "h", "h")
    assert instance.expect(events.ResizeRefused).reason == "there are 3 rows, too few for 4 tasks"
    run.resize(1)
    run.resize(-1)
    lead.iterations = lead.done + 50
    run.end()
    lead.done = lead.iterations - 1
    with pytest.raises(jacobi.Refusal, match="little work left"):
        lead.before_grow(None)


@pytest.mark.parametrize("instance", ["queens"], indirect=True)
def test_queens_are_counted_once_wherever_their_bags_go(
    instance: Played, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """1 → 2 → 5 → 2 → 4 tasks."""
    run = Runs(instance, monkeypatch)
    bag, hold = queens.Bag(8), tmp_path / "hold"
    hold.touch()
    lead = queens.Lead(run.team, bag, 0.001, hold)
    run.start(lead)
    run.resize(1, 3, -3, 2)
    hold.unlink()
    run.end()
    assert lead.sizes == [1, 2, 5, 2, 4]
    assert (bag.solutions, bag.seen) == (92, 2057)
    assert bag.done + sum(lead.fractions.values()) == pytest.approx(1)


def test_a_task_that_leaves_is_given_no_boards() -> None:
    """They were asked for on its behalf just before: they would be lost with it."""
    first, giver, leaver = teams = [Team(number, "key") for number in range(3)]
    for team in teams:
        team.admit({other.number: other.address for other in teams})
    lead = queens.Lead(first, queens.Bag(8), workers={1, 2}, asked={1: 2}, sizes=[3])
    shrinking = threading.Thread(target=lead.before_shrink, args=(Shrink(order=1, count=1, size=2),))
    shrinking.start()
    message = leaver.receive(TIMEOUT)
    assert message is not None
    assert message.kind == "leave"
    giver.send(0, "boards", boards=[(1, 2, 3, 0.5)], done=0.25)
    while lead.asked:
        time.sleep(0.01)
    leaver.send(0, "left", boards=[(4, 5, 6, 0.25)], solutions=7, seen=8, done=0.0)
    shrinking.join(TIMEOUT)
    assert (lead.workers, lead.leaving, lead.sizes) == ({1}, set(), [3, 2])
    assert (lead.bag.boards, lead.bag.solutions) == ([(1, 2, 3, 0.5), (4, 5, 6, 0.25)], 7)
    assert leaver.receive(0) is None
    for team in teams:
        team.close()


@pytest.mark.parametrize("count", range(1, 9))
def test_one_task_counts_as_many_ways_as_are_known(count: int) -> None:
    bag = queens.Bag(count, [(0, 0, 0, 1.0)])
    bag.work(10**6)
    assert bag.solutions == queens.KNOWN[count]
    assert bag.done == pytest.approx(1)


@given(st.integers(0, 40))
def test_a_split_loses_nothing_and_leaves_something(size: int) -> None:
    bag = queens.Bag(8, [(number, 0, 0, 0.0) for number in range(size)])
    given = bag.split()
    assert sorted(given + bag.boards) == [(number, 0, 0, 0.0) for number in range(size)]
    assert bool(bag.boards) == bool(size)


OWNERS = st.lists(st.integers(0, 50), min_size=1, max_size=8, unique=True)


@given(rows=st.integers(8, 60), old=OWNERS, new=OWNERS)
def test_moves_bring_each_row_to_its_new_owner_once(
    jacobi: ModuleType, rows: int, old: list[int], new: list[int]
) -> None:
    had, gets = jacobi.row_ranges(rows, old), jacobi.row_ranges(rows, new)
    where = {row: task for task, (first, last) in had.items() for row in range(first, last)}
    assert sorted(where) == list(range(rows))
    arrived = []
    for move in jacobi.moves(had, gets):
        for row in range(move.first, move.last):
            assert where[row] == move.source
            assert gets[move.target][0] <= row < gets[move.target][1]
            arrived.append(row)
    assert arrived == list(range(rows))


@pytest.mark.parametrize(("tasks", "seconds"), [(1, 0.01), (2, 0.01), (3, 0.008), (4, 0.006), (9, 0.006)])
def test_a_pace_is_linear_between_what_is_given(jacobi: ModuleType, tasks: int, seconds: float) -> None:
    assert jacobi.pace_of("2:0.01,4:0.006")(tasks) == pytest.approx(seconds)


def test_a_plate_with_too_few_rows_is_refused(
    jacobi: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("MINICLUSTER_MALLEABLE", "PMI_FD", "FLUX_TASK_RANK"):
        monkeypatch.delenv(variable, raising=False)
    assert jacobi.main(["--size", "2"]) == 2
    assert capsys.readouterr().err == "--size 2: too few rows for 1 tasks\n"


@pytest.mark.parametrize("name", ["jacobi", "queens"])
def test_a_worker_that_comes_too_late_reports_it(
    play: Callable[..., Played],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name == "jacobi":
        pytest.importorskip("numpy")
    for variable, value in play().environment(1, 1).items():
        monkeypatch.setenv(variable, value)
    assert load(name).main([]) == 1
    assert capsys.readouterr().err == f"{name}: this order is over\n"


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("jacobi", ["--size", "20", "--iterations", "30", "--check"], "checked: equal to the last bit"),
        ("queens", ["7"], "7 queens: 40 ways"),
    ],
)
def test_without_an_instance_it_is_a_run_on_one_task(
    name: str,
    arguments: list[str],
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name == "jacobi":
        pytest.importorskip("numpy")
    for variable in ("MINICLUSTER_MALLEABLE", "PMI_FD", "FLUX_TASK_RANK"):
        monkeypatch.delenv(variable, raising=False)
    assert load(name).main(arguments) == 0
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize("when", ["early", "late"])
def test_a_plate_does_not_wait_for_rows_of_a_task_that_is_gone(jacobi: ModuleType, when: str) -> None:
    """Whether it was told of before it waits for something, or then."""
    team = Team(0, "key")
    block = jacobi.Block(team, 10, [0, 1], jacobi.plate(10)[1:5])
    if when == "early":
        block.early.append(jacobi.Frame(1, jacobi.GONE))
    else:
        team._inbox.put(jacobi.Frame(1, jacobi.GONE))
    with team, pytest.raises(jacobi.TeamError, match="task 1 is gone, and its rows with it"):
        block.take("rows")
