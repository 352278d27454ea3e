"""The paper on granularity, reproduced: what the fit reads, and what takes seconds of its gates.

All of it, with the fit and a hundred seeds, is in `make prove-placement`.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from queue_policies.simulator.workloads import scanflow

if TYPE_CHECKING:
    from collections.abc import Iterator

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
FITTED_ON = ("NONE.json", "CM.json", "CM_S.json", "experiment-1.json")


@pytest.fixture(scope="module")
def granularity() -> Iterator[Any]:
    """The module of the script, beside which its other modules lie."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("reproduce_granularity")


@pytest.fixture(scope="module")
def fitting(granularity: Any) -> Any:
    return importlib.import_module("granularity_fit")


def call(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "reproduce_granularity.py"), *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_fit_reads_three_rows_and_experiment_1_and_nothing_else(fitting: Any, tmp_path: Path) -> None:
    for name in FITTED_ON:
        shutil.copy(fitting.PUBLISHED / name, tmp_path)
    assert fitting.fit(tmp_path, 1, 1) == fitting.fit(fitting.PUBLISHED, 1, 1)


@pytest.mark.parametrize("name", FITTED_ON)
def test_each_of_the_four_files_is_needed(fitting: Any, tmp_path: Path, name: str) -> None:
    for other in set(FITTED_ON) - {name}:
        shutil.copy(fitting.PUBLISHED / other, tmp_path)
    with pytest.raises(FileNotFoundError, match=name):
        fitting.fit(tmp_path, seeds=1, steps=0)


def test_kinds_that_demand_no_bandwidth_are_read_off_their_run_times(fitting: Any) -> None:
    kinds = fitting.fit(seeds=1, steps=0).kinds
    none, alone, scaled = (fitting.published(name).runs for name in ("NONE", "CM", "CM_S"))
    dgemm, ring = kinds["DGEMM"], kinds["RR"]
    at_scale = dgemm.compute * dict(dgemm.by_worker)[4]
    assert dgemm.compute / alone["DGEMM"] - 1 == pytest.approx(1 - at_scale / scaled["DGEMM"], abs=1e-3)
    assert dgemm.compute * dgemm.unpinned == pytest.approx(none["DGEMM"])
    assert (ring.compute, ring.compute * ring.unpinned) == pytest.approx((alone["RR"], none["RR"]))


def test_two_makespans_are_sums_without_the_constants_of_memory(fitting: Any) -> None:
    """So no fit of these moves the claim that compares them (docs/scheduling.md)."""
    kinds = scanflow.FITTED.kinds
    dgemm, ring, transform = kinds["DGEMM"], kinds["RR"], kinds["FFT"].compute
    none, grouped = (
        fitting.simulated(scanflow.VARIANTS[name], scanflow.FITTED)[0].makespan
        for name in ("NONE", "CM_S_TG")
    )
    assert grouped == pytest.approx(92 + 2 * dgemm.compute * dict(dgemm.by_worker)[4])
    unpinned = dgemm.compute * dgemm.unpinned + ring.compute * ring.unpinned
    assert none == pytest.approx(255 + 4 * 4 + 3 * 36 + 2 * transform + unpinned)


def test_least_squares_find_a_minimum(fitting: Any) -> None:
    def valley(at: Any) -> list[float]:
        return [10 * (at[1] - at[0] ** 2), 1 - at[0]]

    found = fitting.minimize(valley, (-0.5, 0.5), steps=60, width=1e-5)
    assert found.at == pytest.approx((1, 1), abs=0.02)


@pytest.mark.parametrize("variant", ["NONE", "CM", "CM_S_TG", "CM_G_TG"])
def test_what_does_not_go_at_random_is_within_its_gates(granularity: Any, fitting: Any, variant: str) -> None:
    rows = granularity.rows_of([variant], scanflow.FITTED, 1)
    ours, published = fitting.mean(rows[variant]).metrics(), fitting.published(variant).metrics()
    gates = granularity.gates(variant)
    outside = {name: ours[name] / value - 1 for name, value in published.items()}
    assert {name: off for name, off in outside.items() if abs(off) > gates[name]} == {}


def test_the_order_of_the_variants_is_the_published_one(granularity: Any) -> None:
    rows = granularity.rows_of(granularity.VARIANTS, scanflow.FITTED, 8)
    assert set(granularity.order(rows).values()) == {True}


def test_experiment_1_and_3_meet_their_gates() -> None:
    for number in ("1", "3"):
        done = call("--experiment", number, "--fitted", "--seeds", "5", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["missed"] == []


def test_ours_is_better_on_generated_arrivals(granularity: Any, fitting: Any) -> None:
    tables, facts = granularity.ours(scanflow.FITTED, 12)
    assert [row.name for row in tables[0].rows][:2] == ["CM_G_TG", "ours, arrival order"]
    assert {fact for fact, true in facts.items() if fact.startswith("must") and not true} == set()


def test_a_workload_of_ones_own_runs_under_a_placement(tmp_path: Path) -> None:
    job = {"submitted": 0, "min": 4, "profile": "memory", "kind": "S", "time": {"model": "fixed", "time": 9}}
    document = {
        "nodes": {"count": 2, "domains": 2, "cores": 4},
        "contention": {"knee": 1, "slope": 1, "kinds": {"S": {"compute": 60, "memory": 40, "demand": 1}}},
        "jobs": [job | {"id": 1}, job | {"id": 2}],
    }
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(document))
    found = {}
    for placement in ("low-rank", "balanced:knee=1"):
        done = call("--workload", str(path), "--placement", placement, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        found[placement] = json.loads(done.stdout)["tables"][0]["rows"][0]["ours"]["makespan"]
    assert found == {"low-rank": 220.0, "balanced:knee=1": 140.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--placement", "balnced"], "argument --placement: unknown placement 'balnced'; did you mean"),
        (["--variant", "CM_X"], "argument --variant: invalid choice: 'CM_X'"),
        (["--seeds", "0"], "argument --seeds: '0'; needed is a whole number from 1 on"),
        (["--workload", "/nowhere.json"], "/nowhere.json: No such file or directory"),
    ],
)
def test_what_it_cannot_take_is_the_error_of_an_option(options: list[str], message: str) -> None:
    done = call(*options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
