"""`start.sh relay` and `start.sh shell`: people beside a running broker, with what it has."""

from __future__ import annotations

import os
import stat
import subprocess

import pytest

from broker_config.settings import BrokerSettings as Settings
from broker_config.settings import Command, HookScripts, RunMode

MINE = 'it\'s "mine" $HOME\n`second` line'
EMBEDDED = "#!/bin/sh\n# minicluster.embedded\n"


@pytest.fixture
def visited(pod):
    """A pod whose lead has begun, with a hook that exports a variable."""

    def begin(**more):
        settings = Settings(
            "mc",
            size=2,
            command=Command("true"),
            environment={"OURS": MINE},
            hooks=HookScripts(
                init="echo began >>inits; mkdir -p deeper; cd deeper", broker_pre="export LATE=late"
            ),
            **more,
        )
        started = pod.start(settings)
        assert started.code == 0, started.err
        return pod

    return begin


def visit(pod, *words, **more):
    """Run the script as `pods/exec` does: with the container's environment, no hook's."""
    environment = {
        "PATH": f"{pod.directory / 'bin'}:{os.environ['PATH']}",
        "STUB_CALLS": str(pod.directory / "calls"),
        "MINICLUSTER_CONFIG": str(pod.config),
        "MINICLUSTER_RUN": str(pod.run_directory),
        "JOB_COMPLETION_INDEX": "0",
        **more,
    }
    script = [os.environ.get("TEST_SHELL", "sh"), pod.config / "start.sh", *words]
    return subprocess.run(
        script, env=environment, cwd=pod.directory, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [("OURS", MINE), ("LATE", "late"), ("STUB_JOBS", None)],
    ids=["the-document's", "a-hook's", "the-container's"],
)
def test_a_shell_has_the_brokers_environment(visited, variable, value):
    pod = visited()
    value = value or str(pod.directory / "jobs")
    assert visit(pod, "shell", "--", "printenv", variable).stdout == f"{value}\n"


def test_in_a_shell_flux_speaks_to_the_instance(visited):
    pod = visited()
    assert visit(pod, "shell", "printenv", "FLUX_URI").stdout == f"local://{pod.run_directory}/local\n"


def test_a_shell_is_where_the_broker_is(visited):
    pod = visited()
    assert visit(pod, "shell", "--", "pwd").stdout == f"{pod.directory}/deeper\n"


def test_a_shell_has_its_own_terminal(visited):
    """The broker's TERM is not the person's."""
    pod = visited()
    assert visit(pod, "shell", "--", "printenv", "TERM", TERM="xterm").stdout == "xterm\n"


@pytest.mark.parametrize("code", [0, 7])
def test_a_shells_exit_code_is_its_commands(visited, code):
    assert visit(visited(), "shell", "--", "sh", "-c", f"exit {code}").returncode == code


def test_words_come_through_unchanged(visited):
    words = ["a b", "$HOME", "'", "", "*"]
    done = visit(visited(), "shell", "--", "printf", "[%s]\n", *words)
    assert done.stdout.splitlines() == [f"[{word}]" for word in words]


def test_without_a_command_it_is_a_shell(visited):
    pod = visited()
    script = [os.environ.get("TEST_SHELL", "sh"), pod.config / "start.sh", "shell"]
    environment = {"PATH": os.environ["PATH"], "MINICLUSTER_RUN": str(pod.run_directory)}
    done = subprocess.run(
        script,
        input="echo $((6 * 7))",
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "42\n"


def test_hooks_run_once(visited):
    """They may do what can be done only once, and print."""
    pod = visited()
    visit(pod, "shell", "--", "true")
    assert (pod.directory / "inits").read_text() == "began\n"


def test_the_brokers_end_is_not_recorded_by_a_visitor(visited):
    """The termination log is the broker's."""
    pod = visited()
    (pod.directory / "termination").unlink()
    visit(pod, "shell", "--", "false", MINICLUSTER_TERMINATION_LOG=str(pod.directory / "termination"))
    assert not (pod.directory / "termination").exists()


def test_only_its_owner_can_read_the_environment(visited):
    mode = (visited().run_directory / "environment").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_the_relay_of_flux_core_is_the_helper(visited):
    pod = visited()
    visit(pod, "relay")
    uri = f"local://{pod.run_directory}/local"
    assert pod.call("python")[-2:] == [f"{pod.config}/flux_modules.zip", uri]


def test_the_relay_of_the_embedded_instance_is_its_own(visited):
    pod = visited()
    (pod.directory / "bin" / "flux").write_text(f'{EMBEDDED}echo "$@"\n')
    assert visit(pod, "relay").stdout == f"minicluster-relay local://{pod.run_directory}/local\n"


@pytest.mark.parametrize("role", ["relay", "shell"])
def test_before_the_broker_there_is_nothing_to_visit(pod, role):
    pod.write(Settings("mc", size=2, command=Command("true"), mode=RunMode.INTERACTIVE))
    done = visit(pod, role)
    absent = f"there is no {pod.run_directory}/environment"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"minicluster[0]: the broker of this pod has not begun yet, or is none: {absent}\n"
