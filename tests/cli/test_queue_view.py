"""How `top` looks, and what it leaves out."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from minicluster.backends.records import ClusterSample
from minicluster.cli import queue_view, top
from minicluster.cli.job_words import written
from minicluster.cli.queue_view import QueueView


def _row(jobid: str, name: str, info: str) -> dict[str, Any]:
    common = {"user": "you", "queue": "", "urgency": 16, "tasks": 1, "nodes": None, "time": "3s"}
    return {"id": jobid, "name": name, "info": info, **common}


WAITING, RUNNING = _row("f1", "sleep\x1b[2J", "held"), _row("f2", "lmp", "mc-0")
VIEW = QueueView(
    {
        "flux_nodes_demanded": 3.0,
        "flux_jobs_pending": 1.0,
        "flux_jobs_running": 2.0,
        "flux_oldest_wait_seconds": 2.54,
    },
    {"run": 2, "sched": 1, "inactive": 0},
    (WAITING,),
    1_700_000_000.0,
    (RUNNING,),
)
SCREEN = top.Screen(ClusterSample({"name": "mc"}, people={"autoscaler": "mc asks for 3"}), VIEW)


def test_a_screen_is_drawn_with_what_runs_and_what_waits() -> None:
    """Whatever a job's name is made of, the terminal is safe."""
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(top._drawn(SCREEN))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert {"name mc", "autoscaler mc asks for 3", "nodes demanded 3", "jobs 2 run, 1 sched"} <= set(lines)
    assert "f1 you sleep\\x1b[2J 1 3s held" in lines
    assert lines.index("running:") < lines.index("f2 you lmp 1 3s mc-0") < lines.index("and 1 more")
    assert "\x1b" not in text


def test_jobs_of_bursts_are_among_those_that_are_listed() -> None:
    """Their numbers have rows of their own."""
    bursts = {"flux_burst_nodes_up": 2.0, "flux_burst_jobs_pending": 4.0, "flux_burst_jobs_running": 1.0}
    view = replace(VIEW, numbers={**VIEW.numbers, **bursts})
    assert {table.title: table.more for table in queue_view.tables(view)} == {"running": 2, "waiting": 4}
    shown = {"burst_nodes_up": 2, "burst_jobs_pending": 4, "burst_jobs_running": 1}
    assert view.row.items() - VIEW.row.items() == shown.items()


def test_programs_get_all_of_it() -> None:
    document = SCREEN.as_json
    assert (document["time"], document["nodes_demanded"], document["oldest_wait"]) == (
        1_700_000_000.0,
        3,
        2.5,
    )
    assert document["jobs"] == {"run": 2, "sched": 1, "inactive": 0}
    assert (document["waiting"], document["running"]) == ([WAITING], [RUNNING])


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        pytest.param({"jobs_pending": 0, "oldest_wait": 0.0}, {"jobs_pending": 0}, id="nothing waits"),
        pytest.param(
            {"jobs_pending": 1, "oldest_wait": 125.0}, {"jobs_pending": 1, "oldest_wait": "2m"}, id="units"
        ),
        pytest.param(
            {"nodes_drained": 0, "jobs_held": 1, "jobs_unsatisfiable": 0, "nodes_free": 0},
            {"jobs_held": 1, "nodes_free": 0},
            id="what is amiss nowhere",
        ),
    ],
)
def test_users_are_shown_no_list_of_zeros(numbers: dict[str, Any], shown: dict[str, Any]) -> None:
    assert queue_view.for_people(numbers) == shown


def test_an_id_is_written_in_a_live_view_as_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal takes ƒ, so that `top` must not write ids in ASCII."""
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    with top._display(top.How()) as display:
        display(SCREEN)
        assert written(1).startswith("ƒ")
