"""The guardian and the state directories, with plain programs in place of a control plane."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devcluster import ComponentError, GuardianError, HarnessError, state, until
from tests.devcluster.processes import Guardian, launch

ROOT = Path(__file__).parents[3]
SHELL, SLEEP = shutil.which("sh"), shutil.which("sleep")
# A program whose child leaves its session, and which then ends: only its environment leads to the child.
FORKS_AWAY = f"setsid {SLEEP} 1000 & exit 0"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only folder for state: crashes are made here. Its name is short, as a socket's must be."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "state")
        monkeypatch.setattr(state, "folders", lambda: [folder])
        yield folder


@pytest.fixture
def guardian(folder: Path) -> Iterator[Guardian]:
    """A guardian of this process."""
    found = launch(state.create(), [])
    yield found
    found.end()
    state.clean()


def crash(guardian: Guardian) -> None:
    """Kill the guardian, and wait until the kernel has done what follows."""
    assert guardian.process is not None
    guardian.process.kill()
    guardian.process.wait()


def test_a_stop_right_after_a_start_hits_the_program_alone(guardian: Guardian) -> None:
    """Between fork and exec the child is a copy of the guardian, which SIGTERM ends."""
    for _ in range(30):
        guardian.start("sleeper", [SLEEP, "1000"])
        guardian.stop("sleeper", signal.SIGTERM)
    assert guardian.pids() == {}
    assert not state.marked(guardian.directory)


def test_one_sigterm_is_sent(guardian: Guardian) -> None:
    """Kubernetes programs end without grace at the second."""
    received, ready = guardian.directory / "heard", guardian.directory / "ready"
    script = (
        f"trap 'echo TERM >> {received}' TERM; : > {ready}; while [ ! -e {received} ]; do {SLEEP} 0.05; done"
    )
    guardian.start("listener", [SHELL, "-c", script])
    until(ready.exists, "the trap")
    guardian.stop("listener", signal.SIGTERM)
    assert received.read_text() == "TERM\n"


def test_what_runs_is_listed_until_it_is_stopped(guardian: Guardian) -> None:
    pid = guardian.start("sleeper", [SLEEP, "1000"])
    assert guardian.pids() == {"sleeper": pid}
    guardian.stop("sleeper", signal.SIGTERM)
    assert guardian.pids() == {}
    guardian.check()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        pytest.param(
            "echo no such door >&2; exit 4", r"exited with 4; the end of its log:\nno such door", id="exit"
        ),
        pytest.param("kill -SEGV $$", "was killed by SIGSEGV", id="signal"),
    ],
)
def test_a_program_that_ended_by_itself_is_reported(guardian: Guardian, script: str, message: str) -> None:
    guardian.start("door", [SHELL, "-c", script])
    until(lambda: not guardian.pids(), "the program to end")
    with pytest.raises(ComponentError, match=f"door {message}"):
        guardian.check()


def test_a_program_that_is_not_there_is_reported(guardian: Guardian) -> None:
    guardian.start("ghost", ["/no/such/program"])
    until(lambda: not guardian.pids(), "the program to end")
    with pytest.raises(
        ComponentError, match=r"exited with 127; the end of its log:\n/no/such/program: .*No such file"
    ):
        guardian.check()


def test_one_that_ignores_sigterm_is_killed_in_time(guardian: Guardian) -> None:
    ready = guardian.directory / "ready"
    guardian.start("deaf", [SHELL, "-c", f"trap '' TERM; : > {ready}; while :; do {SLEEP} 0.1; done"])
    until(ready.exists, "the program to be deaf")
    guardian.stop("deaf", signal.SIGTERM, seconds=0.1)
    assert guardian.pids() == {}
    assert not state.marked(guardian.directory)


def test_the_end_finds_those_that_forked_away(guardian: Guardian) -> None:
    guardian.start("parent", [SHELL, "-c", FORKS_AWAY])
    until(lambda: not guardian.pids() and state.marked(guardian.directory), "the parent to leave its child")
    guardian.end()
    assert not state.marked(guardian.directory)
    assert not guardian.directory.exists()


def test_the_kernel_ends_the_programs_of_a_killed_guardian(guardian: Guardian) -> None:
    guardian.start("sleeper", [SLEEP, "1000"])
    crash(guardian)
    until(lambda: not state.marked(guardian.directory), "the programs to be killed", 5)
    with pytest.raises(GuardianError, match="does not answer"):
        guardian.pids()


def test_the_next_cluster_removes_what_a_crash_left(guardian: Guardian) -> None:
    """The worst crash: the guardian killed, its directory there, and a process that forked away."""
    guardian.start("parent", [SHELL, "-c", FORKS_AWAY])
    until(lambda: not guardian.pids() and state.marked(guardian.directory), "the parent to leave its child")
    crash(guardian)
    assert guardian.directory.exists()
    survivors = state.marked(guardian.directory)
    assert len(survivors) == 1
    following = launch(state.create(), [])
    assert not guardian.directory.exists()
    until(lambda: not state.marked(guardian.directory), "the survivor to be killed", 5)
    following.end()


def test_cleaning_spares_the_living(guardian: Guardian) -> None:
    pid = guardian.start("sleeper", [SLEEP, "1000"])
    state.clean()
    assert guardian.pids() == {"sleeper": pid}


def test_nothing_at_all_is_left_after_the_last(guardian: Guardian, folder: Path) -> None:
    guardian.end()
    state.clean()
    assert not folder.exists()


def test_a_name_is_taken_once(guardian: Guardian) -> None:
    with pytest.raises(HarnessError, match="a test cluster runs already in"):
        state.create(guardian.directory.name)
    assert state.find(guardian.directory.name) == guardian.directory


def test_somebody_elses_folder_is_refused(folder: Path) -> None:
    """Anybody may write to /dev/shm: a folder that others can look into could be a trap."""
    folder.mkdir(mode=0o755)
    with pytest.raises(HarnessError, match=r"must be a directory of user .* with mode 0700"):
        state.create()


def test_a_reserved_port_is_nobody_elses_for_the_life_of_the_cluster(folder: Path) -> None:
    """Held by the guardian, so that a stopped API server comes back at its place."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    guardian = launch(state.create(), [listener])
    with socket.socket() as rival, pytest.raises(OSError, match="Address already in use"):
        rival.bind(("127.0.0.1", port))
    guardian.end()
    with socket.socket() as heir:
        heir.bind(("127.0.0.1", port))


def test_a_guardian_without_owner_outlives_who_started_it(folder: Path) -> None:
    script = (
        "import pathlib, sys; from tests.devcluster import state; "
        "from tests.devcluster.processes import launch; "
        "state.folders = lambda: [pathlib.Path(sys.argv[1])]; "
        "print(launch(state.create(), [], detached=True).directory)"
    )
    started = subprocess.run(
        [sys.executable, "-c", script, folder], cwd=ROOT, capture_output=True, check=True
    )
    guardian = Guardian(Path(os.fsdecode(started.stdout.strip())))
    assert guardian.pids() == {}
    guardian.end()
    assert not guardian.directory.exists()


@pytest.mark.parametrize("sent", [b"", b'{"do": "list"}\n'], ids=["nothing", "a request"])
def test_a_client_that_goes_away_before_its_answer_does_no_harm(guardian: Guardian, sent: bytes) -> None:
    pid = guardian.start("sleeper", [SLEEP, "1000"])
    for _ in range(20):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(guardian.directory / "guardian"))
            connection.sendall(sent)
    assert guardian.pids() == {"sleeper": pid}


def test_nonsense_on_the_socket_is_answered_and_does_no_harm(guardian: Guardian) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(guardian.directory / "guardian"))
        connection.sendall(b"hello?\n")
        assert "error" in json.loads(connection.recv(4096))
    assert guardian.pids() == {}
