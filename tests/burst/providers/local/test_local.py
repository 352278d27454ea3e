"""The provider `local`: its settings, its supervisor, and what happens when parts of it die."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from burst.errors import CallInvalid, NameTaken, RetryLater
from burst.lifecycle.records import ResourcePhase
from burst.planning.records import NodeShape
from burst.providers.local import KIND
from burst.providers.local.records import SupervisorStatus
from burst.providers.local.settings import LocalSettings
from burst.providers.provider import WantedBurst
from minicluster.fence.broker_processes import stat_of
from minicluster.local.site import cores_of_machine
from tests.burst.providers.local.local_rig import RUNS, FixedContext, LocalRig
from tests.devcluster.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from burst.lifecycle.records import ResourceKey

BURST = WantedBurst("62dgmfw4gk", "here", 2, "processes", spot=False, until=4_000_000_000.0)


@pytest.fixture
def rig() -> Iterator[LocalRig]:
    made = LocalRig()
    yield made
    made.close()


@pytest.fixture
def key(rig: LocalRig) -> ResourceKey:
    [found] = rig.provider.resources(BURST)
    return found


def phase(rig: LocalRig, key: ResourceKey) -> ResourcePhase:
    return rig.provider.get(key, BURST).phase


def environment(pid: int) -> dict[str, str]:
    with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
        words = file.read().decode().split("\0")
    return dict(word.split("=", 1) for word in words if "=" in word)


def test_brokers_have_what_is_their_own(
    rig: LocalRig, key: ResourceKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing else of the service's environment, which may have secrets."""
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")
    rig.provider.create(key, "token", BURST)
    rig.wait()
    found = {each["MINICLUSTER_HOST"]: each for each in map(environment, rig.running(key))}
    assert sorted(found) == ["burst-0-0", "burst-0-1"]
    assert [each["JOB_COMPLETION_INDEX"] for _, each in sorted(found.items())] == ["1", "2"]
    assert {each["MINICLUSTER_FENCE"] for each in found.values()} == {"30"}
    assert {each["MINICLUSTER_LEAVE_AFTER"] for each in found.values()} == {"120"}
    assert {each["SHLVL"] for each in found.values()} == {"1"}
    assert not any("DATABASE_PASSWORD" in each for each in found.values())


def test_a_start_script_gets_what_is_orphaned_below_it() -> None:
    """So its broker's fence finds what jobs have left."""
    rig = LocalRig('(setsid sleep 1000 & echo $! >"$MINICLUSTER_RUN/orphan")\n' + RUNS)
    try:
        [key] = rig.provider.resources(BURST)
        rig.provider.create(key, "token", BURST)
        rig.wait()
        files = sorted(rig.directory(key).path.glob("r/*/orphan"))
        assert len(files) == 2
        for file in files:
            orphan = stat_of(int(file.read_text()))
            assert orphan is not None
            assert environment(orphan.parent)["MINICLUSTER_RUN"] == str(file.parent)
    finally:
        rig.close()


def test_its_files_are_its_users_alone(rig: LocalRig, key: ResourceKey) -> None:
    rig.provider.create(key, "token", BURST)
    path = rig.directory(key).path
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.glob("*.json")} == {0o600}
    assert "secret" not in "".join(each.read_text() for each in path.glob("*.json"))


def test_a_broker_that_fails_is_started_again(rig: LocalRig, key: ResourceKey) -> None:
    rig.provider.create(key, "token", BURST)
    rig.wait()
    before = rig.running(key)
    os.kill(min(before), signal.SIGKILL)
    until(lambda: len(rig.running(key) - before) == 1, "another process", 20)
    rig.wait()
    assert phase(rig, key) is ResourcePhase.READY


def test_brokers_that_always_fail_break_the_burst(key: ResourceKey) -> None:
    rig = LocalRig("echo no flux on PATH >&2\nexit 75\n")
    try:
        rig.provider.create(key, "token", BURST)
        rig.wait()
        report = rig.provider.get(key, BURST)
        assert report.phase is ResourcePhase.BROKEN
        assert report.reason.endswith("has failed 4 times in a row")
        assert rig.provider.broker_problem(BURST).endswith("it is started again")
    finally:
        rig.close()


def test_brokers_that_are_rejected_break_the_burst_at_once(key: ResourceKey) -> None:
    message = '\'{"error": "another version"}\''
    broker_problem = "overlay.err[1]: no way"
    rig = LocalRig(f'echo "{broker_problem}" >&2\necho {message} >"$MINICLUSTER_TERMINATION_LOG"\nexit 75\n')
    try:
        rig.provider.create(key, "token", BURST)
        rig.wait()
        report = rig.provider.get(key, BURST)
        assert report.phase is ResourcePhase.BROKEN
        assert report.reason.endswith(": another version")
        assert rig.provider.broker_problem(BURST) == broker_problem
        assert rig.provider.broker_problem(BURST._replace(installation="other")) == ""
    finally:
        rig.close()


def test_all_ends_when_its_time_is_over(rig: LocalRig, key: ResourceKey) -> None:
    """Nobody calls the provider: its service may be dead."""
    rig.provider.create(key, "token", BURST._replace(until=time.time() + 2.0))
    until(lambda: not rig.directory(key).path.exists(), "its end", 30)
    assert rig.running(key) == set()
    assert phase(rig, key) is ResourcePhase.ABSENT


def test_all_ends_with_the_minicluster(rig: LocalRig, key: ResourceKey) -> None:
    rig.provider.create(key, "token", BURST)
    rig.wait()
    (rig.cluster / "etc" / "start.sh").unlink()
    until(lambda: not rig.directory(key).path.exists(), "its end", 30)
    assert rig.running(key) == set()


def test_all_ends_when_all_brokers_have_left() -> None:
    rig = LocalRig("exit 0\n")
    [key] = rig.provider.resources(BURST)
    try:
        rig.provider.create(key, "token", BURST)
        until(lambda: not rig.directory(key).path.exists(), "its end", 30)
        assert list(rig.provider.owned("here")) == []
    finally:
        rig.close()


def test_brokers_do_not_outlive_a_killed_supervisor(rig: LocalRig, key: ResourceKey) -> None:
    rig.provider.create(key, "token", BURST)
    rig.wait()
    status = rig.directory(key).status()
    assert status is not None
    os.kill(status.pid, signal.SIGKILL)
    until(lambda: not rig.running(key), "the end of its brokers", 20)
    report = rig.provider.get(key, BURST)
    assert report.phase is ResourcePhase.BROKEN
    assert f"its supervisor (process {status.pid}) died" in report.reason
    rig.provider.delete(key, BURST)
    assert phase(rig, key) is ResourcePhase.ABSENT
    assert not rig.directory(key).path.exists()


def test_what_ignores_the_end_of_its_supervisor_is_killed_with_the_burst(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = LocalRig('trap "" TERM\n: >"$MINICLUSTER_RUN/local"\nwhile :; do sleep 0.1; done\n')
    [key] = rig.provider.resources(BURST)
    try:
        rig.provider.create(key, "token", BURST)
        rig.wait()
        status = rig.directory(key).status()
        assert status is not None
        os.kill(status.pid, signal.SIGKILL)
        until(lambda: phase(rig, key) is ResourcePhase.BROKEN, "the supervisor's end", 20)
        rig.provider.delete(key, BURST)
        assert phase(rig, key) is ResourcePhase.GOING
        assert rig.running(key)
        monkeypatch.setattr("burst.providers.local.provider.STOP_TIMEOUT", 0.0)
        rig.provider.delete(key, BURST)
        assert rig.running(key) == set()
        assert phase(rig, key) is ResourcePhase.ABSENT
    finally:
        rig.close()


def test_a_process_with_the_id_of_a_dead_supervisor_is_left_alone(rig: LocalRig, key: ResourceKey) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    try:
        rig.provider.create(key, "token", BURST)
        rig.wait()
        status = rig.directory(key).status()
        assert status is not None
        os.kill(status.pid, signal.SIGKILL)
        until(lambda: not status.is_alive and not rig.running(key), "its end", 20)
        rig.directory(key).write(SupervisorStatus(other.pid, 1, ready=True))
        assert phase(rig, key) is ResourcePhase.BROKEN
        rig.provider.delete(key, BURST)
        assert phase(rig, key) is ResourcePhase.ABSENT
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_burst_whose_supervisor_was_not_started_gets_one(
    rig: LocalRig, key: ResourceKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its service died between the two."""
    with monkeypatch.context() as context:
        context.setattr("burst.providers.local.provider._start", lambda _directory: None)
        rig.provider.create(key, "token", BURST)
    assert phase(rig, key) is ResourcePhase.COMING
    rig.provider.create(key, "token", BURST)
    rig.wait()
    assert phase(rig, key) is ResourcePhase.READY


def test_a_burst_has_one_supervisor(rig: LocalRig, key: ResourceKey) -> None:
    for _ in range(3):
        rig.provider.create(key, "token", BURST)
    rig.wait()
    assert len(rig.running(key)) == 2
    directory = str(rig.directory(key).path)
    again = subprocess.run([sys.executable, "-m", "burst.providers.local.supervisor", directory], check=False)
    assert again.returncode == 0
    assert len(rig.running(key)) == 2


def test_a_full_disk_leaves_nothing(rig: LocalRig, key: ResourceKey, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(json, "dump", full)
        with pytest.raises(RetryLater, match="cannot be written: No space left on device"):
            rig.provider.create(key, "token", BURST)
    assert phase(rig, key) is ResourcePhase.ABSENT
    assert [each.name for each in rig.root.iterdir()] == [".lock"]


def test_a_directory_that_is_not_ours_is_left_alone(rig: LocalRig, key: ResourceKey) -> None:
    """One without any owner as well."""
    (rig.root / key.name).mkdir(parents=True)
    with pytest.raises(NameTaken, match=f"{key.name} is there, and is not of burst 62dgmfw4gk"):
        rig.provider.create(key, "token", BURST)
    rig.provider.delete(key, BURST)
    assert (rig.root / key.name).is_dir()


def test_a_minicluster_elsewhere_cannot_have_bursts_here(rig: LocalRig, key: ResourceKey) -> None:
    provider = KIND.open("local", LocalSettings(), FixedContext(rig.path, None))  # type: ignore[arg-type]
    with pytest.raises(CallInvalid, match="only MiniClusters of this machine can have bursts on it"):
        provider.create(key, "token", BURST)


def test_a_minicluster_that_is_not_up_may_be_later(rig: LocalRig, key: ResourceKey) -> None:
    (rig.cluster / "etc" / "broker.toml").unlink()
    with pytest.raises(RetryLater, match=r"near is not up"):
        rig.provider.create(key, "token", BURST)


def test_a_slot_has_no_more_hosts_than_were_declared(rig: LocalRig) -> None:
    burst = BURST._replace(nodes=5)
    with pytest.raises(CallInvalid, match=r"slot burst-0: host burst-0-4 is not in .*broker\.toml"):
        rig.provider.create(rig.provider.resources(burst)[0], "token", burst)


def test_a_path_has_to_be_short(rig: LocalRig, key: ResourceKey, tmp_path: Path) -> None:
    context = FixedContext(tmp_path / ("x" * 80), rig.cluster)
    provider = KIND.open("local", LocalSettings(), context)  # type: ignore[arg-type]
    assert any("the path is too long for sockets" in each for each in provider.problems())
    with pytest.raises(CallInvalid, match="the path is too long for sockets"):
        provider.create(key, "token", BURST)


def test_a_machine_that_can_have_bursts_has_no_problems(rig: LocalRig) -> None:
    assert list(rig.provider.problems()) == []


def test_a_node_has_no_more_cores_than_the_machine(rig: LocalRig) -> None:
    cores = cores_of_machine()
    [problem] = rig.opened(LocalSettings(cores=cores + 1)).problems()
    assert problem == f"cores: {cores + 1}: this machine has {cores}; a node cannot have more"


def test_a_directory_that_cannot_be_written_is_a_problem(rig: LocalRig) -> None:
    rig.root.write_text("a file")
    [problem] = rig.provider.problems()
    assert problem == f"{rig.root}: cannot be written: File exists"


def test_settings_have_defaults() -> None:
    settings = LocalSettings()
    assert (settings.most, settings.cores) == (16, cores_of_machine())  # a broker needs no core of its own
    assert (settings.gpus, settings.price) == (0, "0")


def test_an_offer_has_what_the_settings_have(rig: LocalRig) -> None:
    settings = LocalSettings(most=3, cores=2, gpus=1, price="0.5")
    [offer] = rig.opened(settings).offers()
    assert (offer.shape, offer.price, offer.most) == (NodeShape(2, 1), 500_000, 3)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("price", "cheap", "'cheap' is no amount; right would be 50 or 0.125"),
        ("most", 0, "greater than or equal to 1"),
        ("nodes", 1, "Extra inputs are not permitted"),
    ],
)
def test_settings_that_are_wrong_are_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LocalSettings.model_validate({field: value})
