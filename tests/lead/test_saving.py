"""Saving and restarting by order of the lead's door, on both engines: no job is lost, none runs twice."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sqlite3
import subprocess
import tarfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.settings import Archive, Command, NodeResources, RunMode, Submit
from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.pods import Pods

NOTHING: dict[str, list[Any]] = {"restarted": [], "lost": []}
MOUNTS = 'mount -t tmpfs -o size="$1" none "$2" && shift 2 && exec "$@"'


class Saved:
    """A cluster that saves: its archive, its ledger (a line each time that a job's work is done)."""

    def __init__(self, pods: Callable[..., Pods], directory: Path, size: int = 3, **more: Any) -> None:
        self.archive = directory / "saved" / "mc.tgz"
        self.archive.parent.mkdir(parents=True, exist_ok=True)
        self.ledger = directory / "ledger"
        self.gate = directory / "gate"  # some jobs end only once it is there
        self.pods = pods(size, archive=Archive(str(self.archive), drain_timeout=60), **more)
        self.door = self.pods.door
        self.names: dict[str, str] = {}

    def up(self, *ranks: int) -> Saved:
        self.pods.start(*ranks)
        with self.door.watch() as watch:
            watch.until(running=True)
        return self

    def submit(self, name: str, *options: str, gate: bool = False) -> str:
        """Submit a job that writes its name into the ledger, perhaps once the gate is open; its id."""
        line = f"[ $FLUX_TASK_RANK != 0 ] || echo {name} >>{self.ledger}"
        if gate:
            line = f"until [ -e {self.gate} ]; do sleep 0.1; done; {line}"
        self.names[name] = self.pods.run("submit", *options, "sh", "-c", line)
        return self.names[name]

    def running(self, *names: str) -> None:
        for name in names:
            until(lambda name=name: self.state(self.names[name]) == "RUN", f"{name} runs")  # type: ignore[misc]

    def state(self, jobid: str) -> str:
        return self.pods.run("jobs", "-n", "-o", "{state}", jobid)

    def result(self, jobid: str) -> str:
        return self.pods.run("jobs", "-n", "-o", "{result}", jobid)

    def save(self, timeout: float = 0) -> None:
        assert self.door.ask("POST", "/v1/save", {"timeout": timeout}) == (202, {})

    def saved(self) -> dict[str, Any]:
        """Wait for the lead's end; its last words."""
        assert self.pods.wait() == 75, self.pods.said()
        return self.words()

    def words(self) -> dict[str, Any]:
        """What the lead told last."""
        told = json.loads((self.pods.directory / "termination-0").read_text())
        assert isinstance(told, dict)
        return told

    def lose_state(self) -> None:
        """What a new pod has: nothing but the archive."""
        shutil.rmtree(self.pods.directory / "0")

    def phase(self, phase: str) -> dict[str, Any]:
        """Wait for a phase of saving."""

        def look() -> dict[str, Any] | None:
            with suppress(OSError):
                code, status = self.door.ask("GET", "/v1/status")
                saving = status.get("saving") if code == 200 else None
                if saving and saving["phase"] == phase:
                    return dict(saving)
            return None

        return dict(until(look, f"phase {phase}"))

    def done(self) -> None:
        """Wait until no job is active."""
        until(lambda: not self.pods.run("jobs", "-n", "-o", "{id}"), "every job's end")

    def lines(self) -> Counter[str]:
        return Counter(self.ledger.read_text().split() if self.ledger.exists() else [])


@pytest.fixture
def saved(pods: Callable[..., Pods], tmp_path: Path) -> Callable[..., Saved]:
    """Make clusters that save to one place."""
    return lambda size=3, **more: Saved(pods, tmp_path, size, **more)


def test_no_job_is_lost_or_runs_twice(saved: Callable[..., Saved]) -> None:
    """What runs may end, what does not end is started again, pending jobs keep their ids."""
    cluster = saved().up(0, 1, 2)
    long = cluster.submit("long", gate=True)
    for number in range(5):
        cluster.submit(f"wide-{number}", "-N3", "--exclusive")
    cluster.submit("after", f"--dependency=afterok:{long}")
    cluster.submit("any", f"--dependency=afterany:{long}")
    cluster.submit("held", "--urgency=0")
    cluster.running("long")
    before = dict(cluster.names)
    cluster.save(timeout=1)
    told = cluster.saved()
    assert (told["saved"], told["bytes"]) == (str(cluster.archive), cluster.archive.stat().st_size)
    assert (told["jobs"], told["restarted_total"], told["lost"]) == (9, 3, [])
    plain = {name: jobid.replace("ƒ", "f") for name, jobid in before.items()}
    assert {old for old, _ in told["restarted"]} == {plain["long"], plain["after"], plain["any"]}
    assert not cluster.lines()
    cluster.gate.touch()
    cluster.lose_state()
    cluster.up(0)
    for name in ("wide-0", "wide-4", "held"):
        assert cluster.pods.run("jobs", "-n", "-o", "{id}", before[name])
    once = Counter(name for name in before if name != "held")
    until(lambda: cluster.lines() == once, "every job's work")
    assert cluster.state(before["held"]) == "SCHED"


def test_a_job_that_may_run_once_only_is_told_as_lost(saved: Callable[..., Saved]) -> None:
    """It may have done what must not be done twice."""
    cluster = saved(1).up(0)
    once = cluster.submit("once", "--setattr=user.minicluster.restart=false", gate=True)
    cluster.running("once")
    cluster.save()
    told = cluster.saved()
    assert told["restarted"] == []
    assert told["lost"] == [[once.replace("ƒ", "f"), "it is not to be started again"]]
    cluster.gate.touch()
    cluster.up(0).done()
    assert cluster.lines() == {}


def test_jobs_that_end_in_time_are_not_restarted(saved: Callable[..., Saved]) -> None:
    """They are waited for."""
    cluster = saved(1).up(0)
    cluster.submit("runs", gate=True)
    cluster.running("runs")
    cluster.save(timeout=600)
    cluster.phase("waiting")
    cluster.gate.touch()
    assert (cluster.saved()["restarted"], cluster.lines()) == ([], {"runs": 1})


def test_followers_stay_and_come_back(saved: Callable[..., Saved]) -> None:
    """Their pods do not end."""
    cluster = saved().up(0, 1, 2)
    cluster.save()
    cluster.saved()
    cluster.up(0)
    with cluster.door.watch() as watch:
        watch.until(online="0-2")
    assert [cluster.pods.processes[rank].poll() for rank in (1, 2)] == [None, None]


def test_order_that_is_repeated_begins_nothing_anew(saved: Callable[..., Saved]) -> None:
    """The first one's time counts."""
    cluster = saved(1).up(0)
    cluster.submit("a", gate=True)
    cluster.running("a")
    cluster.save(timeout=600)
    since = cluster.phase("waiting")["since"]
    cluster.save(timeout=0)
    assert cluster.phase("waiting") == {"phase": "waiting", "since": since, "waiting_for": 1, "error": ""}
    cluster.gate.touch()
    assert cluster.saved()["restarted"] == []


@pytest.mark.parametrize("timeout", [-1, "5", True, 1e6, None])
def test_seconds_that_are_none(saved: Callable[..., Saved], timeout: object) -> None:
    """And nothing is ordered."""
    cluster = saved(1).up(0)
    code, answer = cluster.door.ask("POST", "/v1/save", {"timeout": timeout})
    assert (code, answer["error"]) == (400, "timeout: seconds from 0 to 86400 are right")


def test_instance_without_an_archive_saves_nowhere(three: Pods) -> None:
    """It says what is missing."""
    code, answer = three.door.ask("POST", "/v1/save", {})
    assert (code, answer) == (400, {"error": "archive.path is not set: there is no place to save to"})


def test_start_script_that_is_gone(saved: Callable[..., Saved]) -> None:
    """Nobody would save."""
    cluster = saved(1).up(0)
    (cluster.pods.directory / "0" / "pid").unlink()
    code, answer = cluster.door.ask("POST", "/v1/save", {})
    assert (code, answer) == (503, {"error": "the start script, which would save, is gone"})
    assert not (cluster.pods.directory / "0" / "save").exists()


def test_save_and_restore_at_another_size(saved: Callable[..., Saved], pods: Callable[..., Pods]) -> None:
    """Three brokers save, two go on."""
    cluster = saved(3).up(0, 1, 2)
    for number in range(12):
        cluster.submit(f"job-{number}", gate=True)
    until(lambda: len(cluster.pods.run("jobs", "-n", "--filter=running").splitlines()) == 3, "three run")
    cluster.save(timeout=0)
    told = cluster.saved()
    assert (told["jobs"], told["restarted_total"]) == (12, 3)
    cluster.gate.touch()
    saved(2).up(0, 1).done()
    assert cluster.lines() == Counter(f"job-{number}" for number in range(12))


def test_lead_that_is_told_to_go_tells_what_it_saved(saved: Callable[..., Saved]) -> None:
    """As by order, but for its code: nobody ordered it."""
    cluster = saved(1).up(0)
    cluster.submit("a", "--urgency=0")
    assert (cluster.pods.end(0), cluster.words()["jobs"]) == (143, 1)


def test_followers_that_are_told_to_go_as_well_wait_for_their_jobs(saved: Callable[..., Saved]) -> None:
    """The lead waits for these jobs; so does the broker on which they run."""
    cluster = saved(2).up(0, 1)
    with cluster.door.watch() as watch:
        watch.until(online="0-1")
    for name in "ab":
        cluster.submit(name, gate=True)
    cluster.running("a", "b")
    for process in cluster.pods.processes.values():
        process.terminate()
    cluster.phase("waiting")
    cluster.gate.touch()
    assert (cluster.pods.wait(0), cluster.words()["restarted"]) == (143, [])
    assert (cluster.pods.wait(1), cluster.lines()) == (75, {"a": 1, "b": 1})


def test_follower_without_jobs_goes_at_once(saved: Callable[..., Saved]) -> None:
    """Nothing runs on it: the rest of the cluster does not matter to it."""
    cluster = saved(2).up(0, 1)
    with cluster.door.watch() as watch:
        watch.until(online="0-1")
    cluster.submit("a", gate=True)
    cluster.running("a")
    cluster.door.ask("POST", "/v1/drain", {"ranks": "1"})
    cluster.pods.processes[1].terminate()
    assert cluster.pods.wait(1) == 75
    cluster.gate.touch()
    cluster.done()


# -- a save that fails


@pytest.fixture
def limited(tmp_path: Path) -> Callable[[Saved, str], Path]:
    """Put a small volume where the archive is, for the lead only; the folder as this process sees it."""
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("mounts need root on Linux")

    def limit(cluster: Saved, size: str) -> Path:
        folder = str(cluster.archive.parent)
        cluster.pods.wrapper = ["unshare", "-m", "sh", "-c", MOUNTS, "sh", size, folder]
        cluster.up(0)
        cluster.pods.wrapper = []
        return Path(f"/proc/{cluster.pods.processes[0].pid}/root{folder}")

    return limit


def fill(folder: Path, left: int) -> None:
    """Leave that many bytes."""
    room = shutil.disk_usage(folder).free
    (folder / "filler").write_bytes(bytes(max(0, room - left)))


def some(cluster: Saved) -> None:
    """One job runs, more than fit into a few kB wait."""
    cluster.submit("long", gate=True)
    cluster.running("long")
    cluster.pods.run("submit", "--cc=1-40", "sh", "-c", f"echo job >>{cluster.ledger}")


SOME = Counter(long=1, job=40)


@pytest.mark.parametrize(
    "left", [pytest.param(0, id="nothing-fits"), pytest.param(4096, id="half-a-dump-fits")]
)
def test_full_volume(saved: Callable[..., Saved], limited: Callable[..., Path], left: int) -> None:
    """The instance goes on, with every job; the older archive stays; with room the next order works."""
    cluster = saved(1)
    folder = limited(cluster, "1m")
    (folder / "mc.tgz").write_bytes(b"the older one")
    fill(folder, left)
    some(cluster)
    cluster.save(timeout=0)
    assert str(cluster.archive) in cluster.phase("failed")["error"]
    assert (folder / "mc.tgz").read_bytes() == b"the older one"
    assert {each.name for each in folder.iterdir()} == {"mc.tgz", "filler", ".saving.mc.tgz"}
    cluster.gate.touch()
    cluster.done()
    assert cluster.lines() == SOME
    (folder / "filler").unlink()
    cluster.save()
    cluster.saved()


def test_read_only_volume(saved: Callable[..., Saved], limited: Callable[..., Path]) -> None:
    """Nothing is stopped at all: the job that runs is not started again."""
    cluster = saved(1)
    folder = limited(cluster, "1m")
    lead = cluster.pods.processes[0].pid
    cluster.submit("long", gate=True)
    cluster.running("long")
    namespace = ["nsenter", "-t", str(lead), "-m", "mount", "-o", "remount,ro", str(cluster.archive.parent)]
    subprocess.run(namespace, check=True, capture_output=True)
    cluster.save()
    assert "cannot be written: Read-only file system" in cluster.phase("failed")["error"]
    cluster.gate.touch()
    cluster.done()
    left = [(each.name, each.stat().st_size) for each in folder.iterdir()]
    assert (cluster.result(cluster.names["long"]), left) == ("COMPLETED", [(".saving.mc.tgz", 0)])


# -- a lead that is killed


@pytest.mark.parametrize("phase", ["waiting", "writing"])
def test_lead_that_is_killed_while_it_saves(saved: Callable[..., Saved], phase: str) -> None:
    """With its state directory it goes on: what ran is reported as failed, or its copy runs."""
    cluster = saved(1).up(0)
    cluster.submit("runs", gate=True)
    cluster.running("runs")
    for number in range(8):
        cluster.submit(f"job-{number}")
    cluster.save(timeout=600 if phase == "waiting" else 0)
    if phase == "waiting":
        until(lambda: (cluster.door.status()["saving"] or {}).get("waiting_for"), "it waits")
    else:
        cluster.pods.says("it is started again after the restore")
    cluster.pods.kill()
    for broker in cluster.pods.brokers(0):
        until(lambda broker=broker: not Path(f"/proc/{broker}").exists(), "the broker's end")  # type: ignore[misc]
    cluster.gate.touch()
    cluster.up(0).done()
    lines = cluster.lines()
    ran = lines.pop("runs", 0)
    assert lines == Counter(f"job-{number}" for number in range(8))
    assert ran == (phase == "writing")
    assert ran or cluster.result(cluster.names["runs"]) == "FAILED"


# -- restarts


def test_jobs_of_brokers_that_leave_are_restarted(saved: Callable[..., Saved]) -> None:
    """Elsewhere, at once, and only those; what waits for them moves along."""
    cluster = saved().up(0, 1, 2)
    with cluster.door.watch() as watch:
        watch.until(online="0-2")
    for name in "abc":
        cluster.submit(name, gate=True)
    cluster.running("a", "b", "c")
    ranks = {name: cluster.pods.run("jobs", "-n", "-o", "{ranks}", cluster.names[name]) for name in "abc"}
    (leaving,) = [name for name, rank in ranks.items() if rank == "2"]
    cluster.submit("after", f"--dependency=afterok:{cluster.names[leaving]}")
    cluster.door.ask("POST", "/v1/drain", {"ranks": "2"})
    code, answer = cluster.door.ask("POST", "/v1/restart", {"ranks": "2"})
    plain = [cluster.names[name].replace("ƒ", "f") for name in (leaving, "after")]
    assert (code, [old for old, _ in answer["restarted"]], answer["lost"]) == (200, plain, [])
    cluster.gate.touch()
    cluster.done()
    assert cluster.lines() == Counter(["a", "b", "c", "after"])
    new = dict(answer["restarted"])[plain[0]]
    assert cluster.pods.run("jobs", "-n", "-o", "{ranks}", new) in ("0", "1")


def test_restarts_are_named_again_until_their_ranks_stay(saved: Callable[..., Saved]) -> None:
    """Whoever ordered them may not have heard the answer."""
    cluster = saved(1).up(0)
    cluster.submit("a", gate=True)
    cluster.running("a")
    cluster.door.ask("POST", "/v1/drain", {"ranks": "0"})
    first = cluster.door.ask("POST", "/v1/restart", {"ranks": "0"})
    until(lambda: cluster.state(cluster.names["a"]) == "INACTIVE", "the old one's end")
    assert cluster.door.ask("POST", "/v1/restart", {"ranks": "0"}) == first
    assert len(first[1]["restarted"]) == 1
    cluster.gate.touch()
    cluster.door.ask("POST", "/v1/undrain", {"ranks": "0"})
    cluster.done()
    assert cluster.door.ask("POST", "/v1/restart", {"ranks": "0"}) == (200, {"restarted": [], "lost": []})


def test_restart_of_ranks_without_jobs(three: Pods) -> None:
    """Nothing to do."""
    answer = three.door.ask("POST", "/v1/restart", {"ranks": "1-2"})
    assert answer == (200, {"restarted": [], "lost": []})


@pytest.mark.parametrize("body", [{}, {"ranks": ""}, {"ranks": "x"}], ids=["none", "empty", "no-idset"])
def test_ranks_that_are_none(three: Pods, body: dict[str, str]) -> None:
    """As for a drain."""
    assert three.door.ask("POST", "/v1/restart", body)[0] == 400


def test_jobs_that_were_lost_with_their_broker_are_started_again(saved: Callable[..., Saved]) -> None:
    """Elsewhere, and what waited for them moves along; asked again, the same are named.

    Real Flux places jobs on a lost broker for another moment: these are lost in turn.
    """
    cluster = saved().up(0, 1, 2)
    with cluster.door.watch() as watch:
        watch.until(online="0-2")
    lost = {"2": [time.time(), time.time() + 3600]}
    for name in "abc":
        cluster.submit(name, gate=True)
    cluster.running("a", "b", "c")
    ranks = {name: cluster.pods.run("jobs", "-n", "-o", "{ranks}", cluster.names[name]) for name in "abc"}
    (hit,) = [name for name, rank in ranks.items() if rank == "2"]
    cluster.submit("after", f"--dependency=afterok:{cluster.names[hit]}")
    cluster.submit("any", f"--dependency=afterany:{cluster.names[hit]}")
    cluster.pods.kill(2)
    until(lambda: cluster.result(cluster.names["after"]) == "FAILED", "the loss")
    until(lambda: cluster.state(cluster.names["any"]) in ("SCHED", "INACTIVE"), "the next one's fate")
    assert cluster.door.ask("POST", "/v1/recover", {"lost": {"2": [time.time()] * 2}}) == (200, NOTHING)
    code, answer = cluster.door.ask("POST", "/v1/recover", {"lost": lost})
    plain = [cluster.names[name].replace("ƒ", "f") for name in (hit, "after", "any")]
    placed_there = cluster.result(cluster.names["any"]) == "FAILED"
    again = plain if placed_there else plain[:2]
    assert (code, [old for old, _ in answer["restarted"]], answer["lost"]) == (200, again, [])
    assert cluster.door.ask("POST", "/v1/recover", {"lost": lost}) == (200, answer)
    cluster.gate.touch()
    cluster.done()
    assert cluster.lines() == Counter(["a", "b", "c", "after", "any"])
    new = dict(answer["restarted"])[plain[0]]
    assert cluster.pods.run("jobs", "-n", "-o", "{ranks}", new) in ("0", "1")
    assert cluster.door.ask("POST", "/v1/recover", {"lost": lost}) == (200, answer)
    assert sum(cluster.lines().values()) == 5


@pytest.mark.parametrize(
    "lost",
    [
        None,
        {},
        [1],
        {"x": [1, 2]},
        {"-1": [1, 2]},
        {"1": 1},
        {"1": [1]},
        {"1": [1, "now"]},
        {"1": [1, True]},
        {"1": [-1, 2]},
        {"1": [1, 1e300]},
    ],
    ids=str,
)
def test_losses_that_are_none(three: Pods, lost: Any) -> None:
    """What is right is said."""
    code, answer = three.door.ask("POST", "/v1/recover", {"lost": lost})
    right = (
        "lost: by rank, when its pod had started and when that was taken away, such as"
        ' {"3": [1773500966, 1773501966]} (seconds since 1970), is right'
    )
    assert (code, answer) == (400, {"error": right})


# -- the main job


@pytest.fixture
def plain(saved: Callable[..., Saved], tmp_path: Path) -> Callable[..., Saved]:
    """A cluster whose main command waits for the gate, and ends with 3; it has begun."""

    def make(**more: Any) -> Saved:
        line = (
            f"sh -c 'until [ -e {tmp_path}/gate ]; do sleep 0.1; done; echo main >>{tmp_path}/ledger; exit 3'"
        )
        cluster = saved(1, command=Command(line), **more).up(0)
        until(
            lambda: cluster.door.status()["jobid"] and cluster.door.status()["busy"], "the main job's start"
        )
        return cluster

    return make


def test_main_job_that_does_not_end_is_started_again(plain: Callable[..., Saved]) -> None:
    """The restored lead attaches to its copy, and ends with that one's code."""
    cluster = plain()
    cluster.save()
    assert cluster.saved()["restarted_total"] == 1
    cluster.gate.touch()
    cluster.lose_state()
    cluster.pods.start(0)
    assert (cluster.pods.wait(), cluster.lines()) == (3, {"main": 1})


def test_main_job_that_ends_in_time_ends_the_instance(plain: Callable[..., Saved]) -> None:
    """With its own code, where another job still runs then; the archive is written as well."""
    cluster = plain(node=NodeResources(cores=2), submit=Submit(tasks=1))
    cluster.pods.run("submit", "sleep", "600")
    until(lambda: len(cluster.pods.run("jobs", "-n", "--filter=running").splitlines()) == 2, "both run")
    cluster.save(timeout=10)
    cluster.gate.touch()
    assert cluster.pods.wait() == 3
    assert (cluster.pods.directory / "termination-0").read_text() == "3\n"
    assert cluster.archive.exists()


def test_main_job_may_have_to_leave_its_broker(plain: Callable[..., Saved]) -> None:
    """The lead follows its copy."""
    cluster = plain()
    _, answer = cluster.door.ask("POST", "/v1/restart", {"ranks": "0"})
    assert len(answer["restarted"]) == 1
    cluster.gate.touch()
    assert (cluster.pods.wait(), cluster.lines()) == (3, {"main": 1})


def test_launcher_command_begins_anew(saved: Callable[..., Saved], tmp_path: Path) -> None:
    """It is no job: the message says that it is lost."""
    line = f"sleep 60; echo main >>{tmp_path}/ledger"
    cluster = saved(1, mode=RunMode.LAUNCHER, command=Command(line)).up(0)
    cluster.save()
    ((jobid, why),) = cluster.saved()["lost"]
    assert (jobid, why.partition(":")[0]) == ("", "the main command is no job (flux.launcher)")


# -- restores


def restored(cluster: Saved, content: bytes) -> dict[str, Any]:
    """The last words of a lead that is to restore this."""
    cluster.archive.write_bytes(content)
    cluster.pods.start(0)
    assert cluster.pods.wait() == 1
    assert cluster.archive.read_bytes() == content
    told = json.loads((cluster.pods.directory / "termination-0").read_text())
    assert isinstance(told, dict)
    return told


def dumped(cluster: Saved) -> bytes:
    """What a cluster with some jobs saves."""
    cluster.up(0)
    for number in range(20):
        cluster.submit(f"job-{number}", "--urgency=0")
    cluster.save()
    cluster.saved()
    cluster.lose_state()
    return cluster.archive.read_bytes()


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_truncated_dump(saved: Callable[..., Saved], part: float) -> None:
    """It is refused, and stays as it is."""
    cluster = saved(1)
    whole = dumped(cluster)
    told = restored(cluster, whole[: int(len(whole) * part)])
    assert "truncated" in told["error"]
    assert str(cluster.archive) in told["error"]


def test_dump_of_the_other_engine(saved: Callable[..., Saved], engine: str) -> None:
    """Both are named."""
    cluster = saved(1)
    foreign = _archive() if engine == "embedded" else _database(cluster.archive.parent)
    names = ["Flux", "the embedded instance"]
    wrote, this = names if engine == "embedded" else names[::-1]
    assert (
        f"was written by {wrote}, and this is {this}, which cannot read it"
        in restored(cluster, foreign)["error"]
    )


def _archive() -> bytes:

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("job"))
    return gzip.compress(packed.getvalue())


def _database(folder: Path) -> bytes:

    path = folder / "some.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE jobs (id)")
    database.close()
    return path.read_bytes()


def test_jobs_that_do_not_fit_are_kept(saved: Callable[..., Saved]) -> None:
    """Queued, held and waiting ones; the status names them; in a larger cluster they run."""
    large = saved(3).up(0, 1, 2)
    large.pods.run("queue", "stop", "--all")
    wide = large.submit("wide", "-N3")
    large.submit("after", "-N2", f"--dependency=afterok:{wide}")
    large.submit("held", "-N3", "--urgency=0")
    large.submit("narrow")
    large.save()
    large.saved()
    large.pods.close()
    small = saved(1).up(0)
    until(lambda: small.lines() == {"narrow": 1}, "the narrow job's end")
    kept = [each.partition(":")[0] for each in small.door.status()["kept"]]
    assert sorted(kept) == sorted(large.names[name].replace("ƒ", "f") for name in ("wide", "after", "held"))
    assert "it is kept" in small.pods.said() or "is kept, it does not fit" in small.pods.said()
    assert small.pods.run("jobs", "-n", "-o", "{name}", "--filter=pending").splitlines() == ["sh"] * 3
    small.save()
    assert small.saved()["jobs"] == 3
    small.pods.close()
    again = saved(3).up(0, 1, 2)
    until(lambda: again.lines() == Counter(["narrow", "wide", "after"]), "what was kept")
    assert again.door.status()["kept"] == []
    assert again.state(large.names["held"]) == "SCHED"
