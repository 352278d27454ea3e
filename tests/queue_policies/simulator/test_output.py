"""Rows, files and the page."""

from __future__ import annotations

import csv
import json
import re
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from queue_policies.simulator import experiment, listing, output_files
from queue_policies.simulator.errors import OutputError
from queue_policies.simulator.experiment import Experiment
from queue_policies.simulator.report import page as pages
from queue_policies.simulator.report import series, tables, write_report
from queue_policies.simulator.report.gantt import rectangles
from queue_policies.simulator.spread import Spread, spread

if TYPE_CHECKING:
    from pathlib import Path

    from queue_policies.simulator.experiment import SimulationRun


@pytest.fixture(scope="module")
def runs() -> list[SimulationRun]:
    plan = Experiment("charm:gap=60", ("rigid-min", "moldable", "priority-elastic"), (0, 1))
    return experiment.run(plan, 1)


def test_a_row_a_run_has_every_metric(runs: list[SimulationRun]) -> None:
    rows = list(listing.run_rows(runs))
    assert [(row["policy"], row["seed"]) for row in rows[:2]] == [("rigid-min", 0), ("rigid-min", 1)]
    assert rows[0]["makespan"] == runs[0].metrics.makespan
    assert rows[0]["workload"] == "charm-0"


def test_csv_has_a_row_a_job(runs: list[SimulationRun], tmp_path: Path) -> None:
    listing.write_csv(str(tmp_path / "out.csv"), runs)
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 2 * 16
    assert tuple(rows[0]) == listing.JOB_COLUMNS
    job = runs[0].outcome.jobs[0]
    assert (rows[0]["job"], float(rows[0]["ended"]), rows[0]["end"]) == ("1", job.ended, "completed")
    assert float(rows[0]["unit_seconds"]) == job.unit_seconds()


def test_a_row_has_what_the_job_asked_for(kit: Any, tmp_path: Path) -> None:
    """The last columns; those before them stay where they were."""
    jobs = (kit.rigid(1, 4, 10, limit=60.0), kit.malleable(2, 1, 8, 10))
    runs = experiment.run(Experiment("", ("moldable",), workload=kit.workload(*jobs)))
    listing.write_csv(str(tmp_path / "out.csv"), runs)
    head, *rows = ((tmp_path / "out.csv").read_text()).splitlines()
    assert head.endswith(",preemptions,idle,min,max,malleable,limit,cores")
    asked = [["4", "4", "False", "60.0", ""], ["1", "8", "True", "inf", ""]]
    assert [row.split(",")[-5:] for row in rows] == asked


def test_parquet_has_the_same_rows(runs: list[SimulationRun], tmp_path: Path) -> None:
    listing.write_parquet(str(tmp_path / "out.parquet"), runs)
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert tuple(rows[0]) == listing.JOB_COLUMNS
    assert [tuple(row.values()) for row in rows] == list(listing.job_rows(runs))


def test_parquet_without_pyarrow_reports_what_to_install(
    runs: list[SimulationRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OutputError) as error:
        listing.write_parquet("out.parquet", runs)
    assert str(error.value) == (
        "out.parquet: writing Parquet needs pyarrow, which is not installed: "
        "pip install '.[parquet]' in a checkout of minicluster"
    )


@pytest.mark.parametrize("write", [listing.write_csv, listing.write_parquet, write_report])
def test_an_output_path_that_cannot_be_written_is_reported(
    runs: list[SimulationRun], tmp_path: Path, write: Any
) -> None:
    with pytest.raises(OutputError, match="none/out: No such file or directory"):
        write(str(tmp_path / "none" / "out"), runs)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_needs_nothing_but_itself(runs: list[SimulationRun], tmp_path: Path) -> None:
    write_report(str(tmp_path / "out.html"), runs)
    text = (tmp_path / "out.html").read_text()
    page = _Page()
    page.feed(text)
    assert not [attrs for _, attrs in page.tags if "src" in attrs or "href" in attrs]
    assert not re.search(r"https?://(?!www\.w3\.org)|@[A-Z]+@", text), (
        "no address, and no place left unfilled"
    )
    assert text.count("<svg") == 3 + 4, "three curves and four fronts"


def test_the_page_follows_the_dark_mode_and_can_be_read_on_a_phone(runs: list[SimulationRun]) -> None:
    """What is wider than the screen scrolls in a box of its own; all colours have a value for the dark."""
    text = pages.page(runs)
    light, dark = re.findall(r":root \{ (?:color-scheme: light dark; )?([^}]*)\}", text)
    names = re.findall(r"--\w+", light)
    assert re.findall(r"--\w+", dark) == names != []
    assert "@media (prefers-color-scheme: dark) { :root {" in text
    assert '<meta name="viewport" content="width=device-width">' in text
    assert ".wide { overflow-x: auto }" in text
    boxes = "".join(re.findall(r'<div class="wide">(.*?)</div>', text, re.DOTALL))
    assert [boxes.count(tag) for tag in ("<table", "<svg")] == [2, 7]
    assert [text.count(tag) for tag in ("<table", "<svg")] == [2, 7]


def test_the_page_s_data_are_the_rectangles_and_the_jobs(runs: list[SimulationRun]) -> None:
    data = json.loads(re.search(r"^const runs = (.*);$", pages.page(runs), re.MULTILINE)[1])  # type: ignore[index]
    assert [each["policy"] for each in data] == ["rigid-min", "moldable", "priority-elastic"]
    assert len(data[0]["jobs"]) == 16
    assert len(data[0]["rectangles"]) % 5 == 0
    assert {data[0]["rectangles"][index] for index in range(4, len(data[0]["rectangles"]), 5)} == set(
        range(16)
    )


def test_names_from_outside_are_quoted(kit: Any) -> None:
    job = kit.rigid(1, 2, 3, kind="</script><script>alert(1)")
    text = pages.page(experiment.run(Experiment("", ("fcfs",), workload=kit.workload(job))))
    assert "</script><script>alert" not in text


def test_jobs_beyond_what_can_be_drawn_are_counted(
    runs: list[SimulationRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "DRAWN_JOBS", 10)
    assert '"left_out":6' in pages.page(runs)


def test_one_policy_has_no_front_and_no_best(kit: Any) -> None:
    text = pages.page(experiment.run(Experiment("", ("fcfs",), workload=kit.workload(kit.rigid(1, 2, 0)))))
    assert "There is nothing to choose" in text
    assert "<td class=b>" not in text


def test_every_unit_has_one_job(runs: list[SimulationRun]) -> None:
    """The area of the rectangles is what was held, and no two overlap."""
    outcome = runs[-1].outcome
    found = rectangles(outcome, 1000)
    area = sum((end - begin) * number for begin, end, _, number, _ in found)
    assert area == pytest.approx(sum(job.unit_seconds() for job in outcome.jobs))
    for index, (begin, end, first, number, _) in enumerate(found):
        for begin_2, end_2, first_2, number_2, _ in found[:index]:
            together = min(end, end_2) - max(begin, begin_2) > 1e-9
            assert not together or first + number <= first_2 or first_2 + number_2 <= first


def test_curves_are_means_over_their_bins(kit: Any) -> None:
    """8 of 8 units for 10 s, then 4 for 10 s; the second job waits for 10 s."""
    workload = kit.workload(kit.rigid(1, 8, 10), kit.rigid(2, 4, 10))
    outcome = experiment.run(Experiment("", ("fcfs",), workload=workload))[0].outcome
    assert series.mean_utilization(outcome, 0, 20, 4) == [(2.5, 1), (7.5, 1), (12.5, 0.5), (17.5, 0.5)]
    assert [value for _, value in series.mean_waiting(outcome, 0, 20, 4)] == [1, 1, 0, 0]
    assert [value for _, value in series.mean_utilization(outcome, 0, 40, 2)] == [0.75, 0]


def test_curves_have_the_corners_of_their_steps(kit: Any) -> None:
    """8 of 8 units for 10 s, then 4 for 10 s; the second job waits for 10 s, and none in part."""
    workload = kit.workload(kit.rigid(1, 8, 10), kit.rigid(2, 4, 10))
    outcome = experiment.run(Experiment("", ("fcfs",), workload=workload))[0].outcome
    used = [(0, 0), (0, 0), (0, 1), (10, 1), (10, 0.5), (20, 0.5), (20, 0), (20, 0)]
    assert series.utilization(outcome, 0, 20) == used
    assert series.waiting(outcome, 0, 20) == [(0, 0), (0, 0), (0, 1), (10, 1), (10, 0), (20, 0)]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (2000, "<p>Each change is a step.</p>"),
        (40, "<p>There are more changes than can be drawn: each point is the mean of "),
    ],
    ids=["steps", "means"],
)
def test_the_page_states_what_a_point_of_a_curve_is(
    runs: list[SimulationRun], monkeypatch: pytest.MonkeyPatch, steps: int, words: str
) -> None:
    monkeypatch.setattr(pages, "MAX_STEPS", steps)
    assert pages.page(runs).count(words) == 2, "of the units in use, and of the jobs that wait"


def test_the_front_has_who_is_beaten_by_nobody() -> None:
    assert series.pareto([(3, 1), (1, 3), (2, 2), (3, 3), (2, 4)]) == [1, 2, 0]


def test_a_row_a_policy_has_the_spread_of_every_metric(runs: list[SimulationRun]) -> None:
    row = next(listing.policy_rows(runs))
    assert (row["policy"], row["seeds"]) == ("rigid-min", [0, 1])
    makespan = spread([runs[0].metrics.makespan, runs[1].metrics.makespan])
    assert row["makespan"] == {
        "mean": makespan.mean,
        "deviation": makespan.deviation,
        "low": max(0.0, makespan.mean - makespan.margin),
        "high": makespan.mean + makespan.margin,
    }


def test_a_page_about_several_seeds_shows_their_spread(runs: list[SimulationRun]) -> None:
    text = pages.page(runs)
    assert "<title>charm-0 to charm-1: rigid-min, moldable, priority-elastic</title>" in text
    assert "Numbers are means over 2 seeds, with half of their 95 % interval (±)" in text
    assert text.count("<br>sd ") == 3 * len(tables.COLUMNS)


def test_a_page_about_one_seed_shows_none(runs: list[SimulationRun]) -> None:
    text = pages.page(runs[::2])
    assert "<title>charm-0: rigid-min, moldable, priority-elastic</title>" in text
    assert "<br>sd" not in text


def test_percentiles_of_the_wait_are_of_all_seeds(kit: Any) -> None:
    """Of one seed the second job waits for 10 s, of the other for 30 s."""
    plans = [kit.workload(kit.rigid(1, 8, seconds), kit.rigid(2, 8, 1)) for seconds in (10, 30)]
    runs = [experiment.run(Experiment("", ("fcfs",), workload=workload))[0] for workload in plans]
    assert series.waits(runs) == {"fcfs": [0, 0, 10, 30]}
    head, row = tables.percentiles(runs).split("</tr>")[:2]
    assert re.findall("<th>([^<]*)</th>", head) == [
        "policy",
        "median",
        "75 %",
        "90 %",
        "95 %",
        "99 %",
        "longest",
    ]
    assert re.findall("<td>([^<]*)</td>", row) == ["5.00", "15.00", "24.00", "27.00", "29.40", "30.00"]


def test_a_distribution_is_a_step_function() -> None:
    """A third of the jobs waits for nothing, which is where the axis begins."""
    corners = [(1, 0), (1, 0), (1, 1 / 3), (590, 1 / 3), (590, 2 / 3), (880, 2 / 3), (880, 1), (1000, 1)]
    assert series.distribution([0, 590, 880], 1, 1000, 500) == corners


def test_a_distribution_of_many_values_is_right_where_it_rises() -> None:
    corners = series.distribution([0, 1, 4, 5, 5, 9], 2, 10, 3)
    assert corners == [(2, 0), (2, 0), (2, 2 / 6), (5, 2 / 6), (5, 5 / 6), (9, 5 / 6), (9, 1), (10, 1)]


@pytest.mark.parametrize(
    ("column", "best"),
    [
        ([(10, 2), (20, 3)], 10),
        ([(10, 5), (20, 6)], None),
        ([(10, 0), (20, 0)], 10),
        ([(10, 5), (10, 5), (30, 6)], 10),
        ([(10, 1), (10, 1)], None),
        ([(10, 1)], None),
        ([(10, 1), (20, 1), (11, 1)], None),
    ],
    ids=["apart", "overlapping", "one seed", "two alike", "all alike", "one policy", "a third one"],
)
def test_the_best_is_bold_where_its_interval_is_apart(
    column: list[tuple[float, float]], best: float | None
) -> None:
    spreads = [Spread(mean, 0.0, margin) for mean, margin in column]
    assert tables.best(spreads, -1) == best


def test_the_page_states_what_bold_is(runs: list[SimulationRun]) -> None:
    several = "<p>Bold is the best, where its interval overlaps that of no other policy.</p>"
    assert several in pages.page(runs)
    assert "<p>Bold is the best.</p>" in pages.page(runs[::2])


def test_columns_of_the_page_are_those_of_the_table() -> None:
    """In the words of `minicluster simulate`."""
    words = {name: head.removesuffix(" s") for name, (head, _) in tables.COLUMNS.items()}
    assert words == {name: name.replace("_", " ") for name in tables.COLUMNS}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"report": "none/x.html"}, "none/x.html: there is no directory none; nothing was simulated"),
        ({"csv": "none/x.csv"}, "none/x.csv: there is no directory none; nothing was simulated"),
        ({"report": "."}, ".: is a directory; needed is the name of a file"),
        ({"report": "x.pdf"}, "x.pdf: a report is a page in HTML; right would be x.html"),
        ({"report": "full.html"}, "full.html: full.html cannot be written; nothing was simulated"),
    ],
)
def test_what_cannot_be_written_is_refused_before(
    options: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full.html").touch()
    # The superuser of tests may write everything.
    monkeypatch.setattr(output_files.os, "access", lambda path, _mode: path.name != "full.html")
    with pytest.raises(OutputError) as error:
        output_files.check(**options)
    assert str(error.value) == message


def test_parquet_without_pyarrow_is_refused_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OutputError, match="writing Parquet needs pyarrow"):
        output_files.check(parquet="out.parquet")


@pytest.mark.parametrize("report", ["x.html", "x.HTM", "x", "x.2026", "/dev/null"])
def test_what_can_be_written_is_accepted(
    report: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output_files.check(csv="x.csv", report=report)
    assert list(tmp_path.iterdir()) == [], "and nothing is left behind"
