"""A MiniCluster of this machine whose burst is made by the provider `local`, on both engines."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from burst.lifecycle.records import ResourcePhase
from burst.providers.local import KIND
from burst.providers.local.settings import LocalSettings
from burst.providers.provider import WantedBurst
from minicluster.local import processes
from tests.burst.providers.local.local_rig import FixedContext
from tests.devcluster.waiting import until
from tests.local.local_machine import Machine, document, engines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.providers.local.provider import LocalProvider

BURST = WantedBurst("62dgmfw4gk", "here", 2, "processes", spot=False, until=4_000_000_000.0)
SLOT = {"flux": {"bursting": {"clusters": [{"name": "burst-0", "size": 2}]}}}


class Near:
    """A MiniCluster with a slot of two nodes, and a provider for it."""

    def __init__(self, engine: str, path: Path) -> None:
        self.path = path
        self.machine = Machine(path / "m", engine)
        up = self.machine.up(document(path, "near", size=1, spec=SLOT))
        assert up.returncode == 0, up.stderr
        self.cluster = path / "m" / "near"
        self.provider = self.opened()

    def opened(self, **join: float) -> LocalProvider:
        context = FixedContext(self.path / "s", self.cluster, **join)
        return KIND.open("local", LocalSettings(most=2), context)  # type: ignore[arg-type]

    def flux(self, *words: str) -> str:
        programs = f"{self.cluster / 'bin'}:" if self.machine.engine == "embedded" else ""
        done = subprocess.run(
            ["sh", "-c", 'exec flux "$@"', "sh", *words],
            env={
                **os.environ,
                "PATH": programs + os.environ["PATH"],
                "FLUX_URI": f"local://{self.cluster}/r/0/local",
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def up(self) -> str:
        return self.flux("resource", "list", "-s", "up", "-no", "{nodelist}").strip()

    def slot_options(self) -> tuple[str, ...]:
        """What sends a job to the slot: its queue, where there are queues, which is started."""
        tables: dict[str, Any] = tomllib.loads((self.cluster / "etc" / "broker.toml").read_text())
        if "burst-0" not in tables.get("queues", {}):
            return ("--requires=host:burst-0-[0-1]",)
        self.flux("queue", "start", "burst-0")
        return ("--queue=burst-0",)

    def report(self) -> tuple[ResourcePhase, str]:
        found = self.provider.get(self.provider.resources(BURST)[0], BURST)
        return found.phase, found.reason

    def left(self) -> set[int]:
        """What still runs of the burst."""
        here = f"{self.path}/s/local-bursts"
        return {
            pid
            for path in (Path(here) / "mcb-62dgmfw4gk",)
            for pid in processes.marked(path)
            if processes.start_time(pid)
        }


@pytest.fixture(params=engines())
def near(request: pytest.FixtureRequest) -> Iterator[Near]:
    path = Path(tempfile.mkdtemp(prefix="mce-", dir="/tmp"))  # short: it has sockets
    made = Near(request.param, path)
    yield made
    until(lambda: _is_gone(made), "the burst's end", 60)
    made.machine.good("down", "near")
    assert made.machine.left() == ([], [])
    assert list(made.provider.owned("here")) == []
    assert [each.name for each in made.provider._root.glob("*")] in ([], [".lock"])
    shutil.rmtree(path)


def _is_gone(near: Near) -> bool:
    (key,) = near.provider.resources(BURST)
    near.provider.delete(key, BURST)
    return near.report()[0] is ResourcePhase.ABSENT


def test_a_burst_joins_runs_jobs_and_goes(near: Near) -> None:
    (key,) = near.provider.resources(BURST)
    assert near.up() == "near-0"
    near.provider.create(key, "token", BURST)
    until(lambda: near.report() == (ResourcePhase.READY, ""), "its processes", 60)
    until(lambda: near.up() == "near-0,burst-0-[0-1]", "its nodes", 60)
    script = 'echo "$FLUX_TASK_RANK $FLUX_JOB_NNODES"'
    output = near.flux("run", "-N2", "-n2", *near.slot_options(), "sh", "-c", script)
    assert sorted(output.splitlines()) == ["0 2", "1 2"]
    listed = near.flux("jobs", "-ano", "{nodelist}").split()
    assert listed == ["burst-0-[0-1]"]
    brokers = near.left()
    until(lambda: _is_gone(near), "its end", 60)
    until(lambda: near.up() == "near-0", "the nodes' end", 60)
    assert near.left() == set()
    assert {pid for pid in brokers if processes.start_time(pid)} == set()


def test_nothing_runs_on_where_the_supervisor_was_killed(near: Near) -> None:
    """Neither its brokers, nor a job's processes that have left their session and environment.

    Those are known to the broker's fence alone, which acts when the lead has not answered for its time.
    """
    (key,) = near.provider.resources(BURST)
    near.provider = near.opened(fence=5.0, leave_after=60.0)
    near.provider.create(key, "token", BURST)
    until(lambda: near.up() == "near-0,burst-0-[0-1]", "its nodes", 60)
    script = 'setsid env -i PATH="$PATH" sleep 1002 & exec sleep 1003'
    near.flux("submit", "-N2", "-n2", *near.slot_options(), "sh", "-c", script)
    directory = near.provider._root / key.name
    status = json.loads((directory / "status.json").read_text())
    until(lambda: len(sleeping(status["pid"])) == 4, "the job's processes", 60)
    job, brokers = sleeping(status["pid"]), near.left()
    os.kill(status["pid"], 9)
    until(lambda: near.report()[0] is ResourcePhase.BROKEN, "the supervisor's end", 60)

    until(lambda: not living(job | brokers), "the end of all processes", 60)
    assert living(job | brokers) == {}


def sleeping(pid: int) -> set[int]:
    """The processes of the job below a process."""
    found = living(processes.descendants(pid))
    return {each for each, words in found.items() if words[:2] in (["sleep", "1002"], ["sleep", "1003"])}


def living(pids: set[int]) -> dict[int, list[str]]:
    """Those of the processes that have not ended, with their words."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            if processes.start_time(pid):
                found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    return found


def test_a_burst_ends_when_its_lead_is_gone_for_good(near: Near) -> None:
    """Nobody calls the provider: the followers leave by themselves, and their supervisor with them."""
    (key,) = near.provider.resources(BURST)
    near.provider = near.opened(fence=2.0, leave_after=6.0)
    near.provider.create(key, "token", BURST)
    until(lambda: near.up() == "near-0,burst-0-[0-1]", "its nodes", 60)
    state = json.loads((near.cluster / "state.json").read_text())
    os.kill(state["pid"], 9)
    processes.sweep(lambda: processes.marked(near.cluster))
    until(lambda: near.report()[0] is ResourcePhase.ABSENT, "its end", 60)
    assert near.left() == set()
    near.machine.rows("list")  # removes what the killed supervisor has left
    up = near.machine.up(document(near.path, "near", size=1, spec=SLOT))
    assert up.returncode == 0, up.stderr
