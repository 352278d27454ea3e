"""A shell in a MiniCluster on real nodes, from outside."""

from collections.abc import Callable

import pytest

from tests.devcluster import until
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.terminals import Terminal


def test_a_shells_command_has_the_instance_and_its_code_is_ours(worker: CommandLine) -> None:
    done = worker.process(
        "shell", "mc", "--", "sh", "-c", "flux resource list -no '{state} {nodelist}'; exit 5"
    )
    assert (done.returncode, done.stdout.splitlines()[0]) == (5, "free mc-0"), done.stderr


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("pwd", "/usr/share\n"),
        ("echo $GREETING", "of the document\n"),
        ("tr a-z A-Z", "TYPED"),
        ("echo $TERM", "\n"),
    ],
    ids=["directory", "environment", "input", "no-terminal"],
)
def test_a_shells_command_is_in_the_lead_s_container(worker: CommandLine, command: str, shown: str) -> None:
    done = worker.process("shell", "mc", "--", "sh", "-c", command, given="typed")
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")


def test_without_a_command_the_shell_reads_its_input(worker: CommandLine) -> None:
    assert worker.process("shell", "mc", given="echo $((6 * 7)); exit 4").stdout == "42\n"


@pytest.fixture
def terminal(worker: CommandLine) -> Terminal:
    """A terminal with a shell beside the lead."""
    words = worker.words("shell", "mc", "--", "sh", "-i")
    started = Terminal.start(words, {**worker.environment(), "TERM": "xterm"}, columns=99, rows=33)
    started.until("$ ", "# ")
    return started


def test_a_shell_has_a_terminal_as_large_as_ours(terminal: Terminal) -> None:
    terminal.type("stty size\n")
    terminal.until("33 99")
    terminal.resize(columns=120, rows=40)
    terminal.until_answered("stty size\n", "40 120")
    terminal.type("exit 6\n")
    assert terminal.end() == 6


def test_ctrl_c_is_for_what_runs_there(terminal: Terminal) -> None:
    terminal.type("sleep 600\n")
    terminal.until("600")
    terminal.until_answered("\x03", "# ")
    terminal.type("echo al''ive; exit 0\n")
    terminal.until("alive")
    assert terminal.end() == 0


@pytest.mark.parametrize("signum", [None, 15], ids=["exit", "SIGTERM"])
def test_the_terminal_is_given_back_as_it_was(terminal: Terminal, signum: int | None) -> None:
    assert not terminal.is_cooked()
    if signum is None:
        terminal.type("exit 0\n")
    else:
        terminal.signal(signum)
    assert terminal.end(keep=True) == (0 if signum is None else 128 + signum)
    assert terminal.is_cooked()
    terminal.close()


def test_a_visitor_that_is_killed_leaves_nothing_there(
    worker: CommandLine, submit: Callable[..., str]
) -> None:
    """The relay ends with the connection."""
    job = submit("--", "sh", "-c", "echo begun; sleep 600")
    process = worker.begin("attach", "mc", job)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    assert relays(worker)
    process.kill()
    process.communicate()
    until(lambda: not relays(worker), "the relay to end")
    worker("cancel", "mc", job)


def relays(worker: CommandLine) -> str:
    """Return a word of each relay in the lead's container, of either engine."""
    return worker.process(
        "shell",
        "mc",
        "--",
        "sh",
        "-c",
        "cat /proc/[0-9]*/cmdline | grep -aoE 'minicluster-[r]elay|flux_[h]elper'",
    ).stdout
