"""The completion scripts in real shells: the key Tab is pressed, and the line grows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from minicluster.cli.completion import scripts
from tests.cli import shell_programs, shell_terminal
from tests.devcluster import MissingProgramsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.calls import Answer
    from tests.cli.shell_terminal import ShellTerminal

    Call = Callable[..., Answer]

PROGRAMS = Path(sys.executable).parent
"""Where the programs of this environment are."""


class Shell(NamedTuple):
    """How a shell is started without anybody's settings, and how it loads a completion script."""

    options: tuple[str, ...]
    load: str


SHELLS = {
    "bash": Shell(("--norc", "--noprofile", "-i"), 'eval "$(minicluster completion bash)"'),
    "zsh": Shell(
        ("-f", "-i"),
        'autoload -U compinit; compinit -u -D; eval "$(minicluster completion zsh)"',
    ),
    "fish": Shell(("--no-config", "-i"), "minicluster completion fish | source"),
}


@pytest.fixture(params=sorted(SHELLS))
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ShellTerminal]:
    """A terminal with a shell that has loaded the script, in a directory with a document."""
    try:
        program = shell_programs.find(request.param)
    except MissingProgramsError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    (tmp_path / "tundra.yaml").touch()
    environment = {
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "PS1": "> ",
        "INPUTRC": "/dev/null",
        "MINICLUSTER_RUNTIME_DIR": str(tmp_path / "m"),
        **program.environment,
    }
    shell = SHELLS[request.param]
    opened = shell_terminal.opened((program.path, *shell.options), environment)
    opened.press(f"cd {tmp_path}; {shell.load}; echo loa''ded\n")
    opened.until("loaded")
    yield opened
    opened.close()


def test_a_line_grows_by_the_key(terminal: ShellTerminal) -> None:
    """A command, an option, a choice, a file, a policy behind `=` and one of its settings."""
    terminal.press("minicluster stat\t")
    terminal.until("minicluster status ")
    terminal.press("--outp\t")
    terminal.until("--output ")
    terminal.press("js\t")
    terminal.until("json ")
    terminal.press("\x15minicluster up tun\t")
    terminal.until("minicluster up tundra.yaml ")
    terminal.press("--policy=fcf\t")
    terminal.until("--policy=fcfs ")
    terminal.press("\x15minicluster up --policy easy:ext\t")
    terminal.until("easy:extra=")


def test_names_of_files_are_completed_as_the_shell_completes_them(terminal: ShellTerminal) -> None:
    """Behind an option's `=`, in a quote that is still open, and below the home directory."""
    terminal.press("minicluster up --kubeconfig=tun\t")
    terminal.until("--kubeconfig=tundra.yaml ")
    terminal.press("\x15minicluster up 'tun\t")
    terminal.until("minicluster up 'tundra.yaml' ")
    terminal.press("\x15minicluster up ~/tun\t")
    terminal.until("minicluster up ~/tundra.yaml ")


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_completion_prints_a_shells_script(call: Call, shell: str) -> None:
    assert call("completion", shell) == (0, scripts.OF_SHELL[shell], "")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl on this machine")
def test_kubectl_finds_what_completes_its_plug_in() -> None:
    """By the name of a program on PATH (kubectl 1.26 and newer)."""
    done = subprocess.run(
        ["kubectl", "__complete", "minicluster", "up", "--policy", "fcf"],
        env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.partition("\t")[0] == "fcfs"
