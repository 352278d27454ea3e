"""What PID 1 of a broker's pod ends with, and what signals do to it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from broker_config.settings import BrokerSettings as Settings
from broker_config.settings import (
    Command,
    HookScripts,
)

PLAIN = Settings("mc", size=2, command=Command("true"))


def settings(line="true", **more):
    return Settings("mc", size=2, command=Command(line), **more)


def catches(pid, number):
    """Return whether a process has a handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)[1], 16) >> (number - 1) & 1


class TestFollower:
    """Exit codes of PID 1 of a follower."""

    def test_ends_with_0_when_the_lead_ended_the_instance(self, pod):
        """A broker that ends with 0 was told so."""
        result = pod.start(PLAIN, rank=1, STUB_PLAN="0")
        assert result.code == 0
        assert "the lead ended the instance" in result.err

    def test_starts_its_broker_again_when_the_lead_went_away(self, pod):
        """In place, after a pause."""
        result = pod.start(PLAIN, rank=1, STUB_PLAN="1 0")
        assert result.code == 0
        assert (
            "the broker ended with 1: its lead went away or turned it away; it is started again in 1 s"
            in result.err
        )

    def test_complete_workers_end_with_75_at_once(self, pod):
        """flux.completeWorkers: no second start."""
        result = pod.start(settings(complete_workers=True), rank=1, STUB_PLAN="1 0")
        assert (result.code, len(pod.calls())) == (75, 1)

    def test_terminated_ends_with_75(self, pod, wait_for):
        """Real Flux's broker ends with 0 then; the pod is to be replaced all the same."""
        process = pod.popen(PLAIN, rank=1, STUB_PLAN="wait")
        wait_for((pod.directory / "calls.waiting").exists)
        process.terminate()
        process.communicate(timeout=20)
        assert process.returncode == 75
        assert ["broker", "SIGTERM"] in pod.calls()

    def test_terminated_before_all_of_its_script_was_read_ends_with_75(self, pod, wait_for):
        """As PID 1 of a container it would never hear of a signal that came before its trap."""
        pod.write(PLAIN)
        head, separator, rest = (pod.config / "start.sh").read_text().partition("\nconfig=")
        argv = [os.environ.get("TEST_SHELL", "sh"), "-s"]
        environment = {**os.environ, "JOB_COMPLETION_INDEX": "1"}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen(argv, env=environment, encoding="utf-8", **streams)
        process.stdin.write(f"{head}\n")
        process.stdin.flush()
        wait_for(lambda: catches(process.pid, signal.SIGTERM))
        process.terminate()
        assert process.communicate(separator + rest, timeout=20) == ("", "")
        assert process.returncode == 75

    def test_terminated_in_its_pause_ends_with_75(self, pod):
        """And no broker is started any more."""
        process = pod.popen(PLAIN, rank=1, STUB_PLAN="1 1 1 1 1 1 1 1")
        assert process.stderr
        for line in process.stderr:
            if "again in 1 s" in line:
                break
        process.terminate()
        process.communicate(timeout=20)
        assert process.returncode == 75
        assert sum(call[:2] == ["flux", "broker"] for call in pod.calls()) == 1

    def test_failure_before_the_broker_ends_with_75(self, pod):
        """A follower never fails the whole."""
        (pod.directory / "secret").unlink()
        assert pod.start(PLAIN, rank=1).code == 75


CHILD = """
(
    count=0
    while [ "$count" -lt 20000 ]; do count=$((count + 1)); done
    : >counted
    exec sleep 60
) &
send_signal TERM "$!"
wait "$!"
"""
FUNCTIONS = re.compile(r"^(?:send_signal|command_line)\(\) \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)


def test_a_child_gets_its_signal_when_it_is_another_program(pod):
    """Before that it is a double of its shell; in dash it could lose the signal, and go on for ever."""
    pod.write(PLAIN)
    functions = FUNCTIONS.findall((pod.config / "start.sh").read_text())
    argv = [os.environ.get("TEST_SHELL", "sh"), "-c", "\n".join([*functions, CHILD])]
    done = subprocess.run(argv, cwd=pod.directory, check=False)
    assert (done.returncode, (pod.directory / "counted").exists()) == (143, True)


@pytest.mark.parametrize(("rank", "code"), [(0, 1), (1, 75)], ids=["lead", "follower"])
class TestCannotStart:
    """What the termination message of a broker says that cannot start: why."""

    def test_what_is_missing_is_named(self, pod, rank, code):
        (pod.directory / "secret").unlink()
        assert pod.start(PLAIN, rank=rank).code == code
        assert json.loads(pod.termination)["error"].startswith("cannot read the CURVE certificate ")

    def test_flux_itself_reports_why_it_does_not_run(self, pod, rank, code):
        """Its first line, whatever is in it."""
        error = 'python3: libm.so.6: version "GLIBC_2.36"\\\t`x\' not found\nanother line'
        assert pod.start(PLAIN, rank=rank, STUB_PLAN="1", STUB_TROUBLE=error).code == code
        assert json.loads(pod.termination) == {
            "error": "flux cannot run in this image (is its C library, glibc, older than the one that Flux"
            ' was built with?): python3: libm.so.6: version "GLIBC_2.36"\\ `x\' not found'
        }


OLD = (
    "the broker ended with 1, and this image's flux-core {} is older than 0.88, the oldest that is tested:"
    " use an image with a newer Flux, or enable the Flux view (flux.container.disable: false)"
)


class TestOldFlux:
    """What is said of a broker that fails, by the version of its Flux."""

    @pytest.mark.parametrize("version", ["0.40.0", "0.87.0-12-gabc"])
    def test_an_older_one_is_named_with_what_to_do(self, pod, version):
        assert pod.start(PLAIN, STUB_PLAN="1", STUB_VERSION=version).code == 1
        assert json.loads(pod.termination) == {"error": OLD.format(version)}

    @pytest.mark.parametrize(
        ("version", "plan", "code"),
        [("0.88.0", "1", 1), ("1.0.0", "1", 1), ("main", "1", 1), ("0.40.0", "kill", 137)],
        ids=["new", "newer", "not a number", "killed"],
    )
    def test_of_others_the_code_is_reported(self, pod, version, plan, code):
        assert pod.start(PLAIN, STUB_PLAN=plan, STUB_VERSION=version).code == code
        assert pod.termination == f"{code}\n"

    def test_the_commands_own_failure_is_not_the_brokers(self, pod):
        assert pod.start(settings("sh -c 'exit 3'"), STUB_VERSION="0.40.0").code == 3
        assert pod.termination == "3\n"

    def test_a_follower_tries_again(self, pod):
        """Its lead may not have begun yet; once it has joined and ended, nothing was wrong."""
        result = pod.start(PLAIN, rank=1, STUB_PLAN="1 0", STUB_VERSION="0.40.0")
        assert (result.code, (pod.directory / "termination").exists()) == (0, False)
        assert OLD.format("0.40.0") in result.err


class TestLead:
    """Exit codes of PID 1 of the lead, and its signals."""

    @pytest.mark.parametrize(
        ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
    )
    def test_signal_reaches_the_broker(self, pod, number, code, wait_for):
        """As SIGTERM; the script waits for it, then ends as killed by the signal."""
        process = pod.popen(PLAIN, STUB_PLAN="wait")
        wait_for((pod.directory / "calls.waiting").exists)
        process.send_signal(number)
        process.communicate(timeout=20)
        assert process.returncode == code
        assert ["broker", "SIGTERM"] in pod.calls()

    def test_lead_that_is_terminated_sends_its_followers_off_first(self, pod, wait_for):
        """They would end with 0 else, and never come back; the lead will."""
        process = pod.popen(PLAIN, STUB_PLAN="wait")
        wait_for((pod.directory / "calls.waiting").exists)
        process.terminate()
        process.communicate(timeout=20)
        sent = [words[3] for words in pod.calls() if words[1:3] == ["overlay", "disconnect"]]
        assert (sent, pod.calls()[-1]) == (["1", "2", "5"], ["broker", "SIGTERM"])

    def test_killed_broker_asks_for_a_new_pod(self, pod):
        """137 is the broker's own end here, not the program's."""
        result = pod.start(PLAIN, STUB_PLAN="kill")
        assert (result.code, pod.termination) == (137, "137\n")
        assert "the lead's broker was killed (signal 9)" in result.err

    def test_broker_that_cannot_start_fails_the_whole(self, pod):
        """Its code is the lead's."""
        assert pod.start(PLAIN, STUB_PLAN="1").code == 1

    def test_signal_during_a_hook_ends_the_start(self, pod, wait_for):
        """No broker is started any more."""
        process = pod.popen(settings(hooks=HookScripts(pre="echo here; read x <fifo")))
        os.mkfifo(pod.directory / "fifo")
        assert process.stdout
        process.stdout.readline()
        process.terminate()
        wait_for(lambda: process.poll() is not None or _feed(pod.directory / "fifo"))
        process.communicate(timeout=20)
        assert (process.returncode, pod.calls()) == (143, [])

    def test_termination_log_that_cannot_be_written(self, pod):
        """Is said; the code stays."""
        result = pod.start(settings("sh -c 'exit 3'"), MINICLUSTER_TERMINATION_LOG="/no/such/file")
        assert result.code == 3
        assert "cannot write the exit code to /no/such/file" in result.err


def _feed(fifo):
    try:
        descriptor = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    os.close(descriptor)
    return True
