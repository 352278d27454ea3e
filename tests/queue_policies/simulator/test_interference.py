"""`benchmarks/interference.py` without a quiet machine: its fit, predictions, choices, gates and errors.

What it measures on two real cores is in `make prove-placement`.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from queue_policies.placement.plugins import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
FELT = {"product": 0.0, "chase": 0.6, "stream": 0.3, "sleeper": 0.0}
"""How much longer each program takes beside a stream, in the machine that is played."""
CAUSED = {"product": 0.0, "chase": 0.2, "stream": 1.0, "sleeper": 0.0}
BASE = {"product": 8000.0, "chase": 5000.0, "stream": 200_000.0, "sleeper": 2000.0}
USED = {"product": 1.0, "chase": 1.0, "stream": 1.0, "sleeper": 0.2}


@pytest.fixture(scope="module")
def interference() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("interference")


@pytest.fixture(scope="module")
def model(interference: Any) -> Any:
    return importlib.import_module("interference_model")


@pytest.fixture(scope="module")
def programs(interference: Any) -> Any:
    return importlib.import_module("interference_programs")


def slower(kind: str, other: str) -> float:
    return 1 + FELT[kind] * CAUSED[other]


def slowdowns(model: Any) -> dict[tuple[str, str], float]:
    return {(kind, other): slower(kind, other) for kind in model.KINDS for other in model.KINDS}


@pytest.fixture(scope="module")
def fitted(model: Any) -> Any:
    return model.fit(slowdowns(model))


@pytest.fixture(scope="module")
def fitted_to_none(model: Any) -> Any:
    return model.fit(nothing(model))


def nothing(model: Any) -> dict[tuple[str, str], float]:
    return dict.fromkeys(slowdowns(model), 1.0)


class PlayedMachine:
    """A machine on which programs slow each other down on different cores, each by its constants."""

    cpus, cache = (0, 1), 32 << 20

    def __init__(self, programs: Any, contention: bool = True) -> None:
        self._programs = programs
        self._contention = contention
        self._count = 0

    def run(self, asked: Sequence[tuple[str, int]], mirrored: bool = False, size: int = 0) -> Any:
        """Return what they would do, with a noise of a thousandth."""
        assert mirrored in (False, True)
        assert size == 0 or len(asked) == 1
        self._count += 1
        samples = [
            self._programs.Sample(BASE[kind] * self._work(kind, core, asked) * self._noise(), USED[kind])
            for kind, core in asked
        ]
        return self._programs.Window(tuple(samples), 0.0, 0.0)

    def _noise(self) -> float:
        return 1 + 0.001 * (self._count % 3 - 1)

    def _work(self, kind: str, core: int, asked: Sequence[tuple[str, int]]) -> float:
        others = [other for other, where in asked if where != core]
        if not others or not self._contention:
            return 1.0
        return sum(1 / slower(kind, other) for other in others) / len(others)


def test_the_fit_finds_what_pairs_were_made_of(model: Any, fitted: Any) -> None:
    found = {(kind, other): model.slowdown(fitted, kind, other) for kind, other in slowdowns(model)}
    assert found == pytest.approx(slowdowns(model), rel=0.01)


def test_no_contention_is_fitted_by_none(model: Any, fitted_to_none: Any) -> None:
    found = {(kind, other): model.slowdown(fitted_to_none, kind, other) for kind, other in nothing(model)}
    assert found == pytest.approx(nothing(model), abs=0.01)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(1.0, 1.0, (0.5, 0.5), id="both would have all of it"),
        pytest.param(1.0, 0.2, (0.8, 0.2), id="what a sleeper leaves"),
        pytest.param(0.2, 1.0, (0.2, 0.8), id="and the other way round"),
        pytest.param(0.3, 0.2, (0.3, 0.2), id="room for both"),
        pytest.param(0.7, 0.6, (0.5, 0.5), id="each wants more than half"),
    ],
)
def test_a_core_is_divided_fairly(
    model: Any, one: float, other: float, expected: tuple[float, float]
) -> None:
    assert model.fractions(one, other) == pytest.approx(expected)


def test_who_is_alone_on_a_core_meets_each_of_the_others_for_its_part_of_the_time(
    model: Any, fitted: Any, fitted_to_none: Any
) -> None:
    models = {model.SAME: fitted_to_none, model.DIFFERENT: fitted}
    triple = model.Triple(("product", "chase"), "stream")
    newcomer, mate, apart = model.predicted(models, triple, 0, USED)
    assert (newcomer, mate, apart) == pytest.approx((1 / 1.06, 1, (1 / 1.6 + 1) / 2), rel=0.02)


def test_on_one_core_each_meets_the_other_in_the_caches(model: Any, fitted: Any, fitted_to_none: Any) -> None:
    models = {model.SAME: fitted, model.DIFFERENT: fitted_to_none}
    triple = model.Triple(("product", "chase"), "stream")
    assert model.predicted(models, triple, 1, USED) == pytest.approx((1 / 1.06, 1 / 1.6, 1), rel=0.02)


@pytest.mark.parametrize(
    ("way", "residents", "core"),
    [
        pytest.param("same core", ("product", "stream"), 0, id="turns with the one that demands least"),
        pytest.param("same core", ("stream", "product"), 1, id="on the other core"),
        pytest.param("different cores", ("product", "stream"), 1, id="turns with the one that demands most"),
        pytest.param("different cores", ("stream", "product"), 0, id="on the first core"),
    ],
)
def test_balanced_goes_into_the_domain_with_the_least_demand(
    model: Any, fitted: Any, way: str, residents: tuple[str, str], core: int
) -> None:
    assert model.chosen(load("balanced"), model.Triple(residents, "chase"), way, fitted) == core


def test_a_loss_below_twice_its_spread_does_not_count(model: Any) -> None:
    alone = {kind: [0.99, 1.01, 1.0, 1.0] for kind in model.KINDS}
    found = model.losses(
        {("chase", "stream"): [0.7, 0.71, 0.72], ("chase", "chase"): [0.99, 0.99, 0.99]}, alone
    )
    assert {pair: loss.beyond_noise() for pair, loss in found.items()} == {
        ("chase", "stream"): True,
        ("chase", "chase"): False,
    }
    assert found["chase", "chase"].spread > 0.008, "that of the program alone"
    assert model.slowdowns(found)["chase", "chase"] == 1


def result(interference: Any, capsys: pytest.CaptureFixture[str], machine: PlayedMachine) -> Any:
    with pytest.raises(SystemExit) as ended:
        interference.report(machine, interference.measure(machine, 3), as_json=True)
    return json.loads(capsys.readouterr().out) | {"code": ended.value.code}


def test_contention_as_in_the_model_meets_all_gates(
    interference: Any, programs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    found = result(interference, capsys, PlayedMachine(programs))
    assert (found["code"], found["missed"]) == (0, [])
    assert [fact for fact, true in found["facts"].items() if fact.startswith("must") and not true] == []
    assert found["facts"]["chase shows contention, different cores"]
    assert not found["facts"]["sleeper shows contention, different cores"]
    assert "a domain, to balanced, goes by pairs on the different cores" in found["notes"]


def test_where_no_pair_shows_contention_the_line_is_not_met(
    interference: Any, programs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    found = result(interference, capsys, PlayedMachine(programs, contention=False))
    assert found["code"] == 1
    assert not found["facts"]["must: a pair shows contention"]


def test_every_pair_is_measured_in_both_ways_and_every_triple_on_both_cores(
    interference: Any, model: Any, programs: Any
) -> None:
    measured = interference.measure(PlayedMachine(programs), 2)
    assert len(model.all_pairs()) == 10
    assert {way: len(pairs) for way, pairs in measured.pairs.items()} == dict.fromkeys(model.WAYS, 16)
    assert {len(rounds) for pairs in measured.pairs.values() for rounds in pairs.values()} == {2}
    assert [len(cores) for rounds in measured.triples.values() for cores in rounds] == [2] * 12


def caches(root: Path, cpu: int, sibling: str = "", shared: str = "0-3") -> None:
    for index, (level, kind, size) in enumerate(
        [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("3", "Unified", "32768K")]
    ):
        folder = root / f"cpu{cpu}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
            (folder / name).write_text(f"{text}\n")
    (root / f"cpu{cpu}" / "topology").mkdir()
    (root / f"cpu{cpu}" / "topology" / "thread_siblings_list").write_text(f"{sibling or cpu}\n")


def test_the_last_level_cache_is_the_one_of_the_highest_level(programs: Any, tmp_path: Path) -> None:
    caches(tmp_path, 0)
    assert programs.last_level(0, tmp_path) == (32 << 20, (0, 1, 2, 3))


def test_two_threads_of_a_core_are_not_two_cores(programs: Any, tmp_path: Path) -> None:
    for cpu, siblings in enumerate(("0-1", "0-1", "2-3", "2-3")):
        caches(tmp_path, cpu, siblings)
    assert programs.two_cores([0, 1, 2, 3], tmp_path) == (0, 2)
    with pytest.raises(
        SystemExit, match="needed are two cores with one last-level cache; CPUs 0, 1 have none"
    ):
        programs.two_cores([0, 1], tmp_path)


def test_a_system_without_a_description_of_caches_is_an_error(programs: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="cpu0/cache: this system does not describe its caches"):
        programs.last_level(0, tmp_path)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_programs_are_compiled_and_count_their_work(programs: Any, tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    machine = programs.Machine(programs.compiled(tmp_path), (cpu, cpu), 1 << 20, 0.2)
    kinds = ("product", "chase", "stream", "sleeper")
    samples = machine.run([(kind, index % 2) for index, kind in enumerate(kinds)]).samples
    assert all(sample.rate > 0 for sample in samples)
    assert all(0 < sample.used <= 1.1 for sample in samples)
    with pytest.raises(SystemExit, match="exit 2: there is no program steam"):
        machine.run([("steam", 0)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param((), "needs a C compiler: there is no `cc` on PATH", id="no compiler"),
        pytest.param(("--rounds", "1"), "--rounds: a spread needs at least 2", id="one round"),
        pytest.param(("--seconds", "0"), "--seconds: needed is a window from 0.05 to 60", id="no window"),
    ],
)
def test_what_is_missing_or_wrong_is_an_error(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "interference.py"), *options],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_help_names_what_the_measurement_needs() -> None:
    script = str(BENCHMARKS / "interference.py")
    done = subprocess.run(
        [sys.executable, script, "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    text = " ".join(done.stdout.split())
    assert "a quiet machine" in text
    assert "Ends with 1 where it is not so, or where no pair shows contention." in text
