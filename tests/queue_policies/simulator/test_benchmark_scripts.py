"""The scripts of benchmarks/ that the pages on scheduling name run, and answer what they cannot take."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = ("docs/scheduling.md", "docs/co-scheduling.md")
NAMED = sorted(
    {name for page in PAGES for name in re.findall(r"benchmarks/(\w+)\.py", (ROOT / page).read_text())}
)

RUNS = {
    "reproduce_priority_elastic --sets 1 --gap 90": "gap 90 s, rescale gap 180 s, means of 1 sets",
    "reproduce_priority_elastic --legacy": "legacy, sort repaired: gap 180 s, rescale gap 180 s",
    "reproduce_malleable": "without a gate: wait, run_time, shrinks, grows",
    "reproduce_malleable --workload pecs23 --share 0": "pecs23, set S0, 0 % malleable, 2317 jobs",
    "reproduce_granularity --experiment 3 --fitted --seeds 2": "experiment 3",
    "reproduce_cosched --cores 64 --seeds 2": "15 jobs, three sets, 2 seeds: over easy",
    "reproduce_cosched --trace --seeds 1": "must: regret on 3000 cases",
    "ablation --sets 1 --gaps 90": "water-filling / priority-elastic, gap 90 s, 1 sets",
    "simulator --jobs 20 --large 50 --parallel 10 --runs 1": "jobs/s",
}
"""Each with what it prints: at its smallest size, or, where that is quick too, at the one that has gates."""
NOT_RUN = {
    "flux_scheduler": "needs real Flux",
    "resize_costs": "starts clusters, and measures",
    "sixteen_jobs": "starts clusters, and measures",
    "legacy_apgas": "a module of reproduce_malleable",
    "legacy_charm": "a module of reproduce_priority_elastic",
}
PROGRAMS = ("flux_scheduler", "resize_costs", "sixteen_jobs")


def _call(words: str) -> subprocess.CompletedProcess[str]:
    script, *options = words.split()
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / f"{script}.py"), *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_every_script_that_the_page_names_is_tried() -> None:
    assert {words.split()[0] for words in RUNS} | set(NOT_RUN) == set(NAMED)


@pytest.mark.parametrize("words", RUNS)
def test_a_script_runs_and_meets_its_gates(words: str) -> None:
    done = _call(words)
    assert (done.returncode, done.stderr) == (0, "")
    assert RUNS[words] in done.stdout


@pytest.mark.parametrize("script", PROGRAMS)
def test_a_script_that_is_not_run_shows_its_options(script: str) -> None:
    done = _call(f"{script} --help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {script}.py")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("reproduce_priority_elastic --policy esay", "unknown queue policy 'esay'; did you mean 'easy'?"),
        ("reproduce_priority_elastic --sets 0", "argument --sets: '0'; needed is a whole number from 1 on"),
        ("reproduce_priority_elastic --gap -5", "argument --gap: '-5'; needed is seconds from 0 on"),
        ("reproduce_priority_elastic --error 2", "argument --error: '2'; needed is a number from 0 to 1"),
        ("reproduce_malleable --policy easy:extra=2", "argument --policy: queue policy easy: setting extra"),
        ("reproduce_malleable --set S0", "argument --set: 'S0'; of sncs24 there are 42, 43, 44,"),
        (
            "reproduce_malleable --workload pecs23 --set S99",
            "argument --set: 'S99'; of pecs23 there are S0, ",
        ),
        ("reproduce_malleable --share 150", "argument --share: '150'; needed is a number from 0 to 100"),
        ("ablation --gaps 0,x", "argument --gaps: 'x'; needed is seconds from 0 on"),
    ],
)
def test_what_a_script_cannot_take_is_the_error_of_an_option(words: str, message: str) -> None:
    done = _call(words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (
            "--sets 1 --gap 90",
            "references are means of 100 sets with a rescale gap of 180 s: they are left out",
        ),
        ("--sets 1 --gap 90 --json", "references are means of 100 sets with a rescale gap of 180 s"),
    ],
)
def test_a_note_has_why_references_are_left_out(words: str, note: str) -> None:
    done = _call(f"reproduce_priority_elastic {words}")
    assert note in done.stdout
    assert "ours / reference" not in done.stdout


@pytest.mark.parametrize(
    ("script", "parts"),
    [
        (
            "reproduce_priority_elastic",
            ["(default: 180;", "(default: 100;", "a gate is missed", "`NO claim:` are expected", "one JSON"],
        ),
        ("reproduce_malleable", ["(default: sncs24)", "a gate is missed", "have no gate", "one JSON"]),
    ],
)
def test_the_help_has_defaults_and_gates(script: str, parts: list[str]) -> None:
    text = " ".join(_call(f"{script} --help").stdout.split())
    assert [each for each in parts if each not in text] == []
