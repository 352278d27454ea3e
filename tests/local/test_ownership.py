"""What another user made in the state directory's place is not used: nothing of theirs runs, nothing goes."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.local import launch, orders, processes, state_directory, state_file
from minicluster.local.errors import NoSuchCluster, StateDirectoryError
from minicluster.local.records import ClusterState, LocalPhase
from tests.operator import nameless_user

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OTHER, USER = 1234, 4321
COMMANDS = {
    "list": ["list"],
    "status": ["status", "mc"],
    "top": ["top", "mc", "--once"],
    "jobs": ["jobs", "mc"],
    "submit": ["submit", "mc", "--", "true"],
    "attach": ["attach", "mc", "f1"],
    "cancel": ["cancel", "mc", "f1"],
    "scale": ["scale", "mc", "2"],
    "shell": ["shell", "mc", "--", "flux", "version"],
    "logs": ["logs", "mc"],
    "down": ["down", "mc"],
}
# One process for all of them: to start one takes a second.
TRY_ALL = """
import json, sys
from typer.testing import CliRunner
from minicluster.cli.commands import app
found = {}
for name, words in json.load(sys.stdin).items():
    done = CliRunner().invoke(app, words)
    found[name] = [done.output, f"{type(done.exception).__name__}: {done.exception}"]
json.dump(found, sys.stdout)
"""
ADVICE = "name another one in MINICLUSTER_RUNTIME_DIR"
ALONE = "must be a directory of your own that nobody else can enter (mode 0700)"


def write_state(directory: Path, *, pid: int, links: tuple[tuple[str, str], ...] = ()) -> None:
    """Make a cluster's directory with a state file, as a supervisor does."""
    state = ClusterState(
        name=directory.name,
        pid=pid,
        start_time=processes.start_time(pid) or 1,
        engine="embedded",
        size=1,
        max_size=1,
        phase=LocalPhase.RUNNING,
        document="mc.yaml",
        created=0.0,
        links=links,
    )
    directory.mkdir(mode=0o700, parents=True)
    state_file.write(state_directory.ClusterDirectory(directory), state)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """Another user has made this user's directory; return where, and what each command of the user met.

    It has a cluster that seems to run, whose `flux` leaves a trace, and a dead one, whose link is the user's.
    """
    here = tmp_path_factory.mktemp("shared")
    root, link = here / f"minicluster-{USER}", here / "link"
    link.symlink_to("/nonexistent")
    write_state(root / "dead", pid=2**22 - 1, links=((str(link), "/nonexistent"),))
    write_state(root / "mc", pid=os.getpid())
    (root / "mc" / "bin").mkdir()
    (root / "mc" / "bin" / "flux").write_text(f"#!/bin/sh\nid -u >{here}/trace\n")
    (root / "mc" / "bin" / "flux").chmod(0o755)
    os.chown(link, USER, USER, follow_symlinks=False)
    for each in (root, *root.rglob("*")):
        os.chown(each, OTHER, OTHER)
    for each in (here, root, root / "mc", root / "dead"):
        each.chmod(0o777)
    done = subprocess.run(
        nameless_user.python(USER, ["-c", TRY_ALL]),
        input=json.dumps(COMMANDS),
        env=nameless_user.environment(TMPDIR=str(here)),
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return here, found


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_refuses_what_another_user_made(
    attacked: tuple[Path, dict[str, list[str]]], command: str
) -> None:
    here, found = attacked
    fault = f"it belongs to user {OTHER}: trust nothing in it, have it removed"
    refusal = f"state directory {here}/minicluster-{USER}: {ALONE}; {fault}, or {ADVICE}"
    assert found[command] == ["", f"StateDirectoryError: {refusal}"]


def test_nothing_that_another_user_wrote_was_done(attacked: tuple[Path, dict[str, list[str]]]) -> None:
    """No program of theirs ran, and no link of this user was removed."""
    here, _ = attacked
    assert sorted(each.name for each in here.iterdir()) == ["link", f"minicluster-{USER}"]


@pytest.fixture
def root(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the state directory, which is not there yet."""
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(root))
    return root


def open_to_others(path: Path) -> None:
    path.chmod(0o755)


def linked(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to(path.with_name("real"))


def given_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(path, OTHER, OTHER)


FAULTS = {
    "open to others": (open_to_others, "it has mode 0755: remove it, or chmod 700 it if all in it is yours"),
    "a link": (linked, "it is something else: remove it"),
    "another user's": (given_away, f"it belongs to user {OTHER}: trust nothing in it, have it removed"),
}
USES: dict[str, Callable[[], Any]] = {
    "root": state_directory.root,
    "create": lambda: state_directory.create("mc", unique=False),
    "find": lambda: state_directory.find("mc"),
    "need": lambda: state_file.need("mc"),
    "live_clusters": state_file.live_clusters,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(("spoil", "fault"), FAULTS.values(), ids=FAULTS)
def test_every_use_checks_who_owns_the_state_directory(
    root: Path, use: Callable[[], Any], spoil: Callable[[Path], None], fault: str
) -> None:
    write_state(root / "mc", pid=os.getpid())
    root.chmod(0o700)
    spoil(root)
    with pytest.raises(StateDirectoryError) as refusal:
        use()
    assert str(refusal.value) == f"state directory {root}: {ALONE}; {fault}, or {ADVICE}"


CLUSTER_USES: dict[str, Callable[[], Any]] = {
    "find": lambda: state_directory.find("mc"),
    "need": lambda: state_file.need("mc"),
    "up": lambda: launch._claimed("mc"),
    "orders": lambda: orders.give("mc", {}, print),
}


@pytest.mark.parametrize("use", CLUSTER_USES.values(), ids=CLUSTER_USES)
@pytest.mark.parametrize(("spoil", "fault"), FAULTS.values(), ids=FAULTS)
def test_every_use_checks_who_owns_a_clusters_directory(
    root: Path, use: Callable[[], Any], spoil: Callable[[Path], None], fault: str
) -> None:
    write_state(root / "mc", pid=os.getpid())
    root.chmod(0o700)
    spoil(root / "mc")
    with pytest.raises(StateDirectoryError) as refusal:
        use()
    assert str(refusal.value) == f"state directory {root}/mc: {ALONE}; {fault}, or {ADVICE}"


@pytest.mark.parametrize("spoil", [open_to_others, given_away])
def test_the_list_checks_who_owns_a_clusters_directory(root: Path, spoil: Callable[[Path], None]) -> None:
    write_state(root / "mc", pid=os.getpid())
    root.chmod(0o700)
    spoil(root / "mc")
    with pytest.raises(StateDirectoryError, match=f"state directory {root}/mc: must be"):
        state_file.live_clusters()


def test_a_link_is_no_cluster_of_the_list(root: Path) -> None:
    """Nothing behind it is cleaned away."""
    write_state(root / "mc", pid=2**22 - 1)
    root.chmod(0o700)
    (root / "mc").rename(root.with_name("elsewhere"))
    (root / "mc").symlink_to(root.with_name("elsewhere"))
    assert state_file.live_clusters() == []
    assert root.with_name("elsewhere").is_dir()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def writable(path: Path) -> None:
    path.chmod(0o666)


STATE_FAULTS = {
    "another user's": (given_away, f"it belongs to user {OTHER}"),
    "a link": (linked, "it is a symbolic link"),
    "a FIFO": (fifo, "it is no regular file"),
    "everybody's": (writable, "everybody can write it"),
}


@pytest.mark.parametrize("use", [state_file.live_clusters, lambda: state_file.need("mc")])
@pytest.mark.parametrize(("spoil", "fault"), STATE_FAULTS.values(), ids=STATE_FAULTS)
def test_a_state_file_that_may_be_another_users_is_not_read(
    root: Path, use: Callable[[], Any], spoil: Callable[[Path], None], fault: str
) -> None:
    write_state(root / "mc", pid=2**22 - 1)
    root.chmod(0o700)
    spoil(root / "mc" / "state.json")
    with pytest.raises(StateDirectoryError) as refusal:
        use()
    assert str(refusal.value) == (
        f"state file {root}/mc/state.json: must be a file of your own; {fault}: trust nothing in {root}/mc,"
        " and remove it"
    )


def test_a_state_file_is_read_by_its_owner_alone(root: Path) -> None:
    write_state(root / "mc", pid=1)
    assert (root / "mc" / "state.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o664], ids=oct)
def test_a_state_file_of_0_1_0_is_read(root: Path, mode: int) -> None:
    """Its mode was left to the umask."""
    write_state(root / "mc", pid=os.getpid())
    root.chmod(0o700)
    (root / "mc" / "state.json").chmod(mode)
    assert [state.name for _, state in state_file.live_clusters()] == ["mc"]


def test_without_a_state_directory_there_are_no_clusters(root: Path) -> None:
    assert state_file.live_clusters() == []
    with pytest.raises(NoSuchCluster):
        state_file.need("mc")
    assert not root.exists()


def test_another_users_runtime_directory_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `su` the variable still names it."""
    runtime = tmp_path / "run"
    runtime.mkdir()
    monkeypatch.delenv("MINICLUSTER_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert state_directory.find("mc").path == runtime / "minicluster" / "mc"
    given_away(runtime)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert state_directory.find("mc").path == tmp_path / f"minicluster-{os.geteuid()}" / "mc"
