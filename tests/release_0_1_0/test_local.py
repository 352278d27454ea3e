"""What 0.1.0 left on this machine: dumps of its instances, and the state of its clusters."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.connection import is_flux_core
from tests.release_0_1_0 import dumped
from tests.release_0_1_0.adapters import DATA, ROOT
from tests.release_0_1_0.commands import Commands

if TYPE_CHECKING:
    from collections.abc import Iterator

EMBEDDED, FLUX = DATA / "dumps" / "embedded.dump", DATA / "dumps" / "flux.tgz"
FILES = (DATA / "local" / "files.txt").read_text().split()


@pytest.fixture
def commands(short: Path) -> Iterator[Commands]:
    made = Commands(short / "m", ROOT)
    yield made
    for row in made.rows("list"):
        made.call("down", row["name"])


def test_a_dump_is_restored(commands: Commands, short: Path) -> None:
    """Ids, states, urgencies, what was asked for and what happened are as 0.1.0 had them restored."""
    dump = shutil.copy(EMBEDDED, short / "mc.dump")
    dumped.bring_up(commands, short, "--restore", dump)
    expected = json.loads((DATA / "dumps" / "embedded.json").read_text())
    assert dumped.listed(commands) == expected
    (done,) = (number for number, job in expected.items() if job["name"] == "done")
    assert commands.flux("job", "attach", done) == "precious"
    newer = int(commands.flux("job", "id", "--to=dec", commands.flux("submit", "true")))
    assert newer > max(map(int, expected))
    root = commands.root / "mc"
    there = {each.relative_to(root).as_posix() for each in root.rglob("*")}
    assert there >= {each for each in FILES if not each.startswith("r/0/flux")}


def test_a_simulation_reads_a_dump(commands: Commands) -> None:
    """Of the jobs that have run."""
    words = ("--from", EMBEDDED, "--size", 2, "--policy", "easy")
    (row,) = commands.rows("simulate", *words)
    assert row["policy"] == "easy"


def test_a_dump_of_real_flux_is_refused_by_the_embedded_instance(commands: Commands, short: Path) -> None:
    with pytest.raises(AssertionError, match="was written by Flux"):
        dumped.bring_up(commands, short, "--restore", FLUX)


class CommandsOnFlux(Commands):
    """As a user in a cluster of real Flux types them."""

    def flux(self, *words: object) -> str:
        """Run a command of Flux."""
        return self.inside(*words)


@pytest.mark.skipif(not is_flux_core(shutil.which("flux") or ""), reason="no flux-core on PATH")
def test_a_dump_of_real_flux_is_restored_by_real_flux(short: Path) -> None:
    """As 0.1.0 restored it."""
    commands = CommandsOnFlux(short / "m", ROOT)
    dumped.bring_up(commands, short, "--restore", FLUX, engine="flux")
    try:
        assert dumped.listed(commands) == json.loads(FLUX.with_suffix(".json").read_text())
    finally:
        commands.call("down", "mc")


def _cluster(commands: Commands, **changed: object) -> Path:
    """Leave the state of a cluster, as 0.1.0 wrote it."""
    root = commands.root / "mc"
    root.mkdir(mode=0o700, parents=True)
    for name in ("etc", "log", "t", "v", "r/0"):
        (root / name).mkdir(mode=0o700, parents=True)
    commands.root.chmod(0o700)
    state = json.loads((DATA / "local" / "state.json").read_text())
    (root / "state.json").write_text(json.dumps({**state, **changed}))
    return root


def _start_time() -> int:
    """Return when this process was started, as proc(5) has it."""
    stat = Path("/proc/self/stat").read_text()
    return int(stat.rpartition(")")[2].split()[19])


def test_the_state_of_a_cluster_is_read(commands: Commands) -> None:
    root = _cluster(commands, pid=os.getpid(), start_time=_start_time())
    (row,) = commands.rows("list")
    shutil.rmtree(root)
    found = {key: row[key] for key in ("name", "phase", "size", "max_size", "engine", "document")}
    state = json.loads((DATA / "local" / "state.json").read_text())
    assert found == {key: state[key] for key in found}


def test_what_a_dead_cluster_left_is_removed(commands: Commands, short: Path) -> None:
    """With the link that stood for a volume; one that leads elsewhere may be another's by now."""
    other, data = short / "other", commands.root / "mc" / "v" / "data"
    links = {short / "link": data, short / "elsewhere": other}
    root = _cluster(commands, pid=2**22 + 1, links=[[str(link), str(path)] for link, path in links.items()])
    for link, path in links.items():
        path.mkdir()
        link.symlink_to(path)
    assert commands.rows("list") == []
    assert (root.exists(), other.exists()) == (False, True)
    assert [link.is_symlink() for link in links] == [False, True]
