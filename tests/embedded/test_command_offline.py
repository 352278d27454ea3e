"""Commands that need no broker, and every command without one."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from broker_config import curve
from minicluster.embedded.main import main

if TYPE_CHECKING:
    from pathlib import Path

HOST = os.uname().nodename


@pytest.mark.parametrize(
    ("words", "execution"),
    [
        (
            "-r 0-3 -c 0-1 -H a[0-3]",
            {"R_lite": [{"rank": "0-3", "children": {"core": "0-1"}}], "nodelist": ["a[0-3]"]},
        ),
        ("-H a,b", {"R_lite": [{"rank": "0-1", "children": {"core": "0"}}], "nodelist": ["a,b"]}),
        ("", {"R_lite": [{"rank": "0", "children": {"core": "0"}}], "nodelist": [HOST]}),
        (
            "-r 0-1 -H a,b -c 0-3 -g 0",
            {"R_lite": [{"rank": "0-1", "children": {"gpu": "0", "core": "0-3"}}], "nodelist": ["a,b"]},
        ),
    ],
)
def test_encoded_resource_sets(words: str, execution: dict[str, Any], capsys: Any) -> None:
    assert main(["R", "encode", *words.split()]) == 0
    times = {"starttime": 0.0, "expiration": 0.0}
    assert json.loads(capsys.readouterr().out) == {"version": 1, "execution": {**execution, **times}}


def test_keygen_writes_a_certificate_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "c.cert"
    assert main(["keygen", "--name=mc", str(path)]) == 0
    curve.decode(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ("-t dec f2", "1"),
        ("-t f58 195112", "ƒ2111"),
        ("-t kvs 195112", "job.0000.0000.0002.fa28"),
        ("-t hex 195112", "0x2fa28"),
        ("0x10", "16"),
    ],
)
def test_job_ids_are_converted(words: str, out: str, capsys: Any) -> None:
    assert main(["job", "id", *words.split()]) == 0
    assert capsys.readouterr().out == out + "\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("ping 0", 2, "flux: `ping' is not in the embedded instance"),
        ("nosuch", 1, "flux: `nosuch' is not a flux command.  See 'flux --help'"),
        ("job memo 1 a=b", 2, "flux-job: `memo' is not in the embedded instance"),
        ("overlay errors", 2, "flux-overlay: `errors' is not in the embedded instance"),
        ("R set-property", 2, "flux-R: `set-property' is not in the embedded instance"),
        ("R encode -r 0-1 -H a", 1, "flux-R: hostname count in 'a' does not match nranks (2)"),
        ("R encode -r x", 1, "flux-R: Failed to decode ranks='x' as idset"),
        ("keygen /nowhere/x", 1, "flux-keygen: open /nowhere/x: No such file or directory"),
        ("keygen --name=a_b /tmp/x", 1, "flux-keygen: "),
        ("job id zz", 1, "flux-job: zz: malformed input"),
        ("job attach zzzz", 1, 'flux-job: error parsing jobid: "zzzz"'),
        ("job kill -s bad 1", 1, "flux-job: kill: Invalid signal bad"),
        ("submit --dry-run --nonsense true", 2, "usage: flux submit [OPTIONS...] COMMAND [ARGS...]"),
        ("cancel zz", 2, "usage: flux cancel [OPTIONS] [JOBID...]"),
        ("queue", 2, "usage: flux-queue"),
        ("watch", 1, "flux-watch: ERROR: At least one job selection option is required"),
        ("watch --since=nope", 2, 'flux-watch: ERROR: --since: Invalid datetime: "nope"; right are +1h'),
        ("pgrep", 2, "usage: flux-pgrep"),
        ("pgrep [", 2, "flux-pgrep: ERROR: expression error: unterminated character set"),
        ("bulksubmit --dry-run echo {} :::: /nowhere/x", 1, "flux-bulksubmit: ERROR: No such file"),
        ("bulksubmit --dry-run echo {} ::::", 1, "flux-bulksubmit: ERROR: A file is missing after ::::"),
        (
            "bulksubmit --dry-run echo {1} ::: a",
            1,
            "flux: ERROR: Invalid replacement string in command: '{1}'",
        ),
        ("submit --cc=1 awk {print}", 1, "flux: ERROR: Invalid replacement string in command: '{print}'"),
        (
            "bulksubmit --define=up=x. {.up} ::: a",
            1,
            "flux-bulksubmit: ERROR: --define: up=x.: invalid syntax",
        ),
        ("submit --begin-time=nope true", 1, 'flux-submit: ERROR: Invalid datetime: "nope"; right are +1h, '),
        ("job last x", 2, "usage: flux job last [N|SLICE]"),
        ("job status", 2, "usage: flux job status [OPTIONS] id [id...]"),
        ("jobs --stats --json", 1, "flux-jobs: ERROR: --json incompatible with --stats or --stats-only"),
        ("help nosuch", 1, "flux: `nosuch' is not a flux command.  See 'flux --help'"),
        ("help ping", 2, "flux: `ping' is not in the embedded instance"),
        ("resource", 2, "usage: flux-resource"),
    ],
)
def test_a_wrong_command_line_reports_why(words: str, code: int, message: str, capsys: Any) -> None:
    try:
        ended = main(words.split())
    except SystemExit as exit_:
        ended = int(exit_.code or 0)
    assert (ended, capsys.readouterr().err[: len(message)]) == (code, message)


@pytest.mark.parametrize(
    ("words", "prefix"),
    [
        ("getattr rank", "flux-getattr: "),
        ("jobs", "flux-jobs: ERROR: "),
        ("submit true", "flux-submit: ERROR: "),
        ("run true", "flux-run: ERROR: "),
        ("job stats", "flux-job: "),
        ("queue status", "flux-queue: ERROR: "),
        ("resource list", "flux-resource: ERROR: "),
        ("overlay status", "flux-overlay: "),
        ("uptime", "flux-uptime: "),
        ("shutdown", "flux-shutdown: "),
        ("cancel --all", "flux-cancel: ERROR: "),
        ("bulksubmit true ::: a", "flux-bulksubmit: ERROR: "),
        ("watch --all", "flux-watch: ERROR: "),
        ("pgrep x", "flux-pgrep: ERROR: "),
        ("pkill x", "flux-pkill: ERROR: "),
        ("job last", "flux-job: "),
        ("job status 1", "flux-job: "),
    ],
)
def test_without_a_broker_commands_name_its_socket(
    words: str, prefix: str, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("FLUX_URI", "local:///nowhere/local-0")
    assert main(words.split()) == 1
    expected = f"{prefix}Unable to connect to Flux: broker socket /nowhere/local-0 was not found\n"
    assert capsys.readouterr().err == expected


def test_help_lists_every_command(capsys: Any) -> None:
    assert main(["--help"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("   ")}
    assert {
        "submit",
        "run",
        "batch",
        "alloc",
        "jobs",
        "job",
        "queue",
        "resource",
        "overlay",
        "keygen",
    } <= listed


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("submit", "usage: flux submit [OPTIONS...] COMMAND [ARGS...]"),
        ("flux-jobs", "usage: flux-jobs [-h] [-o FORMAT]"),
        ("broker", "Usage: flux broker [-c PATH]"),
        ("overlay", "usage: flux overlay status [OPTIONS]"),
        ("R", "usage: flux R encode [OPTIONS]"),
        ("job info", "usage: flux job info id key"),
    ],
)
def test_help_shows_the_options_of_a_command(words: str, shown: str, capsys: Any) -> None:
    with contextlib.suppress(SystemExit):
        assert main(["help", *words.split()]) == 0
    assert capsys.readouterr().out.startswith(shown)


def test_format_help_lists_the_named_formats(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["pgrep", "-o", "help", "x"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "default",
        "full",
        "long",
        "deps",
    ]


def test_simple_commands_import_little() -> None:
    """`flux getattr` runs often in the start script: no asyncio, ZeroMQ, SQLite or dataclasses for it."""
    heavy = {"asyncio", "zmq", "sqlite3", "dataclasses", "subprocess", "pydantic"}
    code = "import sys, minicluster.embedded.main as m; m.main(['getattr', 'rank'])"
    code += f"; print({heavy!r} & set(sys.modules))"
    env = {**os.environ, "FLUX_URI": "local:///nowhere/x"}
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
