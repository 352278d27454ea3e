"""Every command over a back end that none of ours is: commands know the port and nothing else."""

from __future__ import annotations

import ast
import json
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.backends import discovery
from minicluster.cli import status
from minicluster.instance.records import BurstSummary, JobState
from tests.backends import memory_backend
from tests.backends.memory_calls import lines_of, message_of
from tests.project.sources import sources

if TYPE_CHECKING:
    from tests.backends.memory_calls import Call


def test_list_shows_its_columns(call: Call) -> None:
    code, lines = lines_of(call("list"))
    assert (code, lines[0]) == (0, "NAME PHASE SIZE MAX SIZE RACK UNITS AGE")
    assert lines[1].startswith("mc Running 2 4 1 ")


def test_status_shows_fields_queue_and_tables(call: Call) -> None:
    call("submit", "mc", "--urgency", "0", "true")
    code, lines = lines_of(call("status", "mc"))
    assert (code, lines[0], lines[-1]) == (0, "name: mc", "nothing is amiss")
    assert {"nodes demanded: 2", "jobs pending: 1", "waiting:", "notes:"} <= set(lines)
    (shown,) = json.loads(call("status", "mc", "-o", "json")[1])
    assert (shown["notes"], len(shown["waiting"])) == ([{"note": "nothing is amiss"}], 1)
    assert shown["waiting"][0]["why"] == "held: its urgency is 0"


def test_status_shows_open_bursts(call: Call) -> None:
    assert json.loads(call("status", "mc", "-o", "json")[1])[0]["bursts"] == []
    (rack,) = memory_backend.RACKS.values()
    rack["mc"].bursts = (BurstSummary("01h0000001", "burst-0", "far", "active", 2, cost="3.20 EUR"),)
    _, lines = lines_of(call("status", "mc"))
    title = lines.index("bursts:")
    assert [line.split() for line in lines[title + 1 : title + 3]] == [
        ["ID", "SLOT", "PROVIDER", "STATE", "NODES", "UNTIL", "COST"],
        ["01h0000001", "burst-0", "far", "active", "2", "3.20", "EUR"],
    ]
    (found,) = json.loads(call("status", "mc", "-o", "json")[1])[0]["bursts"]
    assert (found["state"], found["nodes"]) == ("active", 2)


def test_status_of_what_cannot_be_asked(call: Call) -> None:
    call("suspend", "mc")
    (shown,) = json.loads(call("status", "mc", "-o", "json")[1])
    assert (shown["phase"], shown["waiting"], "nodes_demanded" in shown) == ("Suspended", None, False)


@pytest.mark.parametrize("output", ["table", "json"])
def test_status_is_shown_again_where_it_has_changed(
    call: Call, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    """Time alone is no change; it ends with the cluster."""
    later = iter(["Running", "Suspended", "Suspended", "Succeeded"])
    passed = 0.0

    def passes(_seconds: float) -> None:
        nonlocal passed
        (rack,) = memory_backend.RACKS.values()
        rack["mc"].phase, passed = next(later), passed + 3600.0

    clock = SimpleNamespace(sleep=passes, time=lambda: time.time() + passed, strftime=time.strftime)
    monkeypatch.setattr(status, "time", clock)
    code, out, _ = call("status", "mc", "--watch", "--output", output)
    phases = (
        [json.loads(line)["phase"] for line in out.splitlines()]
        if output == "json"
        else [line.split()[1] for line in out.splitlines() if line.startswith("phase:")]
    )
    assert (code, phases) == (0, ["Running", "Suspended", "Succeeded"])


def test_status_is_watched_until_ctrl_c(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(status.time, "sleep", interrupt)
    code, lines = lines_of(call("status", "mc", "-w"))
    assert (code, lines.count("phase: Running")) == (0, 1)


def test_top_prints_once(call: Call) -> None:
    (shown,) = json.loads(call("top", "mc", "--once", "-o", "json")[1])
    assert (shown["name"], shown["size"], shown["nodes_demanded"]) == ("mc", 2, 2)


COMMANDS = [
    pytest.param("scale mc 3", 0, "cluster mc: 2 → 3 brokers", id="scale"),
    pytest.param("scale mc 2", 0, "cluster mc: has 2 brokers already", id="scale-to-the-same"),
    pytest.param(
        "scale mc 9", 2, "minicluster: cluster mc: cannot have 9 brokers, only 4", id="scale-beyond"
    ),
    pytest.param("suspend mc", 0, "cluster mc is Suspended", id="suspend"),
    pytest.param("resume mc", 0, "cluster mc is Running", id="resume"),
    pytest.param("down mc", 0, "cluster mc is down", id="down"),
    pytest.param("down mc --dump", 0, "there was nothing to save", id="down-dump"),
    pytest.param("logs mc --rank 1", 0, "mc-1: remembered", id="logs"),
    pytest.param("logs mc --tail 1", 0, "mc-1: remembered", id="logs-tail"),
    pytest.param("attach mc", 7, "the main command", id="attach-to-the-command"),
    pytest.param("version", 0, "rack first is older than another one", id="version"),
    pytest.param("shell mc -- flux jobs", 2, "minicluster: would run flux jobs", id="shell"),
    pytest.param("jobs mc", 0, "no jobs wait or run; --all lists those that have ended as well", id="jobs"),
    pytest.param("jobs mc --all", 0, "no jobs", id="jobs-all"),
    pytest.param("validate mc.yaml", 0, "mc.yaml: valid (mc)", id="validate"),
    pytest.param("validate unlucky.yaml", 1, "unlucky is not taken", id="validate-on-trial"),
    pytest.param("scale other 2", 1, "minicluster: cluster other: is not remembered", id="absent"),
    pytest.param("jobs mc --rack second", 1, "minicluster: cluster mc: is not remembered", id="its-option"),
    pytest.param("up mc.yaml --size 4 --rack third", 0, "minicluster: mc is remembered", id="up"),
]


@pytest.mark.parametrize("words", ["logs mc ƒABC", "logs ƒABC"])
def test_the_output_of_a_job_is_not_among_the_logs(call: Call, words: str) -> None:
    code, shown = message_of(call(*words.split()))
    attach = "`minicluster attach mc ƒABC --on memory --rack first` shows a job's output"
    assert (code, f"logs are those of brokers; {attach}" in shown) == (2, True), shown


@pytest.mark.parametrize(("words", "code", "last"), COMMANDS)
def test_a_command_asks_the_back_end(call: Call, words: str, code: int, last: str) -> None:
    ended, lines = lines_of(call(*words.split()))
    assert (ended, lines[-1].endswith(last)) == (code, True), lines


def test_a_job_is_submitted_listed_followed(call: Call) -> None:
    code, job = lines_of(call("submit", "mc", "false", "-x"))
    assert (code, len(job)) == (0, 1)
    (row,) = json.loads(call("jobs", "mc", "--all", "-o", "json")[1])
    assert (row["id"], row["state"], row["exit_code"]) == (job[0], "FAILED", 1)
    assert call("attach", "mc", job[0]) == (1, "false -x\n", "")
    refused = call("cancel", "mc", job[0])
    assert refused == (
        2,
        "",
        f"minicluster: {job[0]}: has ended already, with FAILED; there is nothing to cancel\n",
    )


def test_a_listing_is_cut_and_states_what_is_left(call: Call) -> None:
    """Its JSON is cut as well, and remains a list of jobs."""
    for command in ("true", "false", "false"):
        call("submit", "mc", command)
    shown = call("jobs", "mc", "--all", "--limit", "1")[1].splitlines()
    assert len(shown) == 3
    assert shown[-1] in {
        "and 2 more: 2 FAILED",
        "and 2 more: 1 COMPLETED, 1 FAILED",
        "and 2 more: 1 FAILED, 1 COMPLETED",
    }
    assert len(json.loads(call("jobs", "mc", "--all", "--limit", "1", "-o", "json")[1])) == 1
    assert "more" not in call("jobs", "mc", "--all", "--limit", "3")[1]


def test_a_job_of_urgency_0_is_cancelled(call: Call) -> None:
    job = call("submit", "mc", "--urgency", "0", "true")[1].strip()
    assert call("cancel", "mc", job) == (0, f"{job}: canceled\n", "")
    unknown = call("cancel", "mc", job)
    shows = "`minicluster jobs mc --all --on memory --rack first` lists what it has"
    assert unknown == (2, "", f"minicluster: {job}: cluster mc has no such job; {shows}\n")


def test_several_jobs_are_cancelled(call: Call) -> None:
    """What is wrong with one of them is reported once the others are canceled."""
    jobs = call("submit", "mc", "--cc", "1-2", "--urgency", "hold", "true")[1].split()
    ended = call("submit", "mc", "true")[1].strip()
    code, out, err = call("cancel", "mc", jobs[0], ended, jobs[1])
    assert (code, out.splitlines()) == (2, [f"{job}: canceled" for job in jobs])
    assert err == f"minicluster: {ended}: has ended already, with COMPLETED; there is nothing to cancel\n"


@pytest.mark.parametrize(
    ("words", "left", "message"),
    [
        ("--all", 1, "2 jobs canceled\n"),
        ("--states pending", 1, "2 jobs canceled\n"),
        ("--states run,sched", 1, "2 jobs canceled\n"),
        ("-S depend", 3, "0 jobs canceled\n"),
    ],
)
def test_jobs_are_cancelled_by_state(call: Call, words: str, left: int, message: str) -> None:
    call("submit", "mc", "true")
    call("submit", "mc", "--cc", "1-2", "--urgency", "hold", "true")
    assert call("cancel", "mc", *words.split()) == (0, message, "")
    assert len(json.loads(call("jobs", "mc", "-a", "-o", "json")[1])) == left


def test_the_documents_own_command_is_canceled_by_its_id_alone(call: Call) -> None:
    """The MiniCluster ends with it."""
    marks = ("-S", "user.minicluster.main=true")
    main = call("submit", "mc", "--urgency", "hold", *marks, "true")[1].strip()
    jobs = memory_backend.RACKS["first"]["mc"].instance.jobs
    jobs.found = {key: replace(job, state=JobState.RUN) for key, job in jobs.found.items()}
    call("submit", "mc", "--urgency", "hold", "true")
    kept = f"minicluster: {main} is the document's own command, and goes on\n"
    assert call("cancel", "mc", "--all") == (0, "1 job canceled\n", kept)
    assert call("cancel", "mc", main) == (0, f"{main}: canceled\n", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cancel mc", "for JOB: is needed, or --all, or --states; `minicluster jobs` lists them"),
        ("logs mc --tail 1 --follow", "for --tail: shows what is there; leave out --follow"),
        ("cancel mc f1 --all", "for JOB: either ids or --all or --states"),
        ("cancel mc --states done", "for --states: 'done' is no state of a job; right would be depend, "),
        ("jobs", "for NAME: is needed: up are mc, unlucky; see `minicluster list --on memory --rack first`"),
    ],
)
def test_a_wrong_call_is_refused(call: Call, words: str, message: str) -> None:
    call("up", "unlucky.yaml")
    code, lines = lines_of(call(*words.split()))
    shown = " ".join(lines).replace("│", "")
    assert (code, f"Invalid value {message}" in " ".join(shown.split())) == (2, True), shown


NAMELESS = ["jobs", "jobs -a", "status", "top --once", "logs", "wait --all", "cancel --all"]


@pytest.mark.parametrize("words", NAMELESS)
def test_the_only_clusters_name_may_be_left_out(call: Call, words: str) -> None:
    command, *options = words.split()
    assert call(*words.split())[:2] == call(command, "mc", *options)[:2]


def test_a_job_of_the_only_cluster_is_named_alone(call: Call) -> None:
    jobid = "ƒJF"
    assert call("submit", "mc", "echo", "x")[1] == f"{jobid}\n"
    assert call("attach", jobid) == (0, "echo x\n", "")
    (row,) = json.loads(call("jobs", jobid, "-o", "json")[1])
    assert (row["id"], row["command"]) == (jobid, ["echo", "x"])


def test_a_listing_has_owner_times_and_reasons(call: Call) -> None:
    """Columns that say nothing are left out."""
    call("submit", "mc", "false")
    _, lines = lines_of(call("jobs", "mc", "-a"))
    assert lines[0] == "ID USER NAME STATE TASKS NODES SUBMITTED TIME INFO"
    assert lines[1].startswith("ƒJF root false FAILED 1 ")
    assert lines[1].endswith(" 4s exit code 1")
    call("submit", "mc", "--urgency", "0", "true")
    _, lines = lines_of(call("jobs", "mc"))
    assert lines[0] == "ID USER NAME STATE URGENCY TASKS NODES SUBMITTED TIME INFO"
    assert lines[1].endswith(" held: its urgency is 0")


def test_programs_get_numbers_and_times(call: Call) -> None:
    """The keys of 0.1.0 keep their values."""
    call("submit", "mc", "-n", "2", "true")
    (row,) = json.loads(call("jobs", "mc", "-a", "-o", "json")[1])
    old = {"id": "ƒJF", "name": "true", "state": "COMPLETED", "tasks": 2, "nodes": None, "time": "4s"}
    old |= {"ranks": "", "exit_code": 0, "exception": ""}
    assert {key: row[key] for key in old} == old
    assert (row["t_submit"], row["t_run"], row["t_cleanup"], row["t_inactive"]) == (100.0, 101.0, None, 105.0)
    assert (row["runtime"], row["user"], row["userid"], row["urgency"]) == (4.0, "root", 0, 16)
    assert (row["queue"], row["cores"], row["command"]) == ("", 2, ["true"])


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--wait", (1, "ƒJF\n", "")),
        ("--watch", (1, "ƒJF\nfalse x\n", "")),
        ("--quiet --watch", (1, "false x\n", "")),
    ],
)
def test_a_job_is_submitted_and_followed(call: Call, option: str, expected: tuple[int, str, str]) -> None:
    assert call("submit", "mc", *option.split(), "false", "x") == expected


def test_a_job_that_can_never_run_is_reported_at_submission(call: Call) -> None:
    where = "can never run here, even at the cluster's largest size"
    never = f"minicluster: ƒJF {where}: unsatisfiable request: 9 cores\n"
    assert call("submit", "mc", "-n", "9", "true") == (0, "ƒJF\n", never)


def test_render_plans_for_its_site(call: Call) -> None:
    code, out, _ = call("render", "mc.yaml", "-o", "json")
    assert code == 0
    assert {each["metadata"]["namespace"] for each in json.loads(out)["items"]} == {"memory"}


def test_simulate_reads_what_has_run(call: Call) -> None:
    call("submit", "mc", "true")
    words = ("simulate", "--from", "mc", "--policy", "fcfs", "-j", "1", "-o", "json")
    code, out, err = call(*words)
    size = "minicluster: simulating mc on 2 cores, all that it has now; --size takes another number\n"
    assert (code, len(json.loads(out)), err) == (0, 1, size)
    assert call(*words, "--size", "64")[::2] == (0, "")


def test_options_of_other_back_ends_are_refused(call: Call) -> None:
    for words, owner in ((("up", "mc.yaml", "--engine", "flux"), "local"), (("list", "-A"), "kubernetes")):
        code, lines = lines_of(call(*words))
        text = " ".join(lines).replace("│", "")
        assert (code, f"has a meaning only with --on {owner}" in text) == (2, True), text


def test_no_command_asks_where_a_cluster_lives() -> None:
    """`kubectl minicluster` alone names a back end: the one that is usual there."""
    names = discovery.registry().names
    named = {
        (source.path, node.value)
        for source in sources("minicluster/cli")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert named == {("minicluster/cli/plugin.py", "kubernetes")}


def test_every_command_with_on_is_served_here() -> None:
    """A new command gets its case in this file."""
    import typer  # noqa: PLC0415 - only this test asks for the commands themselves

    from minicluster.cli.commands import app  # noqa: PLC0415

    group: Any = typer.main.get_command(app)
    with_on = {
        name
        for name in group.list_commands(None)
        if any("--on" in each.opts for each in group.get_command(None, name).params)
    }
    assert with_on == {
        *("up", "list", "status", "top", "scale", "suspend", "resume", "down", "logs"),
        *("submit", "jobs", "attach", "wait", "urgency", "update", "resize", "cancel"),
        *("shell", "validate", "render", "simulate", "version"),
    }


def test_a_plug_ins_option_is_completed(call: Call) -> None:
    code, out, _ = call("__complete", "status", "--rack", "")
    assert (code, out) == (0, "first\t1 clusters\n:4\n")
