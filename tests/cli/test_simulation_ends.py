"""How a long simulation is followed and ended: lines into a log, an interrupt from the terminal."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from minicluster.cli import simulate
from minicluster.cli.simulate import PROGRESS_INTERVAL, ProgressLines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEADLINE = 240.0
ENDLESS = """\
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True)
class Endless:
    name: ClassVar[str] = "endless"

    def decide(self, state, now):
        interrupts = getattr(signal.getsignal(signal.SIGINT), "name", "handled")
        Path(f"deciding-{os.getpid()}-{interrupts}").touch()
        time.sleep(600)
"""


def test_a_line_is_due_after_each_interval(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    report = ProgressLines(lambda: now)
    for done in range(1, 21):
        now += PROGRESS_INTERVAL / 4
        report(done, 20)
    assert capsys.readouterr().err.splitlines() == [
        f"minicluster: simulated {done} of 20 runs, about {2.5 * (20 - done):.0f} s to go"
        for done in (4, 8, 12, 16)
    ]


def test_without_a_terminal_the_progress_is_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single run has none: it is not known how far it is."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with simulate._progress(2) as several, simulate._progress(1) as single:
        assert (type(several), single) == (ProgressLines, None)


pytestmark = pytest.mark.timeout(3 * DEADLINE)


@pytest.fixture(params=["1", "2"], ids=["in this process", "in two processes"])
def simulating(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A simulation in a process group of its own, whose policies are deciding for ever."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    command = [sys.executable, "-m", "minicluster.cli", "simulate", "--workload", "charm", "--seeds", "4"]
    command += ["--policy", "./endless.py:Endless", "-j", request.param]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | {"TERM": "dumb"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + DEADLINE  # on a busy machine Python takes its time to start
    while len(list(tmp_path.glob("deciding-*"))) < int(request.param):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "no policy is asked"
        time.sleep(0.05)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_an_interrupt_ends_all_processes_without_a_traceback(simulating: subprocess.Popen[str]) -> None:
    os.killpg(simulating.pid, signal.SIGINT)  # as a terminal does
    printed, _ = simulating.communicate(timeout=DEADLINE)
    assert (printed, simulating.returncode) == ("", 130)
    end = time.monotonic() + DEADLINE
    while _is_there(simulating.pid):
        assert time.monotonic() < end, "a process of it is left"
        time.sleep(0.05)


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_interrupt_of_the_command_alone_ends_its_processes(simulating: subprocess.Popen[str]) -> None:
    simulating.send_signal(signal.SIGINT)
    printed, _ = simulating.communicate(timeout=DEADLINE)
    assert (printed, simulating.returncode) == ("", 130)


@pytest.mark.parametrize("simulating", ["2"], indirect=True, ids=["in two processes"])
@pytest.mark.usefixtures("simulating")
def test_simulating_processes_do_not_see_an_interrupt(tmp_path: Path) -> None:
    """One that waits for its next run would print a traceback."""
    found = [path.name.rpartition("-")[2] for path in tmp_path.glob("deciding-*")]
    assert found == ["SIG_IGN"] * 2
