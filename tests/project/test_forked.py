"""`minicluster` that is forked does what it does as a process of its own, and ends as one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.devcluster import until

PLAIN = {**os.environ, "COLUMNS": "100", "TERM": "dumb"}
SOUND = """{
"apiVersion": "flux-framework.org/v1alpha2",
"kind": "MiniCluster",
"metadata": {"name": "mc"},
"spec": {"size": 2, "containers": [{"image": "ubuntu:24.04"}]}
}"""
UNSOUND = SOUND.replace("2,", "-1,")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("version", "--output", "json"), ""),
        (("lits",), ""),
        (("validate", "-"), SOUND),
        (("validate", "-"), UNSOUND),
        (("render", "-"), SOUND),
    ],
    ids=["an answer", "a wrong command", "standard input", "problems", "much output"],
)
def test_it_answers_as_a_process_of_its_own(words: tuple[str, ...], given: str) -> None:
    own = subprocess.run(
        [sys.executable, "-m", "minicluster.cli", *words],
        env=PLAIN,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    found = forked.completed(words, PLAIN, given)
    assert (found.returncode, found.stdout, found.stderr) == (own.returncode, own.stdout, own.stderr)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_ends_it(number: int, tmp_path: Path) -> None:
    """It waits for a named pipe that nobody writes to."""
    fifo, log = tmp_path / "fifo", tmp_path / "log"
    os.mkfifo(fifo)
    process = forked.Forked(("validate", str(fifo)), PLAIN, Path(os.devnull), log, log)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)
    process.send_signal(number)
    assert process.wait(20) == process.returncode == -number
    assert until(lambda: not Path(f"/proc/{process.pid}").exists(), "it to be gone")
