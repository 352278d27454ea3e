"""What people who come from Slurm type is refused with what is there in its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.cli import slurm_words
from minicluster.local.backend import LocalBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.calls import Answer

PAGE = (Path(__file__).parents[2] / slurm_words.PAGE).read_text(encoding="utf-8")
REFUSED = [
    pytest.param("--time=30 p", "--time; in place of Slurm's there is -t 30, see docs/slurm.md", id="time"),
    pytest.param("-a 0-9 p", "-a; in place of Slurm's there is --cc 0-9", id="array"),
    pytest.param("--array=0-9 p", "--array; in place of Slurm's there is --cc 0-9", id="array, long"),
    pytest.param("-J pi p", "-J; in place of Slurm's there is --job-name NAME", id="name"),
    pytest.param("-d x p", "-d; in place of Slurm's there is --dependency afterok:JOB", id="dependency"),
    pytest.param("-pdebug p", "-p; in place of Slurm's there is -q QUEUE", id="partition"),
    pytest.param("--partition debug p", "--partition; in place of Slurm's there is -q QUEUE", id="long"),
    pytest.param("--qos high p", "--qos; in place of Slurm's there is --urgency 20", id="qos"),
    pytest.param("-D /x p", "-D; in place of Slurm's there is --cwd DIR", id="directory"),
    pytest.param("-H p", "-H; in place of Slurm's there is --urgency hold", id="hold"),
    pytest.param("-W p", "-W; in place of Slurm's there is --wait", id="wait"),
    pytest.param("--gres=gpu:1 p", "--gres; in place of Slurm's there is -g 1", id="gres"),
    pytest.param("--mem 4G p", "--mem; nothing is there in place of Slurm's, see docs/slurm.md", id="memory"),
    pytest.param("-w n1 p", "-w; nothing is there in place of Slurm's", id="hosts"),
    pytest.param("--account x p", "--account; nothing is there in place of Slurm's", id="account"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_an_option_of_slurm_is_refused_with_the_one_of_here(
    call: Callable[..., Answer], words: str, message: str
) -> None:
    code, _, shown = call("submit", "mc", *words.split())
    assert (code, f"No such option: {message}" in shown) == (2, True), shown


def test_an_option_of_nobody_is_refused_as_ever(call: Callable[..., Answer]) -> None:
    code, _, shown = call("submit", "mc", "--frobnicate", "p")
    assert (code, "No such option: --frobnicate" in shown, "Slurm" in shown) == (2, True, False)


def test_a_directive_with_an_option_of_slurm_is_explained(
    call: Callable[..., Answer], tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n# flux: -p debug\n")
    code, _, shown = call("submit", "mc", "--batch", str(script))
    assert code == 2
    assert "line 2: No such option: -p; in place of Slurm's there is -q QUEUE, see docs/slurm.md" in shown


@pytest.mark.parametrize("option", slurm_words.INSTEAD)
def test_the_page_has_what_is_there_instead(option: str) -> None:
    """Its own option is in the same row."""
    mine = slurm_words.INSTEAD[option].split()[0]
    rows = [
        line for line in PAGE.splitlines() if line.startswith("| ") and f"`{option}" in line.replace("=", " ")
    ]
    assert any(f"`{mine}" in row or f" {mine} " in row for row in rows), rows


@pytest.mark.parametrize(
    ("ids", "hint"),
    [
        ("0-15:4", "; write 0,4,8,12"),
        ("0-4:2,9", "; write 0,2,4,9"),
        ("0-100000:2", "; write each id, as in 0,4,8"),
        ("0-4:0", "; write each id, as in 0,4,8"),
        ("9-1:2", "; write each id, as in 0,4,8"),
        ("3-1", ""),
    ],
)
def test_steps_are_written_out(ids: str, hint: str) -> None:
    assert slurm_words.steps(ids) == hint


@pytest.mark.parametrize(
    ("option", "given", "ours"),
    [
        ("-t", "10:00", "10m"),
        ("-t", "1:30", "90s"),
        ("--time-limit", "01:00:00", "1h"),
        ("-t", "1-0", "1d"),
        ("-t", "1-12:30", "2190m"),
        ("-t", "2-00:00:30", "172830s"),
    ],
)
def test_a_duration_of_slurm_is_refused_with_what_to_write(
    call: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, option: str, given: str, ours: str
) -> None:
    """sbatch(1), --time: minutes:seconds, hours:minutes:seconds, days-hours and so on."""
    monkeypatch.setattr(LocalBackend, "job_environment", lambda _self, _name: {})
    code, _, shown = call("submit", "mc", option, given, "p")
    words = f"Invalid value for {option}: in place of Slurm's {given} there is {ours}, see docs/slurm.md"
    assert (code, words in shown) == (2, True), shown


@pytest.mark.parametrize("text", ["10", "5m", "1-", "-3", "1:2:3:4", "soon", "1" * 100 + ":0"])
def test_what_is_no_duration_of_slurm_is_not_translated(text: str) -> None:
    assert slurm_words.duration(text) == ""
