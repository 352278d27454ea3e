"""The workloads of the papers, drawn as their artefacts draw them; statistical ones; their names."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from queue_policies import plugins
from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import mean, measure
from queue_policies.simulator.selection import policy_named
from queue_policies.simulator.workloads import apgas, catalogue, charm, elastisim, lublin

pytestmark = pytest.mark.usefixtures("unmeasured")


def test_paper_a_has_16_jobs_at_equal_gaps_on_60_slots() -> None:
    (drawn,) = charm.draws(1)
    workload = charm.workload(drawn, 90.0)
    assert [job.submitted for job in workload.jobs] == [90.0 * index for index in range(16)]
    assert workload.total == 60
    assert {(job.kind, job.min, job.max) for job in workload.jobs} <= {
        ("512", 2, 8),
        ("2048", 4, 16),
        ("8192", 8, 32),
        ("16384", 16, 60),
    }


def test_paper_a_takes_the_seconds_of_an_iteration_times_the_steps() -> None:
    (drawn,) = charm.draws(1)
    large = next(job for job in charm.workload(drawn, 0.0).jobs if job.kind == "16384")
    assert [large.time.seconds(size) for size in (16, 24, 60)] == pytest.approx([1300, 1025, 460])


def test_the_restart_line_goes_through_the_means() -> None:
    base, unit = charm.restart_line()
    sizes, seconds = zip(*charm.RESTART, strict=True)
    assert base + unit * sum(sizes) / 6 == pytest.approx(sum(seconds) / 6)


CLEAN = {  # means of 100 sets; the gates: total and utilization 2 %, response 20 %
    "priority-elastic": {"makespan": 3682, "weighted_wait": 472, "utilization": 0.939},
    "moldable": {"makespan": 3889},
    "rigid-min": {"makespan": 3797},
    "rigid-max": {"makespan": 5187},
}


@pytest.mark.parametrize("policy", CLEAN)
def test_paper_a_is_reproduced_at_a_gap_of_90_s(policy: str) -> None:
    found = mean(
        measure(simulate(charm.workload(drawn, 90.0), plugins.load(policy))) for drawn in charm.draws(100)
    )
    for metric, value in CLEAN[policy].items():
        assert found[metric] == pytest.approx(value, rel=0.2 if metric == "weighted_wait" else 0.02)


PUBLISHED = [
    ("fcfs", 0.0, {"makespan": 1157.46, "utilization": 0.7552, "turnaround": 366.20}, 0.03),
    ("backfill", 0.0, {"makespan": 1035.24, "utilization": 0.8445, "turnaround": 284.42}, 0.03),
    ("easy:extra=false", 0.0, {"makespan": 1171.95, "utilization": 0.7483, "turnaround": 371.47}, 0.03),
    ("malleable", 0.0, {"makespan": 1168.00, "utilization": 0.7478, "turnaround": 368.88}, 0.07),
    ("fcfs", 1.0, {"makespan": 1021.69, "utilization": 0.8818, "turnaround": 306.32}, 0.03),
    ("backfill", 1.0, {"makespan": 1005.20, "utilization": 0.8954, "turnaround": 281.87}, 0.03),
    ("easy:extra=false", 1.0, {"makespan": 1014.40, "utilization": 0.8875, "turnaround": 306.13}, 0.03),
    ("malleable", 1.0, {"makespan": 1006.14, "utilization": 0.9052, "turnaround": 353.00}, 0.07),
]


@pytest.mark.parametrize(
    ("policy", "fraction", "published", "gate"),
    PUBLISHED,
    ids=[f"{row[0]}-{row[1]:.0%}" for row in PUBLISHED],
)
def test_paper_b_is_reproduced(
    policy: str, fraction: float, published: dict[str, float], gate: float
) -> None:
    sets = [apgas.workload(seed, fraction) for seed in apgas.SEEDS]
    found = mean(measure(simulate(each, policy_named(policy))) for each in sets)
    for metric, value in published.items():
        assert found[metric] == pytest.approx(value, rel=gate)


def test_paper_b_counts_arrivals_from_the_fifth_job() -> None:
    workload = apgas.workload(42, 0.2)
    submitted = [job.submitted for job in workload.jobs]
    assert submitted[:5] == [0.0] * 5
    assert submitted == sorted(submitted)
    assert Counter(job.malleable for job in workload.jobs)[True] == 5


def test_the_second_workload_has_the_published_mean_run_time() -> None:
    """2,317 jobs in set S0; their mean run time is known to four places."""
    jobs = elastisim.workload("S0").jobs
    assert len(jobs) == 2317
    assert sum(job.time.seconds(job.min) for job in jobs) / 2317 == pytest.approx(3357.7957, abs=1e-4)


def test_the_second_workload_s_rigid_backfill_is_within_two_thousandths() -> None:
    found = measure(simulate(elastisim.workload("S0"), plugins.load("backfill")))
    assert found.makespan == pytest.approx(2_674_980, rel=0.002)


def test_the_second_workload_s_malleable_jobs_run_well_at_all_their_sizes() -> None:
    for job in elastisim.workload("S1", 1.0, days=3).jobs:
        assert job.malleable
        assert job.min <= int(job.kind.split()[0]) <= job.max
        assert job.time.seconds(job.max) * job.max <= 2 * 1.01 * job.time.seconds(1)


def test_lublin_s_jobs_have_the_asked_load() -> None:
    jobs = lublin.workload(3, jobs=400, total=64, load=0.5).jobs
    work = sum(job.max * job.time.seconds(job.max) for job in jobs)
    assert work / (64 * jobs[-1].submitted) == pytest.approx(0.5)
    assert {job.max for job in jobs} <= set(range(1, 65))
    powers = sum(job.max & (job.max - 1) == 0 for job in jobs)
    assert powers / len(jobs) > 0.6, "sizes favour powers of two"


@pytest.mark.parametrize(("jobs", "total"), [(1, 1), (5, 1), (1, 64)])
def test_lublin_s_model_is_there_for_the_smallest(jobs: int, total: int) -> None:
    assert len(lublin.workload(1, jobs=jobs, total=total).jobs) == jobs


def test_a_fraction_of_lublin_s_jobs_is_malleable() -> None:
    rigid, elastic = (lublin.workload(3, jobs=200, elastic=fraction).jobs for fraction in (0.0, 1.0))
    assert not any(job.malleable for job in rigid)
    assert [job.malleable for job in elastic] == [job.max > 1 for job in rigid]
    for before, after in zip(rigid, elastic, strict=True):
        assert after.time.seconds(before.max) == pytest.approx(before.time.seconds(before.max))


@pytest.mark.parametrize(
    ("word", "total", "name", "jobs"),
    [
        ("charm:gap=180", 0, "charm-2", 16),
        ("charm:gap=180,jobs=4", 64, "charm-2", 4),
        ("apgas:share=0.2,blocking=true", 0, "apgas-44-20%", 25),
        ("apgas:share=0.2,blocking=yes", 0, "apgas-44-20%", 25),
        ("elastisim:days=1", 0, "elastisim-S2-0%", 76),
        ("lublin:jobs=10", 0, "lublin-2", 10),
    ],
)
def test_workloads_are_named_by_words(word: str, total: int, name: str, jobs: int) -> None:
    workload = catalogue.load(word, 2, total)
    assert (workload.name, len(workload.jobs)) == (name, jobs)
    assert not total or workload.total == total


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("chram", "unknown workload 'chram'; did you mean 'charm'?"),
        (
            "x",
            (
                "unknown workload 'x'; known are charm, apgas, elastisim, lublin, workflows, scanflow, "
                "FILE.swf, FILE.swf.gz, FILE.json"
            ),
        ),
        ("charm:gop=1", "workload charm: unknown setting 'gop'; did you mean 'gap'?"),
        ("charm:gap", "workload charm: setting 'gap'; needed is gap=, and a number"),
        ("charm:gap=x", "workload charm: setting 'gap=x'; needed is gap=, and a number"),
        ("charm:jobs=1.5", "workload charm: setting 'jobs=1.5'; needed is jobs=, and a whole number"),
        ("apgas:blocking=1", "workload apgas: setting 'blocking=1'; needed is blocking=, and true or false"),
        ("charm:gap=-5", "workload charm: setting 'gap=-5'; gap is 0 or more"),
        ("charm:gap=inf", "workload charm: setting 'gap=inf'; gap is 0 or more"),
        ("charm:jobs=0", "workload charm: setting 'jobs=0'; jobs is 1 or more"),
        ("lublin:load=-1", "workload lublin: setting 'load=-1'; load is above 0"),
        ("lublin:load=nan", "workload lublin: setting 'load=nan'; load is above 0"),
        ("lublin:total=0", "workload lublin: setting 'total=0'; total is 1 or more"),
        ("lublin:elastic=2", "workload lublin: setting 'elastic=2'; elastic is from 0 to 1"),
        ("apgas:share=-0.1", "workload apgas: setting 'share=-0.1'; share is from 0 to 1"),
        ("elastisim:days=0", "workload elastisim: setting 'days=0'; days is 1 or more"),
        ("t.swf2", "unknown workload 't.swf2'; a file is FILE.swf, FILE.swf.gz, FILE.json"),
        ("traces/t", "unknown workload 'traces/t'; a file is FILE.swf, FILE.swf.gz, FILE.json"),
    ],
)
def test_a_word_that_means_nothing_is_refused(word: str, message: str) -> None:
    with pytest.raises(WorkloadError) as error:
        catalogue.load(word)
    assert str(error.value) == message


def test_every_setting_that_is_a_number_has_bounds() -> None:
    numbers = {
        key
        for name in catalogue.GENERATORS
        for key, default in catalogue.settings(name).items()
        if not isinstance(default, bool | str)
    }
    assert numbers == set(catalogue.BOUNDS)


@pytest.mark.parametrize(("oversized", "jobs"), [("skip", 5), ("clip", 16)])
def test_jobs_that_are_too_large_are_left_out_or_cut(oversized: Any, jobs: int) -> None:
    made = catalogue.load("charm", total=3, oversized=oversized)
    assert (len(made.jobs), max(job.min for job in made.jobs) <= 3) == (jobs, True)


def test_a_job_that_is_cut_is_rigid_and_has_all_units() -> None:
    before = next(job for job in catalogue.load("charm").jobs if job.min > 8)
    after = catalogue.load("charm", total=8, oversized="clip").jobs[before.id - 1]
    assert after == before._replace(min=8, max=8, malleable=False)


def test_files_are_known_by_their_ending(tmp_path: Any) -> None:
    assert catalogue.is_file("a.swf.gz")
    assert not catalogue.is_file("charm")
    with pytest.raises(WorkloadError, match="No such file"):
        catalogue.load(str(tmp_path / "none.json"))
