"""The lines that wait, before SIGTERM is sent, until the first process of a container hears it."""

import os
import subprocess

import pytest

from broker_config.start_script import WAIT_FOR_TRAP

SHELL = os.environ.get("TEST_SHELL", "sh")
SLEEP = "sleep() { echo waits; read -r next; }\n"


def popen(script: str) -> subprocess.Popen[str]:
    """Start a shell with these lines; it is told when to go on by a line on its standard input."""
    return subprocess.Popen(
        [SHELL, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )


def waiting(process: int | str) -> str:
    """Return the lines with that process as the first one, and with pauses that are reported."""
    assert "/proc/1/" in WAIT_FOR_TRAP
    return SLEEP + WAIT_FOR_TRAP.replace("/proc/1/", f"/proc/{process}/")


def test_it_ends_once_there_is_a_trap() -> None:
    first = popen("read -r next; trap : TERM; echo trapped; read -r next")
    hook = popen(waiting(first.pid))
    assert first.stdin
    assert first.stdout
    assert hook.stdout
    assert hook.stdout.readline() == "waits\n"
    first.stdin.write("\n")
    first.stdin.flush()
    assert first.stdout.readline() == "trapped\n"
    assert hook.communicate("\n", timeout=20) == ("", None)
    assert hook.returncode == 0
    first.communicate("\n", timeout=20)


@pytest.mark.parametrize("signal", ["HUP", "INT", "USR1", "USR2", "ALRM"])
def test_a_trap_for_another_signal_is_none(signal: str) -> None:
    """And after fifty pauses the pod ends as it would have without."""
    first = popen(f"trap : {signal}; echo trapped; read -r next")
    assert first.stdout
    assert first.stdout.readline() == "trapped\n"
    hook = popen(waiting(first.pid))
    assert hook.communicate("\n" * 50, timeout=20) == ("waits\n" * 50, None)
    assert hook.returncode == 0
    first.communicate("\n", timeout=20)


def test_without_proc_it_does_not_wait() -> None:
    hook = popen(waiting("none"))
    assert hook.communicate(timeout=20) == ("", None)
    assert hook.returncode == 0
