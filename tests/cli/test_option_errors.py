"""A wrong value of an option is reported in plain words."""

from __future__ import annotations

import sys

import pytest

from minicluster.cli.main import run

NO_TIMEOUT = "is no duration; right would be 30s, 5m, 1.5h or 2d"
WRONG = [
    pytest.param(
        "submit mc -n two x", "'--tasks' / '--ntasks' / '-n': 'two' is no whole number", id="no-integer"
    ),
    pytest.param(
        "submit mc -n 1.5 x", "'--tasks' / '--ntasks' / '-n': '1.5' is no whole number", id="fraction"
    ),
    pytest.param("top mc --interval soon", "'--interval': 'soon' is no number", id="no-number"),
    pytest.param("top mc --interval 0.1", "'--interval': 0.1 is too small; the least is 0.2", id="small"),
    pytest.param("logs mc --rank -1", "'--rank': -1 is too small; the least is 0", id="negative"),
    pytest.param("operator --log-level loud", "'--log-level': 'loud' is not one of 'debug',", id="operator"),
    pytest.param("metrics-adapter --log-format x", "'--log-format': 'x' is not one of", id="metrics-adapter"),
    pytest.param("policies -o xml", "'--output' / '-o': 'xml' is not one of 'table', 'json'.", id="policies"),
    pytest.param("render x -o xml", "'--output' / '-o': 'xml' is not one of 'yaml', 'json'.", id="render"),
    pytest.param("run x --timeout soon", f"'--timeout': 'soon' {NO_TIMEOUT}", id="run-timeout"),
    pytest.param("run x --timeout 0", "'--timeout': '0' is no time above 0; right would be", id="timeout-0"),
    pytest.param("up x --on kubernetes --timeout 5w", f"'--timeout': '5w' {NO_TIMEOUT}", id="up-timeout"),
    pytest.param("down x --on kubernetes --timeout=-1", f"'--timeout': '-1' {NO_TIMEOUT}", id="down-timeout"),
    pytest.param("scale x 2 --on kubernetes --timeout inf", f"'--timeout': 'inf' {NO_TIMEOUT}", id="scale"),
    pytest.param("run x.yaml --size x", "'--size' / '-N': 'x' is no whole number", id="run"),
    pytest.param(
        "list --on k8s", "'--on' (env var: 'MINICLUSTER_ON'): 'k8s' is not one of 'local',", id="back-end"
    ),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_a_wrong_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    monkeypatch.delenv("MINICLUSTER_ON", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "argv", ["minicluster", *words.split()])
    with pytest.raises(SystemExit) as end:
        run()
    shown = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert (end.value.code, f"Invalid value for {message}" in shown) == (2, True), shown


UNKNOWN = [
    pytest.param(
        "submit mc --taks 2 x", "No such option: --taks (Possible options: --ntasks, --tasks)", id="a letter"
    ),
    pytest.param("submit mc --timelimit 2 x", "(Possible options: --time-limit)", id="a hyphen"),
    pytest.param("jobs mc --out json", "(Possible options: --output)", id="cut"),
    pytest.param("logs mc --lines 3", "No such option: --lines", id="nothing is close"),
    pytest.param("list --tail 3", "No such option: --tail", id="another command's"),
]


@pytest.mark.parametrize(("words", "message"), UNKNOWN)
def test_for_an_unknown_option_close_ones_alone_are_suggested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "argv", ["minicluster", *words.split()])
    with pytest.raises(SystemExit) as end:
        run()
    shown = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert (end.value.code, message in shown) == (2, True), shown
    assert ("Possible" in shown) is ("Possible" in message)
