"""Traces in the Standard Workload Format."""

from __future__ import annotations

import gzip
import math
from typing import TYPE_CHECKING

import pytest

from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.speedup import Amdahl, Fixed
from queue_policies.simulator.workloads import swf

if TYPE_CHECKING:
    from pathlib import Path

    from queue_policies.simulator.workload import Oversized

HEADER = "; UnixStartTime: 0\n; MaxNodes: 16\n; MaxProcs: 32\n"
LINE = "1 0 -1 100 4 -1 -1 4 200 -1 1 7 1 1 1 1 -1 -1"
TEXT = HEADER + LINE + "\n\n2 60 5 30 -1 -1 -1 8 -1 -1 1 -1 1 1 1 1 -1 -1\n"


def test_a_trace_gives_rigid_jobs() -> None:
    workload = swf.parse(TEXT, "t.swf")
    first, second = workload.jobs
    assert (workload.total, workload.unit) == (32, "processors")
    assert (first.id, first.submitted, first.min, first.max, first.user) == (1, 0, 4, 4, 7)
    assert (first.time, first.limit) == (Fixed(100), 200)
    assert (second.min, second.limit, second.user) == (8, math.inf, 0), "requested, as allocated is unknown"


@pytest.mark.parametrize(
    ("header", "given", "total"),
    [(HEADER, 0, 32), ("; MaxNodes: 16 nodes\n", 0, 16), (HEADER, 64, 64), ("", 8, 8)],
)
def test_the_size_of_the_cluster(header: str, given: int, total: int) -> None:
    assert swf.parse(header + LINE, "t.swf", given).total == total


@pytest.mark.parametrize("changed", [{4: "-1", 7: "-1"}, {3: "-1"}, {4: "0", 7: "0"}])
def test_jobs_that_never_ran_are_left_out(changed: dict[int, str]) -> None:
    words = LINE.replace("1", "2", 1).split()
    for index, word in changed.items():
        words[index] = word
    assert len(swf.parse(f"{HEADER}{LINE}\n{' '.join(words)}", "t.swf").jobs) == 1


def test_a_job_that_ran_longer_than_it_asked_for_is_not_cut_off() -> None:
    assert swf.parse(HEADER + LINE.replace("200", "50"), "t.swf").jobs[0].limit == 100


def _with(index: int, word: str) -> str:
    words = LINE.split()
    words[index - 1] = word
    return HEADER + " ".join(words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1 0 -1 100 4", "t.swf, line 4: 5 fields; a line of this format has 18"),
        (
            _with(4, "abc"),
            "t.swf, line 4: could not convert string to float: 'abc'; all 18 fields are numbers",
        ),
        (_with(4, "nan"), "t.swf, line 4: field 4 is nan; needed is a number"),
        (_with(2, "inf"), "t.swf, line 4: field 2 is inf; needed is a number"),
        (
            _with(2, "-5"),
            (
                "t.swf, line 4: submitted at -5 s, a run time of 100 s; times are not negative "
                "(only the run time may be -1: unknown)"
            ),
        ),
        (
            _with(4, "-5"),
            (
                "t.swf, line 4: submitted at 0 s, a run time of -5 s; times are not negative "
                "(only the run time may be -1: unknown)"
            ),
        ),
        (
            _with(5, "64"),
            "t.swf: job 1: needs 64 units, and the cluster has 32; --oversized skips or clips it",
        ),
        (f"{HEADER}{LINE}\n{LINE}", "t.swf: job 1 is there twice; each id must be there once"),
        (HEADER, "t.swf: there is no job in it"),
        (LINE, "t.swf: its header has no MaxProcs and no MaxNodes; say how large the cluster is (--size)"),
    ],
    ids=["truncated", "no-number", "nan", "inf", "submitted", "run", "large", "twice", "empty", "no-size"],
)
def test_a_bad_trace_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(WorkloadError) as error:
        swf.parse(text, "t.swf")
    assert str(error.value) == message


@pytest.mark.parametrize(("oversized", "sizes"), [("skip", [4]), ("clip", [32, 4])])
def test_a_trace_with_a_job_that_is_too_large(oversized: Oversized, sizes: list[int]) -> None:
    other = " ".join(["2", "10", *LINE.split()[2:4], "4", *LINE.split()[5:7], "4", *LINE.split()[8:]])
    trace = f"{_with(5, '64')}\n{other}\n"
    assert [job.max for job in swf.parse(trace, "t.swf", oversized=oversized).jobs] == sizes


def test_a_file_may_be_gzipped_and_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "t.swf.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert len(swf.read(str(tmp_path / "t.swf.gz")).jobs) == 2
    with pytest.raises(WorkloadError, match=r"none\.swf: No such file or directory"):
        swf.read(str(tmp_path / "none.swf"))


def test_a_sidecar_reports_which_jobs_are_elastic(tmp_path: Path) -> None:
    """A derived one: job 1 ran on 4 at an efficiency of 0.8."""
    trace = tmp_path / "t.swf"
    trace.write_text(TEXT)
    rigid = swf.read(str(trace))
    path = swf.write_sidecar(str(trace), list(swf.derived(rigid))[:1])
    first, second = swf.read(str(trace)).jobs
    assert path == str(tmp_path / "t.elastic.csv")
    assert (first.min, first.max, first.malleable, second.malleable) == (1, 13, True, False)
    assert isinstance(first.time, Amdahl)
    assert first.time.seconds(4) == pytest.approx(100)
    assert first.time.seconds(1) == pytest.approx(320), "an efficiency of 0.8"
    assert first.limit == pytest.approx(200 * first.time.seconds(1) / 100), "its limit is stretched with it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job,min\n", "its first line must be job,min,max,parallel,malleable"),
        ("job,min,max,parallel,malleable\n1,x,4,0.9,1\n", "line 2: invalid literal for int"),
        ("job,min,max,parallel,malleable\n1,1,4\n", "line 2: not enough values to unpack"),
        (
            "job,min,max,parallel,malleable\n1,1,4,1.5,1\n",
            "line 2: parallel is 1.5; it is a share from 0 to 1",
        ),
        (
            "job,min,max,parallel,malleable\n1,1,4,0.9,yes\n",
            "line 2: malleable is yes; it is 0 (moldable) or 1 (malleable)",
        ),
        (
            "job,min,max,parallel,malleable\n1,1,4,0.9,2\n",
            "line 2: malleable is 2; it is 0 (moldable) or 1 (malleable)",
        ),
        ("job,min,max,parallel,malleable\n7,1,4,0.9,1\n", "t.elastic.csv: job 7: not in"),
        (
            "job,min,max,parallel,malleable\n7,1,4,0.9,1\n1,1,4,0.9,0\n8,1,4,0.9,1\n",
            "job 7 and 1 more: not in",
        ),
        (
            "job,min,max,parallel,malleable\n1,6,4,0.9,1\n",
            "job 1: min is 6 and max 4; min must not be larger",
        ),
    ],
)
def test_a_bad_sidecar_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.swf").write_text(TEXT)
    (tmp_path / "t.elastic.csv").write_text(text)
    with pytest.raises(WorkloadError) as error:
        swf.read(str(tmp_path / "t.swf"))
    assert message in str(error.value)
