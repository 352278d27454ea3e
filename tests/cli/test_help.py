"""--help, -h and `help`: what they show, and what they do not show."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

import pytest

from minicluster.cli import commands, main

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.calls import Answer

    Call = Callable[..., Answer]

COMMANDS = sorted(each.name for each in entry_points(group=commands.GROUP))
NOISE = re.compile(r"<\w+|\{[A-Z]|\[\[|--install-completion|--show-completion")
"""What typer alone would show: types as Python has them, braces around arguments."""


def test_help_lists_our_commands_by_what_they_are_for(call: Call) -> None:
    shown = call("--help").out
    places = [shown.index(f"─ {panel} ") for panel in commands.PANELS]
    assert places == sorted(places)
    for panel, names in commands.PANELS.items():
        text = shown[shown.index(f"─ {panel} ") :].partition("╰")[0]
        assert re.findall(r"^│ (\S+) ", text, re.MULTILINE) == list(names)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_an_example_and_no_noise(call: Call, name: str) -> None:
    shown = call(name, "--help")
    about, _, _ = shown.out.partition("Usage:")[2].partition("\n")[2].partition("─ Options ")
    assert (shown.code, NOISE.findall(shown.out), f"minicluster {name}" in about) == (0, [], True), about


@pytest.mark.parametrize(
    ("words", "same"),
    [
        pytest.param(("-h",), ("--help",), id="-h"),
        pytest.param(("help",), ("--help",), id="help"),
        pytest.param(("status", "-h"), ("status", "--help"), id="-h of a command"),
        pytest.param(("help", "status"), ("status", "--help"), id="help of a command"),
        pytest.param(("help", "help"), ("help", "--help"), id="help of help"),
    ],
)
def test_help_by_other_words(call: Call, words: tuple[str, ...], same: tuple[str, ...]) -> None:
    shown = call(*words)
    assert (shown.code, shown.out) == (0, call(*same).out)


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        pytest.param("down", "minicluster down [OPTIONS] NAME", id="an argument"),
        pytest.param("attach", "minicluster attach [OPTIONS] [NAME] [JOB]", id="some that may be left out"),
        pytest.param("validate", "minicluster validate [OPTIONS] FILE...", id="several"),
        pytest.param("run", "minicluster run [OPTIONS] [FILE] [COMMAND...]", id="a program"),
    ],
)
def test_usage_is_written_as_kubernetes_and_flux_write_it(call: Call, name: str, usage: str) -> None:
    assert f"Usage: {usage} \n" in re.sub(r" +", " ", call(name, "--help").out)


@pytest.mark.parametrize("name", ["run", "logs"])
def test_an_example_is_indented(call: Call, name: str) -> None:
    """More than what is said about it, also where it is the only other paragraph."""
    assert re.search(rf"^   minicluster {name} ", call(name, "--help").out, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(("stats",), "No such command 'stats'; did you mean 'status'?", id="alike"),
        pytest.param(("help", "stats"), "No such command 'stats'; did you mean 'status'?", id="help"),
        pytest.param(("qqq",), "No such command 'qqq'; `minicluster help` lists them", id="unlike any"),
    ],
)
def test_an_unknown_command_is_refused_with_what_may_be_meant(
    call: Call, words: tuple[str, ...], message: str
) -> None:
    done = call(*words)
    assert (done.code, message in done.err) == (2, True), done.err


def test_kubectl_minicluster_has_it_too(call: Call) -> None:
    shown = call("help", "status", program=main.run_plugin)
    assert "Usage: kubectl minicluster status [OPTIONS] [NAME]" in shown.out
    assert "did you mean 'status'?" in call("stats", program=main.run_plugin).err


def test_a_plug_ins_command_is_in_a_panel_of_its_own_and_installs_no_completion(
    monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    """Also if its typer application has the usual settings."""
    found = [*commands.entry_points(group=commands.GROUP)]
    found.append(EntryPoint("greet", "tests.cli.greeting:app", commands.GROUP))
    monkeypatch.setattr(commands, "entry_points", lambda group: found)
    assert re.search(r"─ Plug-ins .*\n│ greet +Greet somebody", call("--help").out)
    assert "-completion" not in call("greet", "--help").out


def test_a_plug_ins_command_with_the_name_of_ours_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    """Whichever of them is found first."""
    more = EntryPoint("policies", "acme.app:app", commands.GROUP)
    found = [more, *commands.entry_points(group=commands.GROUP)]
    monkeypatch.setattr(commands, "entry_points", lambda group: found)
    shown = call("policies", "easy")
    assert "DESCRIPTION\neasy " in shown.out
    assert "command policies of plug-in acme.app:app is passed over: that name is taken" in shown.err
    assert call("policies", "--help").code == 0


def test_what_hints_name_are_commands() -> None:
    named = {each for hint in commands.ELSEWHERE.values() for each in re.findall(r"`(\w+)", hint)}
    assert named <= set(commands.ORDER)
    assert not set(commands.ELSEWHERE) & set(commands.ORDER)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("ps", "`jobs` lists jobs, `list` clusters.", id="ps"),
        pytest.param("exec", "`shell NAME -- COMMAND` runs a command in a cluster.", id="exec"),
        pytest.param("delete", "`down` ends a cluster, `cancel` a job.", id="delete"),
        pytest.param("squeue", "`jobs` lists jobs (docs/slurm.md).", id="squeue"),
    ],
)
def test_commands_of_other_tools_are_called_otherwise(call: Call, name: str, hint: str) -> None:
    done = call(name, "mc")
    assert (done.code, f"No such command '{name}'; {hint}" in done.err) == (2, True), done.err
