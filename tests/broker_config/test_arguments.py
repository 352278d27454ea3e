"""Any argument list reaches the task unchanged, in every mode."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from broker_config import start_script
from broker_config.errors import SettingsError
from broker_config.settings import BrokerSettings, Command, HookScripts, RunMode, ServiceSettings, Submit
from tests.budgets import examples

raw = st.binary(max_size=10).filter(lambda word: b"\0" not in word).map(os.fsdecode)
parts = st.sampled_from([*"ab \t\n'\"\\$(){}`;&|<>#=!*~", "$(", "${", "if ", "x=1", "$(("])
lines = st.lists(parts, max_size=8).map("".join)
arguments = st.lists(raw | st.text("-'\"$\\`\n é*~#;&|", max_size=8), max_size=6)
AWKWARD = [
    "",
    " ",
    "a b",
    "-x",
    "--",
    "$HOME",
    "`id`",
    "'",
    '"',
    "\\",
    "\n",
    "é",
    "*",
    "~",
    "\udcff",
    "\x81\x88",
]


def arrived(pod, mode, words):
    command = Command(args=(pod.recorder(), *words))
    result = pod.start(BrokerSettings("mc", size=2, mode=mode, command=command))
    assert result.code == 0, result.err
    return pod.recorded()


@pytest.mark.parametrize("mode", [RunMode.PLAIN, RunMode.LAUNCHER, RunMode.BATCH])
def test_awkward_arguments(pod, mode):
    """Empty, spaces, quotes, dollars, newlines, non-ASCII, bytes that are no text, leading dashes."""
    assert arrived(pod, mode, AWKWARD) == AWKWARD


@pytest.mark.parametrize("mode", [RunMode.PLAIN, RunMode.LAUNCHER, RunMode.BATCH])
@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments)
def test_any_arguments(new_pod, mode, words):
    """Whatever the list holds."""
    assert arrived(new_pod(), mode, words) == words


@pytest.mark.parametrize("mode", [RunMode.PLAIN, RunMode.LAUNCHER, RunMode.BATCH])
@settings(max_examples=examples(25))
@example("${''}")
@given(lines)
def test_no_line_breaks_the_script_around_it(mode, line):
    """An unfinished quote or a broken substitution is the command's own error, not the script's."""
    wanted = BrokerSettings("mc", mode=mode, command=Command(line))
    for text in (start_script.render(wanted), start_script.batch_script(wanted)):
        done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_broken_substitution_ends_the_command(pod):
    """With the shell's message and code 2; no job is submitted."""
    result = pod.start(BrokerSettings("mc", command=Command("echo `'` x")))
    assert (result.code, len(pod.calls())) == (2, 1), result.err


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"submit": Submit(option_flags="-n2; rm x")}, "flux.optionFlags: '-n2; rm x' must be plain words"),
        ({"submit": Submit(command="flux submit 'x")}, 'flux.submitCommand: "flux submit \'x" must be plain'),
        ({"hooks": HookScripts(prefix="time |")}, "commands.prefix: 'time |' must be plain words"),
        ({"environment": {"a.b": "c"}}, "environment: 'a.b' is no variable name"),
    ],
)
def test_settings_that_would_break_the_script(wrong, message):
    """They are refused, the field named."""
    with pytest.raises(SettingsError) as caught:
        start_script.render(BrokerSettings("mc", command=Command("true"), **wrong))
    assert message in str(caught.value)


def test_service_without_a_command():
    """The message says what would be right."""
    with pytest.raises(SettingsError, match=r"needs a command \(or set noWrapEntrypoint: true\)"):
        start_script.service_script(ServiceSettings())
