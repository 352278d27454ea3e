"""With slots the start script starts the queues of ordinary jobs alone, whenever it starts any."""

from __future__ import annotations

import signal

import pytest

from broker_config.settings import ArchiveSettings, BrokerSettings, BurstCluster, BurstingSettings, Command
from minicluster.save_restore.state_files import StateFiles

BURSTS = BurstingSettings(clusters=(BurstCluster("burst-0", 2),))
STOP_ALL = ["queue", "stop", "--all"]
START = ["queue", "start", "default"]


def settings(**more):
    return BrokerSettings("mc", bursting=BURSTS, **more)


def ended(process):
    process.terminate()
    process.communicate(timeout=60)


def orders(pod):
    """Which queues were started and stopped, in order."""
    return [words[1:] for words in pod.calls() if words[1:3] in (["queue", "start"], ["queue", "stop"])]


def test_a_program_finds_them_started(pod):
    """The user's own as well, one after the other: Flux starts one at a time, or all."""
    text = '[queues.debug]\n[queues."a b"]\n'
    assert pod.start(settings(command=Command("true"), broker_toml=text)).code == 0
    assert orders(pod) == [START, ["queue", "start", "debug"], ["queue", "start", "a b"]]


def test_after_a_restore_all_others_are_stopped_before(pod):
    """Flux keeps which were started."""
    dump = pod.directory / "dump.tgz"
    dump.touch()
    assert pod.start(settings(command=Command("true")), MINICLUSTER_RESTORE=str(dump)).code == 0
    assert orders(pod) == [STOP_ALL, START]


def test_after_a_restore_without_a_program_as_well(pod, wait_for):
    """Beside the broker."""
    dump = pod.directory / "dump.tgz"
    dump.touch()
    process = pod.popen(settings(), STUB_PLAN="wait", MINICLUSTER_RESTORE=str(dump))
    wait_for(lambda: START in orders(pod))
    known = orders(pod)
    ended(process)
    assert known == [STOP_ALL, START]


def test_a_new_instance_without_a_program_has_them_started(pod, wait_for):
    """Beside its broker."""
    process = pod.popen(settings(), STUB_PLAN="wait")
    wait_for(lambda: START in orders(pod))
    known = orders(pod)
    ended(process)
    assert known == [START]


@pytest.mark.parametrize(
    ("failure", "step"),
    [
        pytest.param({"STUB_PLAN": "wait"}, ["queue", "stop", "--all"], id="no dump"),
        pytest.param({"STUB_PLAN": "wait", "STUB_SETTLE": "fail"}, ["saving", "fail"], id="no rest"),
    ],
)
def test_after_a_save_that_failed(pod, wait_for, failure, step):
    """The dump was not written, or jobs did not come to rest: the instance goes on."""
    archive = pod.directory / "saved" / "dump.tgz"
    process = pod.popen(settings(archive=ArchiveSettings(str(archive))), **failure)
    wait_for((pod.directory / "calls.waiting").exists)
    StateFiles(str(pod.run_directory)).order(3)
    process.send_signal(signal.SIGUSR1)

    def since():
        calls = [words[1:] for words in pod.calls()]
        steps = [words[: len(step)] for words in calls]
        return calls[steps.index(step) :] if step in steps else []

    wait_for(lambda: START in since())
    ended(process)
    assert ["queue", "start", "--all"] not in orders(pod)
